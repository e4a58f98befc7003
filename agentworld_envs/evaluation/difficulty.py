"""`DifficultyFilter`: keeps the tasks that an agent solves sometimes: those that it can learn from.

With `k` rollouts of a task, a group whose rewards are all the same has no advantage in GRPO. LiteResearcher keeps,
before each stage of training, tasks with 1 to 7 right answers of 8 (papers, section on the difficulty filter).
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from agentworld_envs.agents import Agent, EpisodeResult, Rollout
from agentworld_envs.domains import load_domain
from agentworld_envs.evaluation.agentworldbench.journal import Journal
from agentworld_envs.evaluation.difficulty_report import KIND, DifficultyReport, TaskCount, check_report
from agentworld_envs.interface import ConfigError, Domain, Task, TaskSource
from agentworld_envs.task_files import check_task_file, named_tasks, write_task_file
from agentworld_envs.vector import AgentWorldVectorEnv

logger = logging.getLogger(__name__)

ATTEMPTS = 3
"""How often a rollout is played that ends without a valid reward, each time with another seed."""
SEED_RANGE = 2**53
"""Seeds of rollouts are below this: whole numbers in JSON, and never drawn twice."""
FLUSH_ROLLOUTS, FLUSH_S = 64, 2.0
"""So many rollouts, or seconds, may be lost by a kill."""

Progress = Callable[[int, int], None]
"""Called with how many rollouts have ended, of how many."""


@dataclass(frozen=True, slots=True)
class DifficultySettings:
    """What decides which tasks are kept. Equal settings keep equal tasks."""

    tasks: str | None
    """Task set or path; `None` is the domain's default."""
    n: int
    """Of the set, the first `n` tasks are looked at (>= 1); fewer where it has fewer."""
    k: int = 8
    """Rollouts of each task (>= 2)."""
    keep: tuple[int, int] | None = None
    """Fewest and most successes of a task that is kept; `None`: 1 and `k - 1`."""
    seed: int = 0
    """Of the rollouts (>= 0); the agent has its own."""
    agent: Mapping[str, Any] = field(default_factory=dict)
    """What the agent is, as JSON: results of another one are not mixed with its."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments of the environment that are JSON: backend, reward, max_steps, sandbox."""

    def __post_init__(self) -> None:
        """Raises: ConfigError: a number that cannot be."""
        if self.n < 1 or self.seed < 0:
            raise ConfigError(f"Expected n of at least 1 and a seed of at least 0, got {self.n} and {self.seed}.")
        if self.k < 2:
            raise ConfigError(f"Expected k of at least 2, got {self.k}: one rollout cannot differ from itself.")
        low, high = self.bounds
        if not 0 <= low <= high <= self.k:
            raise ConfigError(f"Expected to keep between 0 and {self.k} successes, got {low}-{high}.")

    @property
    def bounds(self) -> tuple[int, int]:
        """Fewest and most successes of a task that is kept."""
        return (1, self.k - 1) if self.keep is None else self.keep

    def rollout_seed(self, index: int, number: int, attempt: int) -> int:
        """Seed of an attempt at a rollout of a task: a pure function of the settings' seed and the arguments."""
        return int(np.random.default_rng([self.seed, index, number, attempt]).integers(SEED_RANGE))


