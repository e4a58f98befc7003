"""`best_attempts`: which episodes of a collection are recorded, when some were killed, failed, or played twice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agentworld_envs.training.report import DataReport
from agentworld_envs.trajectories import Located, Trajectory, scan_trajectories
from agentworld_envs.trajectories.schema import FailureRecord


@dataclass(frozen=True, slots=True)
class Attempt:
    """A recorded episode that reached its end, or failed."""

    located: Located
    steps: int
    transitions: int
    """Actions that reached the environment."""
    retryable: bool
    """Whether it failed, and may well not when it is played again."""


def best_attempts(path: Path, report: DataReport | None = None) -> dict[int, Attempt]:
    """Seed -> the best attempt at that episode, which stays in the file until it is loaded.

    Args:
        path: a recording; none is there before anything was played.
        report: gets counts of the other attempts, and of lines that cannot be read.

    Raises:
        ConfigError: the recording cannot be read.
    """
    report = report if report is not None else DataReport()
    problems: list[str] = []
    best: dict[int, Attempt] = {}
    for trajectory, located in scan_trajectories(path, problems) if path.exists() else ():
        seed, failure, steps = trajectory.reset.seed, _failure(trajectory), len(trajectory.steps)
        if failure is None and not trajectory.finished:
            report.unfinished += 1
            continue
        transitions = sum(bool(step.tool) for step in trajectory.steps)
        attempt = Attempt(located, steps, transitions, failure is not None and failure.retryable)
        if seed in best:
            better = best[seed].retryable and not attempt.retryable
            report.drop_episode("played_again", best[seed].steps if better else steps)
            attempt = attempt if better else best[seed]
        best[seed] = attempt
    report.lines_left_out += len(problems)
    return best


def _failure(trajectory: Trajectory) -> FailureRecord | None:
    """What ended an episode from outside of it."""
    found = [trajectory.reset.failure, *(step.failure for step in trajectory.steps[-1:])]
    if trajectory.close is not None:
        found.append(trajectory.close.failure)
    return next((failure for failure in found if failure is not None), None)
