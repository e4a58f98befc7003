"""`Scenario`: what one family of tasks makes of a generator and a level; `Entry`: one thing in its file tree."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentworld_envs.domains.terminal.checks import Check

WORKSPACE = "/workspace"
"""Where the agent starts, and where all files of generated tasks are."""
SETUP_EPOCH = 1_715_679_000
"""Time stamp of everything that is there before the agent comes: 2024-05-14 09:30:00 UTC."""


class Entry(BaseModel):
    """One thing in a file tree. Exactly one of `text`, `base64`, `link` and `folder` says what it is."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str | None = None
    """Contents of a file, in UTF-8."""
    base64: str | None = None
    """Contents of a file that is no text."""
    link: str | None = None
    """Where a symbolic link points."""
    folder: bool = False
    """An empty folder (folders of files need no entry of their own, unless their mode matters)."""
    mode: str | None = Field(default=None, pattern=r"^[0-7]{3,4}$")
    """Octal permissions; `644` for files and `755` for folders when not given."""
    mtime: int | None = None
    """Time stamp in seconds since 1970; `SETUP_EPOCH` when not given."""

    @model_validator(mode="after")
    def _one_kind(self) -> Entry:
        given = [self.text is not None, self.base64 is not None, self.link is not None, self.folder]
        if sum(given) != 1:
            raise ValueError("expected exactly one of text, base64, link and folder")
        return self

    @property
    def data(self) -> bytes | None:
        """Contents of a file, `None` for anything else."""
        if self.text is not None:
            return self.text.encode("utf-8", "surrogateescape")
        return base64.b64decode(self.base64) if self.base64 is not None else None


def file(text: str | bytes, *, mode: str | None = None, mtime: int | None = None) -> Entry:
    """A file with these contents."""
    if isinstance(text, bytes):
        return Entry(base64=base64.b64encode(text).decode(), mode=mode, mtime=mtime)
    return Entry(text=text, mode=mode, mtime=mtime)


def folder(*, mode: str | None = None) -> Entry:
    """An empty folder, or one whose mode matters."""
    return Entry(folder=True, mode=mode)


def link(target: str) -> Entry:
    """A symbolic link."""
    return Entry(link=target)


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
    needs: Sequence[str] = ()
    """Programs beyond the usual ones (bash, coreutils, findutils, grep, sed, awk, tar, gzip, python3)."""
    max_steps: int = 40


class InitialState(BaseModel):
    """`Task.initial_state` of this domain: builds the sandbox, and is what a simulator may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: dict[str, Entry] = Field(default_factory=dict)
    setup: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    cwd: str = WORKSPACE
    folder: str | None = None
    """A folder of this machine that is copied into `cwd` before `files`; only tasks read from disk have one."""

    @model_validator(mode="after")
    def _absolute(self) -> InitialState:
        for path in self.files:
            if not path.startswith("/") or "/../" in f"{path}/" or "\0" in path:
                raise ValueError(f"paths have to be absolute and plain, got {path!r}")
        return self


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of task."""

    name: str
    build: Any = field(repr=False)
    """`build(rng: numpy.random.Generator, level: Literal[1, 2, 3]) -> Scenario`, a pure function of both."""


Level = Literal[1, 2, 3]