class DifficultyFilter:
    """Plays `k` rollouts of each task, and keeps the tasks between the bounds.

    Results go to a journal beside the file; killed at any time, the next run goes on where it was, with the same
    totals. A rollout without a valid reward is played again with another seed; a task that has less than `k` valid ones
    after that is not kept, and counted as such, never as a failure of the agent.
    """

    def __init__(
        self,
        domain: str | Domain,
        settings: DifficultySettings,
        out: str | os.PathLike[str],
        agent: Agent,
        *,
        num_envs: int = 16,
        **environment: Any,
    ) -> None:
        """Prepare; nothing is played yet.

        Args:
            domain: by name, or the object.
            settings: what is kept.
            out: file of the kept tasks; the journal is `OUT.journal`, the report `OUT.report.json`.
            agent: who plays; has to draw from the episodes' seeds, else all rollouts of a task are the same. Stays the
                caller's to close.
            num_envs: episodes at a time (>= 1); changes speed, never results.
            environment: more keyword arguments of the environment, in place of the settings'.

        Raises:
            ConfigError: a number out of range, no such task set, a file of another kind at `out` or where the report
                goes, or the set is read from the file at `out`.
        """
        if num_envs < 1:
            raise ConfigError(f"Expected num_envs to be at least 1, got {num_envs}.")
        self.settings, self.out = settings, Path(out)
        self._domain = load_domain(domain) if isinstance(domain, str) else domain
        self._agent, self._num_envs = agent, num_envs
        self._environment = {**settings.environment, **environment}
        self._source = named_tasks(self._domain, settings.tasks)
        check_task_file(self.out, self._source)
        check_report(self.report)
        self._n = min(settings.n, self._source.size or settings.n)
        self._unsaved: list[dict[str, Any]] = []
        self._saved_at = time.monotonic()

    @property
    def journal(self) -> Path:
        """Where results are kept."""
        return self.out.with_name(self.out.name + ".journal")

    @property
    def report(self) -> Path:
        """Where the report goes."""
        return self.out.with_name(self.out.name + ".report.json")

    def run(self, progress: Progress | None = None) -> DifficultyReport:
        """Play what is missing, and write the kept tasks and the report.

        When no task is kept, a file of kept tasks that is there already stays as it is.

        A `KeyboardInterrupt` passes through; what was played stays in the journal.

        Raises:
            ConfigError: the journal is of other settings, in use, or cannot be written; the set has changed since.
        """
        ids = [self._task_id(index) for index in range(self._n)]
        with Journal(self.journal, self._header()) as journal:
            self._check(journal, ids)
            while pending := self._pending(journal, ids):
                self._play(journal, pending, ids, progress)
            counts = [self._count(journal, index, task_id) for index, task_id in enumerate(ids)]
        report = DifficultyReport(counts, self.settings.k, self.settings.bounds)
        self._write(report)
        return report

    def _header(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "kind": KIND,
            "domain": self._domain.name,
            "tasks": settings.tasks,
            "k": settings.k,
            "seed": settings.seed,
            "agent": dict(settings.agent),
            "environment": dict(settings.environment),
        }

    def _task_id(self, index: int) -> str | None:
        """The id of a task; `None` when the set cannot make it."""
        try:
            return self._source[index].id
        except ConfigError:
            raise
        except Exception:  # noqa: BLE001 - a broken task is counted as one, and must not stop the others
            return None

    def _check(self, journal: Journal, ids: list[str | None]) -> None:
        for key, line in journal.results.items():
            index = int(key.partition("#")[0])
            if index < len(ids) and line.get("task_id") not in (None, ids[index]):
                raise ConfigError(
                    f"Task {index} of the set was {line['task_id']!r} when {self.journal} was begun, and now is "
                    f"{ids[index]!r}: the set has changed. Use another --out."
                )

    def _pending(self, journal: Journal, ids: list[str | None]) -> dict[int, tuple[int, int, int]]:
        """Seed -> task, rollout and attempt, of what has to be played next, in order of tasks."""
        found: dict[int, tuple[int, int, int]] = {}
        for index, task_id in enumerate(ids):
            for number in range(self.settings.k if task_id is not None else 0):
                line = journal.results.get(f"{index}#{number}")
                attempt = 0 if line is None else line["attempt"] + 1
                if line is None or (line["success"] is None and attempt < ATTEMPTS):
                    found[self.settings.rollout_seed(index, number, attempt)] = (index, number, attempt)
        return found

    def _play(
        self,
        journal: Journal,
        pending: Mapping[int, tuple[int, int, int]],
        ids: list[str | None],
        progress: Progress | None,
    ) -> None:
        total = sum(task_id is not None for task_id in ids) * self.settings.k
        done = sum(line["success"] is not None for line in journal.results.values())

        def book(result: EpisodeResult) -> None:
            nonlocal done
            index, number, attempt = pending[result.seed]
            valid = result.status == "valid"
            line: dict[str, Any] = {"key": f"{index}#{number}", "task_id": ids[index], "seed": result.seed}
            line |= {"success": result.success if valid else None, "score": result.score if valid else None}
            line |= {"attempt": attempt, "steps": result.steps, "failure": result.failure}
            self._save(journal, line)
            done += valid
            if progress is not None:
                progress(min(done, total), total)

        env = AgentWorldVectorEnv(
            self._domain,
            min(self._num_envs, len(pending)),
            tasks=_Rolls(self._source, {seed: place[0] for seed, place in pending.items()}),
            autoreset_mode=AutoresetMode.DISABLED,
            **self._environment,
        )
        try:
            Rollout(env, self._agent, len(pending), seeds=list(pending), progress=book).run()
        finally:
            env.close()
            self._save(journal)

    def _save(self, journal: Journal, line: dict[str, Any] | None = None) -> None:
        """Write a line soon; without one, write what is waiting now."""
        if line is not None:
            self._unsaved.append(line)
        due = len(self._unsaved) >= FLUSH_ROLLOUTS or time.monotonic() - self._saved_at >= FLUSH_S
        if self._unsaved and (line is None or due):
            journal.append(self._unsaved)
            self._unsaved, self._saved_at = [], time.monotonic()

    def _count(self, journal: Journal, index: int, task_id: str | None) -> TaskCount:
        lines = [journal.results.get(f"{index}#{number}") for number in range(self.settings.k)]
        outcomes = [line["success"] for line in lines if line is not None]
        failures = [line["failure"] for line in lines if line is not None and line["success"] is None]
        return TaskCount(
            index=index,
            id=task_id,
            successes=sum(outcome is True for outcome in outcomes),
            valid=sum(outcome is not None for outcome in outcomes),
            failure=failures[0] if failures else "task" if task_id is None else None,
        )

    def _write(self, report: DifficultyReport) -> None:
        settings = self.settings
        about = {name: value for name, value in self._header().items() if name not in ("kind", "domain", "tasks")}
        lines = [{"id": one.id, "successes": one.successes, "rollouts": one.valid} for one in report.kept]
        about |= {"keep": list(settings.bounds)}
        if lines:
            write_task_file(self.out, self._domain.name, settings.tasks, lines, about)
        elif self.out.exists():
            logger.warning("No task is kept; %s is of an earlier run and stays as it is.", self.out)
        report.write(self.report, self._header())


class _Rolls(TaskSource):
    """The task of each rollout, by the rollout's seed."""

    def __init__(self, base: TaskSource, index_of: Mapping[int, int]) -> None:
        self.name, self._base, self._index_of = base.name, base, index_of

    @property
    def size(self) -> int | None:
        return self._base.size

    def __getitem__(self, index: int) -> Task:
        return self._base[index]

    def find(self, task_id: str) -> Task:
        return self._base.find(task_id)

    def index_for(self, seed: int) -> int:
        return self._index_of[seed]
