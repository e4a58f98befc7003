"""`scan_trajectories`: files that are larger than the memory, one episode at a time, in any order."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentworld_envs.interface import ConfigError
from agentworld_envs.trajectories.reader import Trajectory, parse_line, place_line
from agentworld_envs.trajectories.schema import CloseLine, ForkLine, ResetLine


@dataclass(frozen=True, slots=True)
class Located:
    """Where the lines of an episode stand."""

    path: Path
    episode: str
    offsets: array[int]
    """Bytes before each of its lines, in order."""

    def load(self) -> Trajectory:
        """Read the episode.

        Raises:
            ConfigError: the file cannot be read, or is not what was scanned.
        """
        trajectories: dict[str, Trajectory] = {}
        try:
            with self.path.open("rb") as file:
                for offset in self.offsets:
                    file.seek(offset)
                    line = parse_line(file.readline())
                    if isinstance(line, str) or line.episode != self.episode or place_line(line, trajectories):
                        raise ConfigError(f"{self.path} was changed while it was read; expected one writer at a time.")
        except OSError as error:
            raise ConfigError(f"Cannot read the trajectory file {self.path}: {error.strerror}.") from error
        return trajectories[self.episode]


def scan_trajectories(
    path: str | os.PathLike[str], problems: list[str] | None = None
) -> Iterator[tuple[Trajectory, Located]]:
    """Every episode of a file as it is closed, then those that never were; only open ones are held in memory.

    Args:
        path: a file written with `record=`, of episodes that were not forked.
        problems: gets a line for everything that was left out, as of `read_trajectories`; forks are left out, too.

    Raises:
        ConfigError: the file cannot be read, or was written by a newer version.
    """
    path = Path(path)
    trajectories: dict[str, Trajectory] = {}
    offsets: dict[str, array[int]] = {}
    found = problems if problems is not None else []
    try:
        with path.open("rb") as file:
            start = 0
            for number, raw in enumerate(file, start=1):
                here, start = start, start + len(raw)
                if not raw.strip():
                    continue
                line = parse_line(raw)
                if isinstance(line, ForkLine):
                    problem = "a fork needs its parent's lines, which are not kept: use read_trajectories"
                else:
                    problem = line if isinstance(line, str) else place_line(line, trajectories)
                if isinstance(line, str) or problem:
                    found.append(f"line {number}: {problem}")
                    continue
                if isinstance(line, ResetLine) or line.episode not in offsets:
                    offsets[line.episode] = array("q")
                offsets[line.episode].append(here)
                if isinstance(line, CloseLine):
                    yield _closed(path, line.episode, trajectories, offsets)
    except OSError as error:
        raise ConfigError(f"Cannot read the trajectory file {path}: {error.strerror}.") from error
    for episode in list(trajectories):
        yield _closed(path, episode, trajectories, offsets)


def _closed(
    path: Path, episode: str, trajectories: dict[str, Trajectory], offsets: dict[str, array[int]]
) -> tuple[Trajectory, Located]:
    return trajectories.pop(episode), Located(path, episode, offsets.pop(episode))
