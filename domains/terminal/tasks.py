"""`GeneratedTasks`: the unlimited task sets of this domain."""

from __future__ import annotations

import re
import zlib
from typing import cast

import numpy as np

from agentworld_envs.domains.terminal.families import FAMILIES, load_family
from agentworld_envs.domains.terminal.scenario import InitialState, Level, Scenario
from agentworld_envs.interface import ConfigError, Task, TaskSource, unknown_name

SPLITS = ("train", "valid", "test")
LEVELS: tuple[Level, ...] = (1, 2, 3)
"""Difficulty: each family says what it means."""
_ID = re.compile(r"([a-z]+)/([a-z_]+)/([1-3])/(\d{1,9})")
_NAME = re.compile(r"([a-z]+)(?:@([1-3](?:,[1-3])*))?(?::([a-z_, ]+))?")


class GeneratedTasks(TaskSource):
    """All families in turn, each at all levels in turn. Holds nothing: every task is made when asked for."""

    def __init__(self, split: str = "train", families: tuple[str, ...] = (), levels: tuple[Level, ...] = ()) -> None:
        """Choose.

        Args:
            split: one of `SPLITS`. Their generators are independent of each other.
            families: names of `FAMILIES`; all by default.
            levels: of `LEVELS`; all by default.

        Raises:
            ConfigError: an unknown split or family.
        """
        if split not in SPLITS:
            raise unknown_name("task set", split, SPLITS)
        for family in families:
            if family not in FAMILIES:
                raise unknown_name("task family", family, FAMILIES)
        self.split = split
        self.families = tuple(family for family in FAMILIES if not families or family in families)
        self.levels = tuple(level for level in LEVELS if not levels or level in levels)
        level_part = "@" + ",".join(map(str, self.levels)) if levels else ""
        self.name = f"{split}{level_part}{':' + ','.join(self.families) if families else ''}"

    @classmethod
    def named(cls, name: str) -> GeneratedTasks | None:
        """The set of a name such as `train`, `test@3` or `train@1,2:logs,archives`; `None` when it is no such name.

        Raises:
            ConfigError: the form is right, but no such family exists.
        """
        match = _NAME.fullmatch(name.strip())
        if match is None or match[1] not in SPLITS:
            return None
        families = tuple(word.strip() for word in (match[3] or "").split(",") if word.strip())
        levels = tuple(cast(Level, int(word)) for word in (match[2] or "").split(",") if word)
        return cls(match[1], families, levels)

    @property
    def size(self) -> None:
        return None

    def __getitem__(self, index: int) -> Task:
        if index < 0:
            raise IndexError(f"Task sets of this domain have no end to count back from; got index {index}.")
        rest, family = divmod(index, len(self.families))
        number, level = divmod(rest, len(self.levels))
        return make_task(self.split, self.families[family], self.levels[level], number)

    def find(self, task_id: str) -> Task:
        match = _ID.fullmatch(task_id)
        if match is not None and match[1] == self.split and match[2] in self.families:
            level = cast(Level, int(match[3]))
            task = make_task(match[1], match[2], level, int(match[4])) if level in self.levels else None
            if task is not None and task.id == task_id:
                return task
        near = f"{self.split}/{self.families[0]}/{self.levels[0]}/000000"
        raise ConfigError(
            f"Unknown task id {task_id!r} in the set {self.name!r}. Ids are split, family, level and a number of six "
            f"digits, e.g. {near!r}."
        )


def make_task(split: str, family: str, level: Level, number: int) -> Task:
    """The task of an id, made anew; a pure function of the arguments."""
    rng = np.random.default_rng([SPLITS.index(split), zlib.crc32(family.encode()), level, number])
    scenario = load_family(family)(rng, level)
    return task_of(scenario, f"{split}/{family}/{level}/{number:06d}", (family, split, f"level-{level}"))


def task_of(scenario: Scenario, task_id: str, tags: tuple[str, ...] = ()) -> Task:
    """A scenario as a task."""
    start = InitialState(
        files=dict(scenario.files),
        setup=tuple(scenario.setup),
        services=tuple(scenario.services),
        ready=tuple(scenario.ready),
        needs=tuple(scenario.needs),
    )
    return Task(
        id=task_id,
        domain="terminal",
        instruction=scenario.instruction,
        initial_state=start.model_dump(mode="json", exclude_defaults=True),
        verifier={"checks": [check.model_dump(mode="json", exclude_defaults=False) for check in scenario.checks]},
        hidden={"solution": list(scenario.solution)},
        max_steps=scenario.max_steps,
        tags=tags,
    )
