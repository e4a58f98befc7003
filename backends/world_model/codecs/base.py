"""`DomainCodec`: what the text of a domain means, and how it is written again.

Two promises hold for every codec, and are tested with generated text:

* an observation that was read is written as it was, character for character: what cannot be is `Raw`;
* an action that was written is read as it was: what cannot be raises `ConfigError` when it is written.

Reading never raises, whatever a model or a file has put there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from agentworld_envs.interface import ConfigError


class Observation(Protocol):
    """What an environment answers, structured."""

    form: ClassVar[str]
    """Name of the markup, `raw` for text without any that is known."""

    def render(self) -> str:
        """The text, exactly as it was read."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An observation as it is, where no markup of the domain fits."""

    form: ClassVar[str] = "raw"
    text: str

    def render(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Call:
    """One structured action."""

    name: str
    """Tool, function, verb or action type."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments by name; JSON values."""
    positional: tuple[Any, ...] = ()
    """Arguments without a name, where the form has them."""
    form: str = ""
    """Which of the domain's sub-formats it is written in; empty for the domain's usual one."""


@dataclass(frozen=True, slots=True)
class ActionBlock:
    """What stands in the fence after `**Action:**`."""

    text: str
    """As it is, without the fence."""
    language: str
    """Of the fence."""
    calls: tuple[Call, ...] | None = None
    """What it says, in order; `None` when it fits no sub-format. An empty tuple is an action, too: an empty list."""


Reader = Callable[[str], "Observation | None"]


class DomainCodec(ABC):
    """The markup of one domain. Holds no state."""

    name: ClassVar[str]
    """Short name, as the last part of a benchmark row's `task`."""
    language: ClassVar[str] = "json"
    """Of the fence around the usual form of an action."""
    state_header: ClassVar[str] = "Current State"
    """Header of the first screen on turn 1."""
    forms: ClassVar[tuple[str, ...]]
    """Sub-formats of actions; the first is the usual one."""

    @abstractmethod
    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        """The calls in an action's text, `None` when it fits no sub-format. Never raises.

        Args:
            text: what stands in the fence. language: the fence's, empty when it is not known.
        """

    @abstractmethod
    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        """Text and fence language of an action.

        Raises:
            ConfigError, ValueError, TypeError, KeyError: there is no such text.
        """

    def readers(self) -> Sequence[Reader]:
        """Readers of observation markup, the most special first; each gives `None` for what is not its own."""
        return ()

    def read_action(self, text: str, language: str = "") -> ActionBlock:
        """What an action's text says. Never raises: see `ActionBlock.calls`."""
        try:
            calls = self.parse_calls(text, language)
        except RecursionError:  # nested deeper than any real call
            calls = None
        return ActionBlock(text, language or self.language, calls)

    def write_action(self, *calls: Call) -> ActionBlock:
        """The text of an action.

        Args:
            calls: as `read_action` gives them; a `Call` without a form is written in the usual one.

        Raises:
            ConfigError: this form cannot say it, so that nobody could read it back.
        """
        full = tuple(Call(c.name, dict(c.arguments), tuple(c.positional), c.form or self.forms[0]) for c in calls)
        try:
            text, language = self.format_calls(full)
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigError(f"The {self.name} action {_short(full)} cannot be written: {error}") from error
        if self.read_action(text, language).calls != full:
            raise ConfigError(
                f"The {self.name} action {_short(full)} cannot be written in the form {full[0].form if full else ''!r} "
                f"without being read as another one. Forms: {', '.join(self.forms)}."
            )
        return ActionBlock(text, language, full)

    def read_observation(self, text: str) -> Observation:
        """What an observation says; `Raw` where a structure would not give the very same text again. Never raises."""
        for reader in self.readers():
            try:
                found = reader(text)
            except RecursionError:  # JSON nested deeper than any real answer
                continue
            if found is not None and found.render() == text:
                return found
        return Raw(text)


def _short(calls: Sequence[Call]) -> str:
    text = ", ".join(f"{call.name}({dict(call.arguments)})" for call in calls)
    return text if len(text) <= 200 else text[:200] + "..."
