"""`Task`: what is asked of the agent; `TaskSource`: where tasks come from, by index and by id."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.interface.errors import ConfigError, unknown_name

INFINITE_RANGE = 2**31
"""Indices drawn from an unlimited task source are below this."""


class Task(BaseModel):
    """One problem. Immutable, JSON-serialisable, and enough to build the real world and to brief a simulator."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Unique within its domain; `reset(options={"task_id": id})` finds it again."""
    domain: str
    """Name of the domain that plays it."""
    instruction: str
    """What the agent is asked to do, in one or a few sentences."""
    initial_state: dict[str, Any] = Field(default_factory=dict)
    """JSON from which the real world is built, and from which a simulator may be told."""
    verifier: dict[str, Any] = Field(default_factory=dict)
    """What code checks at the end. Never shown to agent or simulator."""
    hidden: dict[str, Any] = Field(default_factory=dict)
    """Answers and other secrets. Never shown to agent or simulator."""
    max_steps: int = Field(default=50, ge=1)
    """Step limit of an episode, unless the environment sets its own."""
    tags: tuple[str, ...] = ()
    """Free labels: task type, split, difficulty."""


class TaskSource(ABC):
    """Tasks by index. `source[i]` is a pure function of the source and `i`."""

    name: str
    """What a user types to get this source."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Number of tasks, `None` when there is no end."""

    @abstractmethod
    def __getitem__(self, index: int) -> Task:
        """The task at `index` (0-based).

        Raises:
            IndexError: `index` is outside of a finite source.
            TaskError: the task's data is broken.
        """

    @abstractmethod
    def find(self, task_id: str) -> Task:
        """The task of that id.

        Raises:
            ConfigError: no such task; names the nearest ids.
        """

    def index_for(self, seed: int) -> int:
        """The index that `reset(seed=seed)` plays: drawn from a generator made of `seed` alone."""
        return int(np.random.default_rng([seed, 0]).integers(self.size or INFINITE_RANGE))


class TaskList(TaskSource):
    """A finite source over tasks that are already in memory."""

    def __init__(self, tasks: Sequence[Task], name: str = "list") -> None:
        """Args: tasks: at least one task, ids all different. name: shown in errors and recordings."""
        if not tasks:
            raise ConfigError(f"The task set {name!r} is empty; expected at least one task.")
        self.name = name
        self._tasks = list(tasks)
        self._by_id: Mapping[str, Task] = {task.id: task for task in tasks}
        if len(self._by_id) != len(self._tasks):
            raise ConfigError(f"The task set {name!r} has {len(self._tasks) - len(self._by_id)} duplicate task ids.")

    @property
    def size(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: int) -> Task:
        return self._tasks[index]

    def find(self, task_id: str) -> Task:
        if task_id not in self._by_id:
            raise unknown_name("task id", task_id, self._by_id)
        return self._by_id[task_id]
