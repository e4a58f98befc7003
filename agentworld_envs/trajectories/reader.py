"""Reading trajectory files: everything that is whole, with a warning for everything that is not."""

from __future__ import annotations

import json
import logging
import os
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from agentworld_envs.interface import ConfigError
from agentworld_envs.trajectories.schema import (
    LINE_TYPES,
    SCHEMA_VERSION,
    AnyLine,
    CloseLine,
    ForkLine,
    ResetLine,
    StepLine,
)

logger = logging.getLogger(__name__)

SQLITE_HEADER = b"SQLite format 3\x00"
MAX_WARNINGS = 10
"""Lines of one file that are complained about one by one."""


@dataclass(slots=True)
class Trajectory:
    """One recorded episode."""

    episode: str
    reset: ResetLine
    steps: list[StepLine] = field(default_factory=list)
    close: CloseLine | None = None
    """`None` when the recording process was killed before it released the episode."""

    @property
    def finished(self) -> bool:
        """Whether the episode reached its end."""
        return bool(self.steps) and (self.steps[-1].terminated or self.steps[-1].truncated)

    @property
    def score(self) -> float:
        """Final score, 0 before the first step."""
        return self.steps[-1].score if self.steps else 0.0

    @property
    def success(self) -> bool:
        return bool(self.steps) and self.steps[-1].success

    @property
    def reward_valid(self) -> bool:
        """Whether the rewards may be learned from."""
        closed_well = self.close is None or self.close.failure is None
        return closed_well and self.reset.failure is None and all(step.reward_valid for step in self.steps)


def read_trajectories(path: str | os.PathLike[str], problems: list[str] | None = None) -> list[Trajectory]:
    """Read every episode of a file, in order of their first lines.

    Args:
        path: a file written with `record=`.
        problems: gets a line for everything that was left out.

    A line that is torn, corrupt or out of sequence is dropped with a warning that says file, line and what was
    expected; steps of the same episode behind a gap are dropped too, since they cannot be replayed.

    Raises:
        ConfigError: the file cannot be read, holds no line of this format, or was written by a newer version.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the trajectory file {path}: {error.strerror}.") from error
    if data.startswith(SQLITE_HEADER):
        raise ConfigError(f"{path} is an SQLite file, perhaps a cassette; expected a trajectory file (JSONL).")
    trajectories: dict[str, Trajectory] = {}
    found: list[str] = []
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        line = parse_line(raw)
        problem = line if isinstance(line, str) else place_line(line, trajectories)
        if problem:
            torn = number == len(lines)  # no newline behind it: the writer was killed
            what = "the last line is torn" if torn else problem
            found.append(f"line {number}: {what}")
            if len(found) <= MAX_WARNINGS:
                logger.warning("%s, line %d: %s; the line is left out.", path, number, what)
    if len(found) > MAX_WARNINGS:
        logger.warning("%s: %d more lines are left out.", path, len(found) - MAX_WARNINGS)
    if not trajectories and found:
        raise ConfigError(f"{path} holds no episode. {found[0][0].upper()}{found[0][1:]}.")
    if problems is not None:
        problems.extend(found)
    return list(trajectories.values())


def parse_line(raw: bytes) -> AnyLine | str:
    """One line of a file, or what is wrong with it.

    Raises:
        ConfigError: it was written by a newer version.
    """
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return "expected one JSON object"
    kind = data.get("type") if isinstance(data, dict) else None
    if kind is None and isinstance(data, dict) and "system_str" in data:
        return "this is a row of AgentWorldBench; make a recording of it: agentworld bench import FILE --out RECORDING"
    if kind not in LINE_TYPES:
        return f"expected an object of type {', '.join(LINE_TYPES)}, got {str(kind)[:40]!r}"
    if kind == "reset" and isinstance(data.get("version"), int) and data["version"] > SCHEMA_VERSION:
        raise ConfigError(
            f"The recording has schema version {data['version']}, this package reads up to {SCHEMA_VERSION}: "
            "upgrade agentworld-envs."
        )
    try:
        return LINE_TYPES[kind].model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        return f"expected a {kind} line, but {'.'.join(map(str, first['loc']))}: {first['msg']}"


def place_line(line: AnyLine, trajectories: dict[str, Trajectory]) -> str:
    """Put a valid line where it belongs; returns what is out of sequence."""
    if isinstance(line, ResetLine):
        trajectories[line.episode] = Trajectory(line.episode, line)
        return ""
    if isinstance(line, ForkLine):
        parent = trajectories.get(line.parent)
        if parent is None or len(parent.steps) < line.step:
            return f"the episode {line.parent} that it continues is not there up to step {line.step}"
        trajectories[line.episode] = Trajectory(line.episode, parent.reset, parent.steps[: line.step])
        return ""
    trajectory = trajectories.get(line.episode)
    if trajectory is None:
        return f"its episode {line.episode} has no reset line"
    if isinstance(line, CloseLine):
        trajectory.close = line
        return ""
    if line.step != len(trajectory.steps) + 1:
        return f"expected step {len(trajectory.steps) + 1} of episode {line.episode}, got step {line.step}"
    trajectory.steps.append(line)
    return ""
