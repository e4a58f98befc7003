"""`backend="replay:FILE"`: a recorded trajectory file as an environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from agentworld_envs.interface import (
    Action,
    Backend,
    ConfigError,
    Domain,
    Failed,
    Failure,
    Injection,
    ReplayDivergence,
    Session,
    Task,
    TaskError,
    TaskList,
    TaskSource,
    Transition,
    Verdict,
    classify,
)
from agentworld_envs.trajectories import StepLine, Trajectory, read_trajectories
from agentworld_envs.trajectories.schema import FailureRecord


class ReplayConfig(BaseModel):
    """Configuration of the replay backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    """A file written by `record=`."""
    divergence: Literal["fail", "ignore"] = "fail"
    """When an action differs from the recorded one: end with a failure, or answer as recorded all the same."""

    def build(self) -> ReplayBackend:
        return ReplayBackend(self)


class Episode:
    """A recorded episode, with its steps that reached a backend apart."""

    __slots__ = ("executed", "trajectory")

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.executed = [step for step in trajectory.steps if step.tool]

    @property
    def task(self) -> Task:
        """The task with the step limit that the episode had."""
        reset = self.trajectory.reset
        return reset.task.model_copy(update={"max_steps": reset.max_steps})


class RecordedTasks(TaskList):
    """The tasks of a recording. `index_for` of a recorded seed is the task that was played with it."""

    def __init__(self, episodes: Sequence[Episode], name: str) -> None:
        """Args: episodes: several of one task are one entry here. name: the file."""
        tasks: dict[str, Task] = {}
        for episode in episodes:
            tasks.setdefault(episode.trajectory.reset.task.id, episode.task)
        super().__init__(list(tasks.values()), name)
        order = {task_id: index for index, task_id in enumerate(tasks)}
        resets = [episode.trajectory.reset for episode in reversed(episodes)]
        self._of_seed = {reset.seed: order[reset.task.id] for reset in resets}

    def index_for(self, seed: int) -> int:
        return self._of_seed[seed] if seed in self._of_seed else super().index_for(seed)


class ReplaySession(Session):
    """A position in a recorded episode.

    A file may hold several episodes of one task and seed (forks, repeated runs). The session follows the first one
    that agrees with all actions so far.
    """

    def __init__(self, domain: Domain, seed: int, candidates: Sequence[Episode]) -> None:
        """Args: candidates: recorded episodes of the same task and seed, at least one."""
        super().__init__(domain, candidates[0].task, seed)
        self.candidates = list(candidates)
        self.position = 0
        """Recorded steps that have been answered, of those that reached the backend."""
        reset = candidates[0].trajectory.reset
        self.observation = reset.observation
        self.failure = _failure(reset.failure)
        recorded = reset.backend.get("sandbox")
        self.sandbox = str(recorded.get("kind", "")) if isinstance(recorded, dict) else ""

    @property
    def episode(self) -> Episode:
        """The recorded episode that is being followed."""
        return self.candidates[0]

    def follow(self, action: Action, *, strict: bool) -> StepLine | None:
        """The next recorded step that reached the backend, `None` at the end of the recording.

        Raises:
            ReplayDivergence: no recording goes on with `action` (only when `strict`).
        """
        if strict:
            agreeing = [e for e in self.candidates if self._goes_on_with(e, action)]
            if not agreeing and self.position < len(self.episode.executed):
                step = self.episode.executed[self.position]
                raise ReplayDivergence(
                    f"Expected the recorded action {step.command!r} at step {step.step}, got {action.command!r}."
                )
            self.candidates = agreeing or self.candidates
        if self.position >= len(self.episode.executed):
            return None
        self.position += 1
        return self.episode.executed[self.position - 1]

    def _goes_on_with(self, episode: Episode, action: Action) -> bool:
        if self.position >= len(episode.executed):
            return False
        step = episode.executed[self.position]
        return (step.tool, step.arguments) == (action.tool, dict(action.arguments))

    def verdict(self) -> Verdict:
        return _verdict(self.episode.executed[self.position - 1]) if self.position else Verdict(0.0, False)

    def final(self, steps: int) -> Verdict:
        """What was recorded at the end, which may be a step that never reached the backend.

        Raises:
            Failed: the reward could not be determined then; no more can it be now.
        """
        recorded = self.episode.trajectory.steps
        same_way = steps <= len(recorded) and self.position == sum(bool(step.tool) for step in recorded[:steps])
        if not same_way or recorded[steps - 1].tool:
            return self.verdict()
        failure = _failure(recorded[steps - 1].failure)
        if failure is not None:
            raise Failed(failure)
        return _verdict(recorded[steps - 1])

    def commands(self) -> list[str]:
        recorded = self.episode.executed[self.position - 1] if self.position else self.episode.trajectory.reset
        return list(recorded.admissible_commands)

    def fork(self) -> ReplaySession:
        """An independent session at the same position."""
        twin = ReplaySession(self.domain, self.seed, self.candidates)
        twin.position = self.position
        return twin


