"""`Collector`: lets an agent play, and records every transition. Killed at any time, it goes on where it was."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gymnasium.vector import AutoresetMode

from agentworld_envs.agents import Agent, EpisodeResult, ExpertAgent, NoisyExpert, RandomAgent, Rollout
from agentworld_envs.agents.noisy import slips
from agentworld_envs.backends import BackendConfig
from agentworld_envs.interface import Backend, ConfigError, Domain, unknown_name
from agentworld_envs.training.attempts import best_attempts
from agentworld_envs.training.manifest import Collection, Unit, split_name
from agentworld_envs.training.report import DataReport
from agentworld_envs.trajectories import Trajectory, read_trajectories
from agentworld_envs.vector import AgentWorldVectorEnv

logger = logging.getLogger(__name__)

RECORDINGS = "recordings"
"""Folder of the recordings below the collection's, one file per task set."""

Progress = Callable[[str, int, int], None]
"""Called with the split, and how many episodes or transitions are there, of how many."""


class Collector:
    """Plays the episodes of a collection that are not recorded yet.

    Which episodes belong to it depends on the collection alone: those with the first `n` indices, or the fewest first
    ones that have `n` transitions. The number of slots and interruptions change neither them nor their order.
    """

    def __init__(
        self,
        collection: Collection,
        folder: str | os.PathLike[str],
        n: int,
        *,
        unit: Unit = "episodes",
        num_envs: int = 16,
        agent: Agent | None = None,
        domain: Domain | None = None,
        backend: BackendConfig | Backend | None = None,
    ) -> None:
        """Prepare; nothing is opened yet.

        Args:
            collection: what is played.
            folder: where the recordings are, below `recordings/`.
            n: episodes or transitions per task set (>= 1).
            unit: what `n` counts. A transition is an action that reached the environment.
            num_envs: episodes at a time (>= 1).
            agent: who plays; stays the caller's to close. Default: the collection's `expert` or `random`.
            domain: default: the collection's, by name.
            backend: default: the collection's, by name.

        Raises:
            ConfigError: a number out of range, or an agent that has to be given.
        """
        for name, value in (("n", n), ("num_envs", num_envs)):
            if value < 1:
                raise ConfigError(f"Expected {name} to be at least 1, got {value}.")
        if unit not in ("episodes", "transitions"):
            raise unknown_name("unit", unit, ("episodes", "transitions"))
        self.collection, self.folder, self.n, self.unit = collection, Path(folder), n, unit
        self._num_envs = num_envs
        self._agent = agent if agent is not None else built_in_agent(collection)
        self._domain = domain if domain is not None else collection.domain
        self._backend = backend if backend is not None else collection.backend

    def run(self, *, resume: bool = False, progress: Progress | None = None) -> None:
        """Record what is missing. A `KeyboardInterrupt` passes through; what is recorded stays.

        Raises:
            ConfigError: the folder holds recordings and `resume` is False, or those of another collection; another
                process collects into it; or an environment cannot be built.
        """
        self.collection.claim(self.folder, resume=resume)
        with _alone(self.folder):
            for split in self.collection.splits:
                self._run(split, progress)

    def trajectories(self, split: str | None, report: DataReport) -> Iterator[Trajectory]:
        """The episodes of one task set, in order of their indices. Attempts that were played again are counted.

        Raises:
            ConfigError: the recording cannot be read.
        """
        recorded = best_attempts(self.path(split), report)
        for seed in self._members({seed: attempt.transitions for seed, attempt in recorded.items()}):
            if seed in recorded:
                yield recorded[seed].located.load()

    def slipped(self, trajectory: Trajectory, step: int) -> bool:
        """Whether the agent's action at a step was a slip."""
        collection = self.collection
        return slips(collection.seed, trajectory.reset.seed, step, collection.epsilon)

    def path(self, split: str | None) -> Path:
        """The recording of one task set."""
        return self.folder / RECORDINGS / f"{split_name(split)}.jsonl"

    def _run(self, split: str | None, progress: Progress | None) -> None:
        recorded = best_attempts(self.path(split))
        done = {seed: attempt.transitions for seed, attempt in recorded.items() if not attempt.retryable}
        pending = self._pending(done)
        self._tell(progress, split, done)
        if not pending:
            return
        env = AgentWorldVectorEnv(
            self._domain,
            min(self._num_envs, len(pending)),
            backend=self._backend,
            tasks=split,
            max_steps=self.collection.max_steps,
            record=self.path(split),
            sandbox=self.collection.sandbox,
            autoreset_mode=AutoresetMode.DISABLED,
        )

        def book(result: EpisodeResult) -> None:
            done[result.seed] = result.steps
            self._tell(progress, split, done)

        try:
            while pending:
                Rollout(env, self._agent, len(pending), seeds=pending, progress=book).run()
                if self.unit == "episodes":
                    return
                # Only the recording knows which steps reached the environment.
                exact = best_attempts(self.path(split))
                done.update({seed: exact[seed].transitions for seed in done if seed in exact})
                if not any(done[seed] for seed in pending):
                    logger.warning(
                        "%d episodes of %s have no transition at all; stopping at %d of %d.",
                        len(pending),
                        split_name(split),
                        sum(done.values()),
                        self.n,
                    )
                    return
                pending = self._pending(done)
        finally:
            env.close()

    def _pending(self, done: Mapping[int, int]) -> list[int]:
        """Seeds of the episodes to play next, in order of their indices. Of transitions, a guess by what is known."""
        if self.unit == "episodes":
            return [seed for seed in self._members(done) if seed not in done]
        mean = sum(done.values()) // len(done) if done else 0
        missing: list[int] = []
        found = index = 0
        while found < self.n and (mean or len(missing) < self._num_envs):
            seed = self.collection.episode_seed(index)
            if seed not in done:
                missing.append(seed)
            found += done.get(seed, max(mean, 1))
            index += 1
        return missing

    def _members(self, done: Mapping[int, int]) -> list[int]:
        """Seeds of the episodes that the collection has, in order; of transitions, as far as they are recorded."""
        if self.unit == "episodes":
            return list(dict.fromkeys(self.collection.episode_seed(index) for index in range(self.n)))
        members: dict[int, None] = {}
        found = index = 0
        while found < self.n:
            seed = self.collection.episode_seed(index)
            if seed not in done:
                break
            if seed not in members:
                members[seed] = None
                found += done[seed]
            index += 1
        return list(members)

    def _tell(self, progress: Progress | None, split: str | None, done: dict[int, int]) -> None:
        if progress is not None:
            count = len(done) if self.unit == "episodes" else sum(done.values())
            progress(split_name(split), min(count, self.n), self.n)


