"""Re-executing recorded episodes, and the first difference between a recording and what happened instead."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentworld_envs.backends import BackendConfig
from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.interface import Backend, ConfigError, Control, Domain
from agentworld_envs.rewards import REWARDS
from agentworld_envs.trajectories import ResetLine, StepLine, Trajectory
from agentworld_envs.trajectories.schema import FailureRecord

COMPARED = (
    "observation",
    "reward",
    "terminated",
    "truncated",
    "command",
    "action_valid",
    "admissible_commands",
    "score",
    "success",
    "reward_valid",
    "failure",
)
"""What of a step is compared, in the order in which a difference is looked for. `source` and costs may differ."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an episode first left its recording."""

    step: int
    """0 for the reset."""
    field: str
    """One of `COMPARED`, or `steps` when one of the two is longer."""
    recorded: Any
    actual: Any
    failure: str = ""
    """What failed, in words, where the episode failed and its recording did not."""

    def __str__(self) -> str:
        if self.failure:
            return f"step {self.step} failed, recorded {self.recorded!r}: {self.actual}: {self.failure}"
        return f"step {self.step}, {self.field}: recorded {self.recorded!r}, got {self.actual!r}"


def reexecute(
    trajectory: Trajectory, backend: str | BackendConfig | Backend = "replay", domain: Domain | None = None
) -> Difference | None:
    """Play the recorded actions of one episode again.

    Args:
        trajectory: from `read_trajectories`.
        backend: `"replay"` answers from the recording itself (which tests that it is whole and that scores and flags
            follow from it), `"real"` from the real world; or any other.
        domain: default: the recorded one, by name.

    Returns:
        The first difference, `None` when observations, rewards, flags and admissible commands are identical.

    Raises:
        ConfigError: the backend or the domain cannot be used.
    """
    if backend == "replay":
        with _alone(trajectory) as path:
            return _play(trajectory, f"replay:{path}", domain, "verifier")
    reward = trajectory.reset.reward
    if reward not in REWARDS:
        raise ConfigError(
            f"The episode was scored by {reward!r}, which cannot be built from its name alone "
            f"({', '.join(sorted(REWARDS))} can): compare with backend='replay'."
        )
    return _play(trajectory, backend, domain, reward)


def compare(recorded: Trajectory, other: Trajectory) -> Difference | None:
    """The first difference between two recordings of an episode, `None` when they are identical."""
    start = _differs(0, _start(recorded.reset), _start(other.reset))
    if start is not None:
        return start
    for line, twin in zip(recorded.steps, other.steps, strict=False):
        found = _differs(line.step, {"action": line.action} | _of_line(line), {"action": twin.action} | _of_line(twin))
        if found is not None:
            return found
    lengths = len(recorded.steps), len(other.steps)
    return None if lengths[0] == lengths[1] else Difference(min(lengths) + 1, "steps", *lengths)


def _play(
    trajectory: Trajectory, backend: str | BackendConfig | Backend, domain: Domain | None, reward: str
) -> Difference | None:
    reset = trajectory.reset
    env = AgentWorldEnv(
        domain or reset.domain,
        backend=backend,
        reward=reward,
        max_steps=reset.max_steps,
        control=None if str(backend).startswith("replay:") else _faults_in_code(reset),
    )
    try:
        observation, info = env.reset(seed=reset.seed, options={"task": reset.task})
        actual = {"observation": observation, **_picked(info)}
        found = _failed(0, actual["failure"], reset.failure, info)
        found = found or _differs(0, _start(reset), {key: actual[key] for key in _start(reset)})
        for line in trajectory.steps:
            if found is not None:
                return found
            if env.episode.over:
                return Difference(line.step, "steps", len(trajectory.steps), line.step - 1)
            observation, reward_, terminated, truncated, info = env.step(line.action)
            actual = {"observation": observation, "reward": float(reward_)}
            actual |= {"terminated": terminated, "truncated": truncated, **_picked(info)}
            found = _failed(line.step, actual["failure"], line.failure, info)
            found = found or _differs(line.step, _of_line(line), actual)
        return found
    finally:
        env.close()


def _faults_in_code(reset: ResetLine) -> Control | None:
    """What went wrong on purpose: where an episode is executed again, the same has to go wrong again."""
    control = Control.of(reset.backend.get("control"))
    return None if control is None or control.instructs else control


def _failed(step: int, kind: str | None, recorded: FailureRecord | None, info: Mapping[str, Any]) -> Difference | None:
    """A failure that the recording does not have: it says more than an observation that is missing."""
    known = recorded.kind if recorded else None
    return Difference(step, "failure", known, kind, info["failure"].message) if kind not in (None, known) else None


def _differs(step: int, recorded: Mapping[str, Any], actual: Mapping[str, Any]) -> Difference | None:
    for key, value in recorded.items():
        if actual[key] != value:
            return Difference(step, key, value, actual[key])
    return None


def _start(reset: ResetLine) -> dict[str, Any]:
    """What of a reset is compared."""
    return {
        "observation": reset.observation,
        "admissible_commands": reset.admissible_commands,
        "failure": reset.failure.kind if reset.failure else None,
    }


def _of_line(line: StepLine) -> dict[str, Any]:
    values = {key: getattr(line, key) for key in COMPARED}
    values["failure"] = line.failure.kind if line.failure else None
    return values


def _picked(info: Mapping[str, Any]) -> dict[str, Any]:
    values = {key: info[key] for key in COMPARED if key in info}
    values["failure"] = info["failure"].kind if info["failure"] else None
    return values


@contextmanager
def _alone(trajectory: Trajectory) -> Iterator[Path]:
    """A file with this episode only: of several recordings of one task and seed, the backend would take the first.

    Steps that a fork shares with its parent become its own.
    """
    handle, name = tempfile.mkstemp(suffix=".jsonl")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            for line in (trajectory.reset, *trajectory.steps):
                own = line.model_copy(update={"episode": trajectory.episode})
                file.write(own.model_dump_json(ensure_ascii=True) + "\n")
        yield path
    finally:
        path.unlink()
