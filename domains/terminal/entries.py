"""`Entry`: one thing in a file tree, as JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agentworld_envs.interface import TaskError

MOST_EMBEDDED = 8 * 2**20
"""Bytes of a folder that becomes part of a task."""
MOST_ENTRIES = 5000
"""Files, folders and links of it."""


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


def entries_of(
    source: Path, target: str, *, skip: Callable[[str], bool] | None = None, follow: bool = False
) -> dict[str, Entry]:
    """The files, empty folders and links below a folder of this machine, as they are to lie below `target`.

    Args:
        source: the folder.
        target: absolute path.
        skip: whether to leave something out, by its path below `source`.
        follow: take the file that a link leads to instead of the link.

    Raises:
        TaskError: it holds more than `MOST_EMBEDDED`, something that is no file, folder or link, or something that
            cannot be read; with `follow` also a link that leads to no file of the folder.
    """
    found: dict[str, Entry] = {}
    total = 0
    for path in sorted(source.rglob("*")):
        below = path.relative_to(source).as_posix()
        if skip is not None and skip(below):
            continue
        name = f"{target.rstrip('/')}/{below}"
        if path.is_symlink() and not follow:
            found[name] = link(str(path.readlink()))
        elif path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                found[name] = folder()
        elif path.is_file():
            if path.is_symlink() and not path.resolve().is_relative_to(source.resolve()):
                raise TaskError(f"{source.name}/{below} is a link that leads out of its folder.")
            total += path.stat().st_size
            if total > MOST_EMBEDDED:
                raise TaskError(f"{source} holds more than {MOST_EMBEDDED} bytes, too much for one task.")
            found[name] = read_entry(path)
        elif path.is_symlink():
            raise TaskError(f"{source.name}/{below} is a link that leads to no file of its folder.")
        else:
            raise TaskError(f"{path} is neither a file nor a folder nor a link.")
        if len(found) > MOST_ENTRIES:
            raise TaskError(f"{source} holds more than {MOST_ENTRIES} files, too many for one task.")
    return found


def read_entry(path: Path) -> Entry:
    """A file of this machine.

    Raises:
        TaskError: it is larger than `MOST_EMBEDDED`, or cannot be read.
    """
    try:
        status = path.stat()
        if status.st_size > MOST_EMBEDDED:
            raise TaskError(f"{path} has more than {MOST_EMBEDDED} bytes, too much for one task.")
        data = path.read_bytes()
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror}.") from error
    mode = "755" if status.st_mode & 0o100 else None
    try:
        return file(data.decode(), mode=mode)
    except UnicodeDecodeError:
        return file(data, mode=mode)