def built_in_agent(collection: Collection) -> Agent:
    """The agent of a collection that needs no model.

    Raises:
        ConfigError: there is none of that name.
    """
    if collection.agent == RandomAgent.name:
        return RandomAgent(collection.seed)
    if collection.agent == ExpertAgent.name:
        return NoisyExpert(collection.epsilon, collection.seed) if collection.epsilon else ExpertAgent()
    if collection.agent == "llm":
        raise ConfigError("The agent 'llm' needs a model: build it with build_agent and give it to the collector.")
    raise unknown_name("agent for collecting", collection.agent, ("expert", "llm", "random"))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second process out of the folder; the kernel forgets the lock with the process.

    Raises:
        ConfigError: there is another one.
    """
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(
                f"Another process collects into {folder}: wait for it, or choose another --out."
            ) from error
        yield
    finally:
        os.close(handle)


def read_recordings(paths: Sequence[str | os.PathLike[str]], report: DataReport) -> Iterator[Trajectory]:
    """All episodes of some recordings, in order. Lines that cannot be read are counted.

    Raises:
        ConfigError: a file that cannot be read, or holds no episode.
    """
    for path in paths:
        problems: list[str] = []
        trajectories = read_trajectories(path, problems)
        report.lines_left_out += len(problems)
        if not trajectories:
            raise ConfigError(f"{path} holds no episode; expected a file written with --record.")
        yield from trajectories