class MissingSession(Session):
    """A task that is not in the recording."""

    def verdict(self) -> Verdict:
        return Verdict(0.0, False)


class ReplayBackend(Backend):
    """Answers recorded actions with recorded observations, rewards and failures. Needs neither model nor sandbox."""

    name = "replay"
    source = "replay"

    def __init__(self, config: ReplayConfig) -> None:
        """Read the recording.

        Raises:
            ConfigError: the file cannot be read or holds no episode.
        """
        self._config = config
        episodes = [Episode(trajectory) for trajectory in read_trajectories(config.path)]
        if not episodes:
            raise ConfigError(f"{config.path} holds no episode; expected a file written with record=.")
        self._of_task: dict[str, list[Episode]] = {}
        self._of_seed: dict[tuple[str, int], list[Episode]] = {}
        for episode in episodes:
            reset = episode.trajectory.reset
            self._of_task.setdefault(reset.task.id, []).append(episode)
            self._of_seed.setdefault((reset.task.id, reset.seed), []).append(episode)
        self._tasks = RecordedTasks(episodes, str(config.path))

    def tasks(self) -> TaskSource:
        return self._tasks

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        return [self._open(domain, task, seed) for task, seed in zip(tasks, seeds, strict=True)]

    def _open(self, domain: Domain, task: Task, seed: int) -> Session:
        candidates = self._of_seed.get((task.id, seed)) or self._of_task.get(task.id)
        if candidates:
            return ReplaySession(domain, seed, candidates)
        session = MissingSession(domain, task, seed)
        session.failure = classify(TaskError(f"{self._config.path} holds no episode of task {task.id!r}."))
        return session

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        return [self._answer(session, action) for session, action in zip(sessions, actions, strict=True)]

    def _answer(self, session: Session, action: Action) -> Transition:
        assert isinstance(session, ReplaySession)
        try:
            step = session.follow(action, strict=self._config.divergence == "fail")
            if step is None:
                length = len(session.episode.trajectory.steps)
                raise ReplayDivergence(
                    f"The recording ends after {length} steps, without an answer to {action.command!r}."
                )
        except ReplayDivergence as error:
            return Transition("", "replay", failure=classify(error))
        fault = Injection.recorded(step.flags)
        flags = {"recorded_source": step.source, **({"fault": step.flags["fault"]} if fault is not None else {})}
        return Transition(step.observation, "replay", failure=_failure(step.failure), flags=flags, fault=fault)

    def fork(self, session: Session) -> Session:
        return session.fork() if isinstance(session, ReplaySession) else session

    def close(self, sessions: Sequence[Session]) -> None:
        """Nothing to release."""

    def describe(self) -> dict[str, str]:
        return {"name": self.name, "file": self._config.path.name}


def _verdict(step: StepLine) -> Verdict:
    return Verdict(step.score, step.success, done=step.terminated)


def _failure(record: FailureRecord | None) -> Failure | None:
    return None if record is None else Failure(record.kind, record.message, record.retryable)
