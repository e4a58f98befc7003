"""Copying folders to and from a sandbox. The archive that comes back was written by the enemy."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Self

from agentworld_envs.interface import SandboxRefused

_NOTES = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_MOST_NOTES = 2**14
"""Bytes; two of the longest paths fit."""
_MOST_NAMES = 100_000
_ITS_NAME = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
"""What is wrong with one name only."""


def pack(source: Path, limit: int) -> bytes:
    """The contents of a folder as a tar: files, folders, and links that stay inside. Raises SandboxRefused."""
    if not source.is_dir():
        raise SandboxRefused(f"{source} is not a folder of this machine.")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder, folders, files in os.walk(source):
            folders.sort()
            for name in sorted(folders + files):
                path = Path(folder, name)
                archive.inodes.clear()  # type: ignore[attr-defined]  # every file for itself: hard links are slow to read
                info = archive.gettarinfo(path, str(path.relative_to(source)))
                if info is None or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
                    continue
                if info.issym() and not _stays_inside(PurePosixPath(info.name), info.linkname):
                    continue
                info.uid = info.gid = 0
                info.uname = info.gname = ""
                if buffer.tell() + info.size > limit:
                    raise SandboxRefused(f"{source} holds more than the {limit} bytes that are copied.")
                if info.isreg():
                    with path.open("rb") as file:
                        archive.addfile(info, file)
                else:
                    archive.addfile(info)
    return buffer.getvalue()


class _Header(tarfile.TarInfo):
    """A header of an archive that may be a bomb."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """Read one. Raises ValueError for what no honest archive has: notes of a size that would fill the memory, or
        notes on all members, which would be copied for each."""
        header = super().frombuf(buf, encoding, errors)
        if header.type == tarfile.XGLTYPE or (header.type in _NOTES and header.size > _MOST_NOTES):
            raise ValueError(f"notes of {header.size} bytes")
        return header


def unpack(data: bytes, target: Path, limit: int) -> list[str]:
    """Unpack into a new or empty folder, and nowhere else, whatever the archive says.

    Only plain files and folders are written, each by a name that was checked and only into folders that were made
    here: never through a link. Links are made last, and only those that stay inside. Nothing is set-user-id, nothing is
    owned by others; hard links are left out.

    Returns:
        The names that were left out.

    Raises:
        SandboxRefused: the folder is not empty, the archive is broken, it holds too many names, its files hold more
            than `limit` bytes, or this machine cannot write them.
    """
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise SandboxRefused(f"{target} is not empty; give a new folder.")
    copy = _Copy(target, limit)
    links: list[tuple[PurePosixPath, str]] = []
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", tarinfo=_Header) as archive:
            for count, info in enumerate(archive):
                if count >= _MOST_NAMES:
                    raise SandboxRefused(f"The sandbox sent more than {_MOST_NAMES} names.")
                info.pax_headers = {}  # the archive keeps all that it has read
                if info.issym():
                    links.append((PurePosixPath(info.name), info.linkname))
                else:
                    copy.add(archive, info)
        for name, goal in links:
            copy.link(name, goal)
    except SandboxRefused:  # is an OSError
        raise
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise SandboxRefused(f"What the sandbox sent is no archive: {error}") from error
    except OSError as error:
        raise SandboxRefused(f"What the sandbox sent cannot be written: {error}") from error
    return copy.left_out


class _Copy:
    """A folder of this machine that is being filled."""

    def __init__(self, target: Path, limit: int) -> None:
        self.left_out: list[str] = []
        self._target = target
        self._limit = limit
        self._folders = {PurePosixPath()}
        """Those that were made here and are no links."""

    def add(self, archive: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        """Write a file or a folder, or leave it out."""
        name = PurePosixPath(info.name)
        with self._or_leave_out(info.name):
            if not _is_plain(name):
                raise FileExistsError
            if info.isdir():
                self._make_folder(name)
            elif info.isreg() and not info.issparse():
                self._write(archive, info, name)
            else:
                raise FileExistsError

    def link(self, name: PurePosixPath, goal: str) -> None:
        """Make a symbolic link, or leave it out."""
        with self._or_leave_out(str(name)):
            if not _is_plain(name) or not _stays_inside(name, goal):
                raise FileExistsError
            self._make_folder(name.parent)
            (self._target / name).symlink_to(goal)

    @contextlib.contextmanager
    def _or_leave_out(self, name: str) -> Iterator[None]:
        try:
            yield
        except SandboxRefused:
            raise
        except OSError as error:
            if not isinstance(error, FileExistsError) and error.errno not in _ITS_NAME:
                raise
            self.left_out.append(name)

    def _make_folder(self, name: PurePosixPath) -> None:
        """Make a folder and those above it. Raises FileExistsError where something else has the name."""
        for folder in (*reversed(name.parents), name):
            if folder not in self._folders:
                (self._target / folder).mkdir()
                self._folders.add(folder)

    def _write(self, archive: tarfile.TarFile, info: tarfile.TarInfo, name: PurePosixPath) -> None:
        if info.size > self._limit:
            raise SandboxRefused("The files hold more bytes than may be copied.")
        self._make_folder(name.parent)
        content = archive.extractfile(info)
        data = content.read(info.size) if content is not None else b""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(self._target / name, flags, info.mode & 0o777 | 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        self._limit -= len(data)


def _is_plain(name: PurePosixPath) -> bool:
    return not name.is_absolute() and ".." not in name.parts and bool(name.parts) and "\0" not in str(name)


def _stays_inside(name: PurePosixPath, goal: str) -> bool:
    """Whether a link at `name` leads to a place below the root of the copy. Only by the look of it: the folders above
    it are no links, so that the `..` at the beginning mean what they say. After them only names may follow, of which
    each may be a link that was judged in the same way; a `..` behind such a link could lead anywhere."""
    if not goal or goal.startswith("/") or "\0" in goal:
        return False
    parts = PurePosixPath(goal).parts
    ups = len(list(itertools.takewhile(lambda part: part == "..", parts)))
    return ups < len(name.parts) and ".." not in parts[ups:]
