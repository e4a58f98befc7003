"""`Scenario`: what one family of tasks makes of a generator and a level; `InitialState`: how an episode starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentworld_envs.domains.terminal.checks import Check
from agentworld_envs.domains.terminal.entries import Entry, file, folder, link

WORKSPACE = "/workspace"
"""Where the agent starts, and where all files of generated tasks are."""
WRITABLE = ("/workspace", "/home/agent", "/tmp", "/var/tmp", "/app", "/logs", "/tests")
"""Folders that can be written to. The last three are where tasks of Harbor and Terminal-Bench have their things."""
SETUP_EPOCH = 1_715_679_000
"""Time stamp of everything that is there before the agent comes: 2024-05-14 09:30:00 UTC."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One task, as its family made it."""

    instruction: str
    """What the agent is asked, complete: paths, formats, names of the files to write."""
    files: Mapping[str, Entry]
    """Absolute path -> what is there at the start. Below `/workspace` or `/home/agent`."""
    checks: Sequence[Check]
    """What has to hold at the end, all of it. At least one does not hold at the start."""
    solution: Sequence[str]
    """Commands that solve it from the start; each may have several lines."""
    setup: Sequence[str] = ()
    """Shell commands that complete the start (`git init` ...), run one after the other in `/workspace`; deterministic:
    no clock, no random numbers. Time stamps are set to `SETUP_EPOCH` afterwards, git's dates too."""
    services: Sequence[str] = ()
    """Shell commands of processes that run in the background from the start."""
    ready: Sequence[str] = ()
    """Files that the services have written something into once they are up; the agent comes only then."""
    needs: Sequence[str] = ()
    """Programs beyond the usual ones (bash, coreutils, findutils, grep, sed, awk, tar, gzip, python3)."""
    max_steps: int = 40


class InitialState(BaseModel):
    """`Task.initial_state` of this domain: builds the sandbox, and is what a simulator may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: dict[str, Entry] = Field(default_factory=dict)
    setup: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    cwd: str = WORKSPACE
    """Where the agent starts; made if it is not there."""
    folders: tuple[str, ...] = ()
    """More folders that are made."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables that are set in the shell at the start."""

    @model_validator(mode="after")
    def _absolute(self) -> InitialState:
        for path in self.files:
            if not path.startswith("/") or "/../" in f"{path}/" or "\0" in path:
                raise ValueError(f"paths have to be absolute and plain, got {path!r}")
        return self


Level = Literal[1, 2, 3]
"""Difficulty; each family says what it means."""

__all__ = [
    "SETUP_EPOCH",
    "WORKSPACE",
    "WRITABLE",
    "Entry",
    "InitialState",
    "Level",
    "Scenario",
    "file",
    "folder",
    "link",
]
