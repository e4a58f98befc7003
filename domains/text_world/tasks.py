"""`GeneratedTasks`: the unlimited task sets."""

from __future__ import annotations

import re

from agentworld_envs.domains.text_world.generate import KINDS, SPLITS, generate
from agentworld_envs.interface import ConfigError, Task, TaskSource, unknown_name

_ID = re.compile(r"(\w+)/(\d{1,18})")


class GeneratedTasks(TaskSource):
    """Tasks of one split, all types in turn or only some of them. Holds nothing: every task is made when asked for."""

    def __init__(self, split: str = "train", kinds: tuple[str, ...] = ()) -> None:
        """Args: split: one of `SPLITS`. kinds: types of `KINDS` to keep, in any order; all by default.

        Raises:
            ConfigError: an unknown split or type.
        """
        if split not in SPLITS:
            raise unknown_name("task set", split, SPLITS)
        for kind in kinds:
            if kind not in KINDS:
                raise unknown_name("task type", kind, KINDS)
        self.name = f"{split}:{','.join(kinds)}" if kinds else split
        self._split = split
        self._turns = tuple(turn for turn, kind in enumerate(KINDS) if not kinds or kind in kinds)

    @property
    def size(self) -> None:
        return None

    def __getitem__(self, index: int) -> Task:
        if index < 0:
            raise IndexError(f"Task sets of this domain have no end to count back from; got index {index}.")
        turn, offset = divmod(index, len(self._turns))
        return generate(self._split, turn * len(KINDS) + self._turns[offset])

    def find(self, task_id: str) -> Task:
        match = _ID.fullmatch(task_id)
        if match is None or match[1] != self._split or int(match[2]) % len(KINDS) not in self._turns:
            near = f"{self._split}/{self._turns[0]:09d}"
            raise ConfigError(
                f"Unknown task id {task_id!r} in the set {self.name!r}. Ids are the split and a number, e.g. {near!r}."
            )
        task = generate(match[1], int(match[2]))
        if task.id != task_id:
            raise ConfigError(f"Unknown task id {task_id!r}. Did you mean {task.id!r}?")
        return task
