"""`Control`: what is done to an episode on purpose: faults, and instructions to its simulator.

Kinds and levels are those of OccuBench (2604.10866): E0 is clean, E1 has explicit faults (the environment says that it
failed), E2 implicit ones (it answers, and the answer is wrong or not whole), E3 both. Pagination and partial failures
of a batch are from the Qwen-AgentWorld report, section on controllable simulation.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from agentworld_envs.interface.errors import ConfigError, unknown_name
from agentworld_envs.interface.fault import EXPLICIT, IMPLICIT, Fault, FaultKind, Spec
from agentworld_envs.interface.task import Task

Level = Literal["E0", "E1", "E2", "E3"]
LEVELS: dict[Level, tuple[tuple[FaultKind, ...], ...]] = {
    "E0": (),
    "E1": (EXPLICIT,),
    "E2": (IMPLICIT,),
    "E3": (EXPLICIT, IMPLICIT),
}
"""Level -> groups of kinds, taken in turn, so that a mixed level has some of each."""
HORIZON = 6
"""The faults of a level begin within this many actions: few episodes are shorter."""
MOST_FAULTS = 100


class Instruction(Spec):
    """What a simulator is told to do, in free words. The agent never sees it."""

    text: str = Field(min_length=1)
    first: int = Field(default=1, ge=1)
    """First step at which it holds."""
    last: int | None = Field(default=None, ge=1)
    """Last one; `None`: it holds until the end."""

    @property
    def always(self) -> bool:
        """Whether it is for the whole episode; it then ends the system prompt."""
        return self.first == 1 and self.last is None

    def holds(self, step: int) -> bool:
        """Whether it is told at this step (1-based), in the last user message."""
        return not self.always and self.first <= step and (self.last is None or step <= self.last)

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        if self.last is not None and self.last < self.first:
            raise ValueError(f"it ends at step {self.last} before it begins at step {self.first}")
        return self


class Control(Spec):
    """Everything that is done to the episodes of an environment on purpose."""

    level: Level | None = None
    """Draws faults for every episode from its seed and task."""
    faults: tuple[Fault, ...] = ()
    """The same faults for every episode, instead of a level. At most one hits an action: explicit ones go first."""
    instruction: tuple[Instruction, ...] = ()
    """For world models: text, or texts with the steps for which they hold."""
    inject: Literal["code", "instruction"] = "code"
    """Who makes the faults: code, on any backend, or the world model, which is told to and may not obey."""
    fault_count: int = Field(default=2, ge=1, le=MOST_FAULTS)
    """Faults that a level draws for an episode."""
    fault_duration: int = Field(default=2, ge=1)
    """How many matching actions each of them lasts."""

    @field_validator("faults", mode="before")
    @classmethod
    def _one_fault(cls, value: object) -> object:
        return (value,) if isinstance(value, Fault | Mapping) else value

    @field_validator("instruction", mode="before")
    @classmethod
    def _instruction_from_text(cls, value: object) -> object:
        given = (value,) if isinstance(value, str | Instruction | Mapping) else value
        if not isinstance(given, Sequence):
            return given
        return tuple({"text": item} if isinstance(item, str) else item for item in given)

    @model_validator(mode="after")
    def _level_or_faults(self) -> Self:
        if self.level is not None and self.faults:
            raise ValueError("a level draws its own faults: give level or faults, not both")
        if self.inject == "instruction" and not self.faults and self.level is None:
            raise ValueError("inject='instruction' is about faults, and there are none")
        return self

    @classmethod
    def of(cls, value: Any) -> Control | None:
        """What `gym.make(control=...)` takes: a level, a `Control`, one or several faults, a dict of either, `None`.

        Raises:
            ConfigError: none of these, or one that cannot be.
        """
        if value is None or isinstance(value, Control):
            return value
        if isinstance(value, str):
            if value not in LEVELS:
                raise unknown_name("control level", value, LEVELS)
            return cls(level=value)
        if isinstance(value, Mapping):
            return cls(faults=(dict(value),)) if "kind" in value else cls(**value)
        if isinstance(value, Fault):
            return cls(faults=(value,))
        if isinstance(value, Sequence) and all(isinstance(item, Fault | Mapping) for item in value):
            return cls(faults=tuple(value))
        raise ConfigError(
            f"Expected control to be a level ({', '.join(LEVELS)}), a Control, a Fault, a list of faults or a dict, "
            f"got {type(value).__name__}."
        )

    @property
    def instructs(self) -> bool:
        """Whether it needs a backend that takes instructions, i.e. a world model."""
        return bool(self.instruction) or (self.inject == "instruction" and self.level != "E0")

    def plan(self, seed: int, task: Task) -> tuple[Fault, ...]:
        """The faults of one episode: a pure function of the control, the episode's seed and its task."""
        groups = LEVELS[self.level] if self.level is not None else ()
        if not groups:
            return self.faults
        rng = episode_rng(seed, task)
        first = int(rng.integers(len(groups)))
        taken = [groups[(first + number) % len(groups)] for number in range(self.fault_count)]
        kinds = [group[int(rng.integers(len(group)))] for group in taken]
        horizon = max(min(HORIZON, task.max_steps), self.fault_count)
        starts = sorted(int(step) + 1 for step in rng.choice(horizon, self.fault_count, replace=False))
        return tuple(
            Fault(kind=kind, when=start, duration=self.fault_duration)
            for kind, start in zip(kinds, starts, strict=True)
        )

    def describe(self) -> dict[str, Any]:
        """As plain JSON, from which `of` builds it again."""
        return self.model_dump(mode="json", exclude_defaults=True)


def episode_rng(seed: int, task: Task, *more: int) -> np.random.Generator:
    """The generator of everything random about the faults of one episode."""
    return np.random.default_rng([seed, zlib.crc32(task.id.encode("utf-8", "backslashreplace")), *more])
