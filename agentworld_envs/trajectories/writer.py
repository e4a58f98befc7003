"""`TrajectoryWriter`: appends episodes to a JSONL file, one whole line per system call."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentworld_envs.interface import Action, ConfigError, Failure, Transition, Usage
from agentworld_envs.parsing import MAX_ACTION_CHARS
from agentworld_envs.trajectories.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from agentworld_envs.episode import Episode, StepResult


class TrajectoryWriter:
    """Writes the lines of `agentworld_envs.trajectories.schema`.

    Every line is one `write` on a descriptor opened with `O_APPEND`: a kill loses at most the line being written, and
    several environments, also in several processes, may share a file. A line torn by an earlier kill is closed with a
    newline first, so that it cannot swallow the next one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open (and create, with its folder) the file at `path`.

        Raises:
            ConfigError: the file cannot be written.
        """
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigError(f"Cannot record to {self.path}: {error.strerror}. Expected a writable file.") from error
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

    def reset(self, episode: Episode, *, backend: dict[str, Any], reward: str) -> None:
        """Write the start of `episode` and give it its name."""
        info = episode.info(at_reset=True)
        episode.record_id = uuid.uuid4().hex
        self._write(
            {
                "type": "reset",
                "episode": episode.record_id,
                "version": SCHEMA_VERSION,
                "domain": episode.task.domain,
                "backend": backend,
                "reward": reward,
                "task": episode.task.model_dump(mode="json"),
                "seed": episode.seed,
                "max_steps": episode.max_steps,
                "observation": episode.observation,
                "instructions": info["instructions"],
                "tools": info["tools"],
                "admissible_commands": info["admissible_commands"],
                "failure": _failure(info["failure"]),
            }
        )

    def step(
        self,
        episode: Episode,
        text: Any,
        action: Action | None,
        transition: Transition | None,
        result: StepResult,
    ) -> None:
        """Write one step; before the first one of a fork, that it continues another episode."""
        info = result.info
        if episode.record_id is None and episode.origin is not None:
            parent, step = episode.origin
            episode.record_id = uuid.uuid4().hex
            self._write({"type": "fork", "episode": episode.record_id, "parent": parent, "step": step})
        self._write(
            {
                "type": "step",
                "episode": episode.record_id,
                "step": info["step"],
                "action": str(text)[: MAX_ACTION_CHARS + 1],
                "tool": action.tool if action is not None else "",
                "arguments": dict(action.arguments) if action is not None else {},
                "command": info["command"],
                "observation": result.observation,
                "reward": result.reward,
                "terminated": result.terminated,
                "truncated": result.truncated,
                "source": info["source"],
                "action_valid": info["action_valid"],
                "admissible_commands": info["admissible_commands"],
                "score": info["score"],
                "success": info["success"],
                "reward_valid": info["reward_valid"],
                "failure": _failure(info["failure"]),
                "usage": _usage(episode, info["step"]),
                "flags": dict(transition.flags) if transition is not None else {},
            }
        )

    def close_episode(self, episode: Episode) -> None:
        """Write that `episode` was released. A second call writes nothing."""
        if episode.record_id is None:
            return
        self._write(
            {
                "type": "close",
                "episode": episode.record_id,
                "steps": episode.step_count,
                "score": episode.score,
                "success": episode.success,
                "terminated": episode.terminated,
                "truncated": episode.truncated,
                "reward_valid": episode.reward_valid,
                "failure": _failure(episode.failure),
            }
        )
        episode.record_id = None

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _write(self, line: dict[str, Any]) -> None:
        if self._fd is None:
            raise ConfigError(f"The recording {self.path} is closed; make a new environment to go on recording.")
        # ASCII escapes keep lone surrogates and U+2028 (both may come from an agent) inside one valid line.
        data = memoryview(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        try:
            while data:  # a signal or a full disk may cut a write short
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            raise ConfigError(f"Cannot go on recording to {self.path}: {error.strerror}.") from error


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    return None if failure is None else failure._asdict()


def _usage(episode: Episode, step: int) -> dict[str, Any]:
    """The ledger's lines of one step, zero fields left out."""
    lines: dict[str, Usage] = {}
    for entry in reversed(episode.ledger.entries):
        if entry.step != step:
            break
        lines.setdefault(entry.line, Usage()).add(entry.usage)
    return {line: {name: value for name, value in asdict(usage).items() if value} for line, usage in lines.items()}
