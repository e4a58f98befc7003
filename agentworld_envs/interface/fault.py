"""`Fault`: something that goes wrong on purpose; `Injection`: that it did."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agentworld_envs.interface.action import Action
from agentworld_envs.interface.errors import ConfigError, unknown_name

FaultKind = Literal[
    "error",
    "timeout",
    "server_error",
    "truncated_data",
    "missing_field",
    "stale",
    "pagination",
    "partial_failure",
]
ExplicitKind = Literal["error", "timeout", "server_error"]

EXPLICIT: tuple[ExplicitKind, ...] = get_args(ExplicitKind)
"""The action is not executed, and the environment says so."""
IMPLICIT: tuple[FaultKind, ...] = ("truncated_data", "missing_field", "stale")
"""The action is executed, and its answer is silently not what it should be."""


class Spec(BaseModel):
    """Frozen; what cannot be is a `ConfigError`, however it is built."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigError(_words(type(self), error)) from error


class Every(Spec):
    """Every n-th matching action."""

    every: int = Field(ge=1)


class Chance(Spec):
    """Each matching action with this probability, drawn from the episode's seed."""

    chance: float = Field(gt=0, le=1)


class Target(Spec):
    """Which actions a fault hits. Nothing given: all of them, but those that only declare the end of the task."""

    tool: str | None = None
    """Name of the tool."""
    command: str | None = None
    """A regular expression that is searched for in the action's canonical command."""

    @field_validator("command")
    @classmethod
    def _is_an_expression(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"{value!r} is no regular expression: {error}") from error
        return value

    def hits(self, action: Action) -> bool:
        """Whether an action is meant."""
        if self.tool is not None and action.tool != self.tool:
            return False
        return self.command is None or re.search(self.command, action.command) is not None


class Fault(Spec):
    """Something that goes wrong on purpose."""

    kind: FaultKind
    target: Target = Target()
    """Which actions it hits; a string is an expression for the command."""
    when: tuple[int, ...] | Every | Chance = (1,)
    """When it begins: at the first matching action from each of these steps on (1-based; an int is one step; actions
    that reach no backend are not counted), at every n-th matching action, or by chance (a float is a chance)."""
    duration: int = Field(default=1, ge=1)
    """How many matching actions it lasts. An action that cannot fail in this way does not count: the fault waits."""

    @field_validator("target", mode="before")
    @classmethod
    def _target_from_text(cls, value: object) -> object:
        return {"command": value} if isinstance(value, str) else value

    @field_validator("when", mode="before")
    @classmethod
    def _when_from_number(cls, value: object) -> object:
        if isinstance(value, float):
            return Chance(chance=value)
        return (value,) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("when")
    @classmethod
    def _steps_are_possible(cls, value: tuple[int, ...] | Every | Chance) -> tuple[int, ...] | Every | Chance:
        if isinstance(value, tuple):
            if not value or min(value) < 1:
                raise ValueError(f"steps are counted from 1, got {value}")
            return tuple(sorted(set(value)))
        return value


class Injection(NamedTuple):
    """One fault that hit one action: for ledgers and recordings, never for the agent."""

    kind: FaultKind
    number: int
    """1 for the first one of the episode."""
    by: Literal["code", "instruction"]
    executed: bool
    """Whether the action was executed all the same."""
    obeyed: bool | None = None
    """Whether a world model that was told to fail did so; `None` where code cannot tell, and for faults in code."""

    @classmethod
    def recorded(cls, flags: Mapping[str, Any]) -> Injection | None:
        """What the flags of a recorded step tell, `None` when they tell of no fault."""
        found = flags.get("fault")
        if not isinstance(found, Mapping) or set(found) != set(cls._fields):
            return None
        return cls(**found)


def _words(model: type[BaseModel], error: ValidationError) -> str:
    noun = model.__name__.lower()
    lines = []
    for item in error.errors(include_url=False):
        path = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden" and len(item["loc"]) == 1:
            lines.append(str(unknown_name(f"field of a {noun}", path, model.model_fields)))
        else:
            reason = item["msg"].removeprefix("Value error, ").rstrip(".")
            given = "" if item["type"] in ("missing", "value_error") else f", got {item['input']!r:.60}"
            lines.append(f"A {noun} cannot be like this: {path + ': ' if path else ''}{reason}{given}.")
    return " ".join(lines)
