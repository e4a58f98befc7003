"""`Command`: what an action means to the terminal."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from agentworld_envs.domains.terminal.keystrokes import Malformed, Stroke, looks_like_list, parse_strokes
from agentworld_envs.interface import Action

_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_COMMAND = 32_768
"""Characters of a command."""


class Kind(enum.Enum):
    """What to do."""

    RUN = "run"
    KEYS = "keys"
    DONE = "done"
    """`[]`: the agent declares that it is done, and is asked to confirm it."""
    SUBMIT = "submit"
    """The tool `submit`: done, without a question."""


@dataclass(frozen=True, slots=True)
class Command:
    """One action, understood."""

    kind: Kind
    text: str = ""
    """Shell text, for `RUN`."""
    strokes: tuple[Stroke, ...] = ()
    """For `KEYS`."""


def read(action: Action) -> Command:
    """What an action means.

    Raises:
        Malformed: a keystroke list that is none, or a command that no shell can read; the text is for the agent.
    """
    if action.tool == "submit":
        return Command(Kind.SUBMIT)
    if action.tool == "keystrokes":
        strokes = parse_strokes(action.arguments.get("keys"))
        return Command(Kind.KEYS, strokes=tuple(strokes)) if strokes else Command(Kind.DONE)
    text = str(action.arguments.get("command", ""))
    if looks_like_list(text):
        strokes = parse_strokes(text)
        return Command(Kind.KEYS, strokes=tuple(strokes)) if strokes else Command(Kind.DONE)
    if _SURROGATE.search(text):
        raise Malformed("bash: the command has a lone surrogate in it, which is no character.")
    if "\0" in text:
        raise Malformed("bash: the command has a NUL character in it, which no shell can read.")
    if len(text) > MOST_COMMAND:
        raise Malformed(f"bash: the command has {len(text)} characters; at most {MOST_COMMAND} are read.")
    return Command(Kind.RUN, text)
