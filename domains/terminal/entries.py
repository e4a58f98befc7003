"""`Entry`: one thing in a file tree, as JSON."""

from __future__ import annotations

import base64
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentworld_envs.interface import TaskError

MOST_EMBEDDED = 8 * 2**20
"""Bytes of a folder that becomes part of a task."""


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


def entries_of(source: Path, target: str) -> dict[str, Entry]:
    """The files, empty folders and links below a folder of this machine, as they are to lie below `target`.

    Raises:
        TaskError: it holds more than `MOST_EMBEDDED`, or something that is no file, folder or link.
    """
    found: dict[str, Entry] = {}
    total = 0
    for path in sorted(source.rglob("*")):
        name = f"{target.rstrip('/')}/{path.relative_to(source).as_posix()}"
        if path.is_symlink():
            found[name] = link(str(path.readlink()))
        elif path.is_dir():
            if not any(path.iterdir()):
                found[name] = folder()
        elif path.is_file():
            total += path.stat().st_size
            if total > MOST_EMBEDDED:
                raise TaskError(f"{source} holds more than {MOST_EMBEDDED} bytes, too much for one task.")
            found[name] = _read(path)
        else:
            raise TaskError(f"{path} is neither a file nor a folder nor a link.")
    return found


def _read(path: Path) -> Entry:
    data = path.read_bytes()
    mode = "755" if path.stat().st_mode & 0o100 else None
    try:
        return file(data.decode(), mode=mode)
    except UnicodeDecodeError:
        return file(data, mode=mode)
