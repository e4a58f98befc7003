"""`DifficultyReport`: how often each task was solved, and which are kept."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from agentworld_envs.interface import ConfigError
from agentworld_envs.task_files import write_whole

KIND: Final = "difficulty"
"""What a report says that it is of."""


@dataclass(frozen=True, slots=True)
class TaskCount:
    """How the rollouts of one task ended."""

    index: int
    """In the set."""
    id: str | None
    """`None` when the set could not make the task."""
    successes: int
    valid: int
    """Rollouts with a valid reward."""
    failure: str | None = None
    """Kind of what kept a rollout from being valid, also when it was played again."""


@dataclass(frozen=True, slots=True)
class DifficultyReport:
    """The counts of all tasks."""

    counts: Sequence[TaskCount]
    k: int
    """Rollouts of each task."""
    bounds: tuple[int, int]
    """Fewest and most successes of a task that is kept."""

    @property
    def measured(self) -> list[TaskCount]:
        """Tasks of which all rollouts are valid."""
        return [count for count in self.counts if count.valid == self.k]

    @property
    def invalid(self) -> list[TaskCount]:
        """Tasks that cannot be told easy or hard: some rollout never had a valid reward."""
        return [count for count in self.counts if count.valid < self.k]

    @property
    def kept(self) -> list[TaskCount]:
        """Tasks between the bounds."""
        low, high = self.bounds
        return [count for count in self.measured if low <= count.successes <= high]

    @property
    def all_fail(self) -> int:
        """Measured tasks that were never solved."""
        return sum(count.successes == 0 for count in self.measured)

    @property
    def all_pass(self) -> int:
        """Measured tasks that were always solved."""
        return sum(count.successes == self.k for count in self.measured)

    @property
    def histogram(self) -> dict[int, int]:
        """Successes -> number of measured tasks, for 0 to `k`."""
        found = Counter(count.successes for count in self.measured)
        return {successes: found[successes] for successes in range(self.k + 1)}

    @property
    def pass_at_k(self) -> float | None:
        """Share of measured tasks that were solved at least once; `None` without any."""
        return 1 - self.all_fail / len(self.measured) if self.measured else None

    @property
    def mean_success(self) -> float | None:
        """Share of solved rollouts of measured tasks; `None` without any."""
        rollouts = len(self.measured) * self.k
        return sum(count.successes for count in self.measured) / rollouts if rollouts else None

    @property
    def failures(self) -> dict[str, int]:
        """Kind of failure -> tasks that are invalid by it, most frequent first."""
        return dict(Counter(str(count.failure) for count in self.invalid).most_common())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: aggregates first, then every task."""
        return {
            "tasks": len(self.counts),
            "k": self.k,
            "keep": list(self.bounds),
            "kept": len(self.kept),
            "all_fail": self.all_fail,
            "all_pass": self.all_pass,
            "invalid": len(self.invalid),
            "failures": self.failures,
            "zero_variance": self.all_fail + self.all_pass,
            "zero_variance_kept": sum(count.successes in (0, self.k) for count in self.kept),
            f"pass_at_{self.k}": self.pass_at_k,
            "mean_success": self.mean_success,
            "histogram": self.histogram,
            "counts": [asdict(count) for count in self.counts],
        }

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write it as JSON, after what it is about.

        Raises:
            ConfigError: it cannot be written, or something else is there.
        """
        check_report(path)
        write_whole(path, json.dumps({"about": dict(about), **self.to_dict()}, indent=1) + "\n")


def check_report(path: Path) -> None:
    """Make sure that a report may be written there.

    Raises:
        ConfigError: something is there that is no report of this kind.
    """
    if not os.path.lexists(path):
        return
    try:
        found = json.loads(path.read_bytes())
        about = found["about"]["kind"]
    except (OSError, ValueError, RecursionError, TypeError, KeyError):
        about = None
    if about != KIND:
        raise ConfigError(f"{path} is there already and is no report of a difficulty filter. Choose another --out.")
