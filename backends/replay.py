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
    Failure,
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


class RecordedTasks(TaskList):
    """The tasks of a recording. `index_for` of a recorded seed is the episode that was played with it."""

    def __init__(self, trajectories: Sequence[Trajectory], name: str) -> None:
        """Args: trajectories: several of one task are one entry here. name: the file."""
        tasks: dict[str, Task] = {}
        for trajectory in trajectories:
            task = trajectory.reset.task
            tasks.setdefault(task.id, task.model_copy(update={"max_steps": trajectory.reset.max_steps}))
        super().__init__(list(tasks.values()), name)
        order = {task_id: index for index, task_id in enumerate(tasks)}
        self._of_seed = {t.reset.seed: order[t.reset.task.id] for t in reversed(trajectories)}

    def index_for(self, seed: int) -> int:
        return self._of_seed[seed] if seed in self._of_seed else super().index_for(seed)


class ReplaySession(Session):
    """A position in a recorded episode."""

    def __init__(self, domain: Domain, task: Task, seed: int, trajectory: Trajectory | None) -> None:
        super().__init__(domain, task, seed)
        self.trajectory = trajectory
        self.position = 0
        """Recorded steps that have been answered."""

    def verdict(self) -> Verdict:
        if self.trajectory is None or self.position == 0:
            return Verdict(0.0, False)
        step = self.trajectory.steps[self.position - 1]
        return Verdict(step.score, step.success, done=step.terminated)

    def commands(self) -> list[str]:
        if self.trajectory is None:
            return []
        recorded = self.trajectory.steps[self.position - 1] if self.position else self.trajectory.reset
        return list(recorded.admissible_commands)

    def next_step(self) -> StepLine | None:
        """The next recorded step that reached the backend, `None` at the end of the recording.

        Steps whose action was rejected on the way are answered again by the same code, not from the recording.
        """
        steps = self.trajectory.steps if self.trajectory is not None else []
        while self.position < len(steps):
            self.position += 1
            if steps[self.position - 1].tool:
                return steps[self.position - 1]
        return None


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
        self._trajectories = read_trajectories(config.path)
        if not self._trajectories:
            raise ConfigError(f"{config.path} holds no episode; expected a file written with record=.")
        self._tasks = RecordedTasks(self._trajectories, str(config.path))

    def tasks(self) -> TaskSource:
        return self._tasks

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        sessions: list[Session] = []
        for task, seed in zip(tasks, seeds, strict=True):
            trajectory = self._find(task.id, seed)
            session = ReplaySession(domain, task, seed, trajectory)
            if trajectory is None:
                session.failure = classify(TaskError(f"{self._config.path} holds no episode of task {task.id!r}."))
            else:
                session.observation = trajectory.reset.observation
                session.failure = _failure(trajectory.reset.failure)
            sessions.append(session)
        return sessions

    def _find(self, task_id: str, seed: int) -> Trajectory | None:
        """The episode of that task and seed, else the first one of that task."""
        of_task = [t for t in self._trajectories if t.reset.task.id == task_id]
        return next((t for t in of_task if t.reset.seed == seed), of_task[0] if of_task else None)

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        return [self._answer(session, action) for session, action in zip(sessions, actions, strict=True)]

    def _answer(self, session: Session, action: Action) -> Transition:
        assert isinstance(session, ReplaySession)
        step = session.next_step()
        if step is None:
            length = len(session.trajectory.steps) if session.trajectory is not None else 0
            error = ReplayDivergence(
                f"The recording ends after {length} steps, without an answer to {action.command!r}."
            )
            return Transition("", "replay", failure=classify(error))
        if self._config.divergence == "fail" and (step.tool, step.command) != (action.tool, action.command):
            error = ReplayDivergence(
                f"Expected the recorded action {step.command!r} at step {step.step}, got {action.command!r}."
            )
            return Transition("", "replay", failure=classify(error))
        return Transition(
            step.observation, "replay", failure=_failure(step.failure), flags={"recorded_source": step.source}
        )

    def fork(self, session: Session) -> Session:
        assert isinstance(session, ReplaySession)
        twin = ReplaySession(session.domain, session.task, session.seed, session.trajectory)
        twin.observation, twin.failure, twin.position = session.observation, session.failure, session.position
        return twin

    def close(self, sessions: Sequence[Session]) -> None:
        """Nothing to release."""

    def describe(self) -> dict[str, str]:
        return {"name": self.name, "file": self._config.path.name}


def _failure(record: FailureRecord | None) -> Failure | None:
    return None if record is None else Failure(record.kind, record.message, record.retryable)
