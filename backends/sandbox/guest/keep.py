"""Saving whole folders and restoring them in another sandbox: all that a file is, not only its bytes.

The saved form is a row of records, `u32 length | JSON list`, the bytes of a file after its record. It lies in a file
that the host holds; only another guest ever reads it. Names are looked up one by one below open folders, so that no
depth and no link matters; nothing may change meanwhile, so processes have to be held still.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import struct
from collections.abc import Iterator
from typing import Any, Tuple, Union  # noqa: UP035

from agentworld_envs.backends.sandbox.guest.files import Refused

_LENGTH = struct.Struct("<I")
_CHUNK = 2**24
_ABOUT = 512
"""Bytes of an ordinary record."""
_LONGEST_PATH = 4000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
Piece = Union[bytes, Tuple[int, int, int]]  # noqa: UP006, UP007 - also read by the older Pythons of container images
"""Bytes, or where they are: an open file, the first of them, and how many."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def estimate(folders: list[str]) -> int:
    """About how many bytes `save` will write."""
    total = 0
    for folder in folders:
        try:
            info = os.statvfs(folder)
        except OSError:
            continue
        total += (info.f_blocks - info.f_bfree) * info.f_frsize + (info.f_files - info.f_ffree) * _ABOUT
    return total


def save(folders: list[str], target: int) -> int:
    """Write folders into an open file, from its beginning; gives the number of bytes. Raises OSError."""
    os.lseek(target, 0, os.SEEK_SET)
    total = 0
    for piece in _save(folders):
        if isinstance(piece, bytes):
            view = memoryview(piece)
            while view:
                view = view[os.write(target, view) :]
            total += len(piece)
        else:
            total += _copy(target, None, *piece)
    return total


def _copy(target: int, at: int | None, source: int, offset: int, count: int) -> int:
    """Copy bytes of an open file into another, without holding them."""
    if at is not None:
        os.lseek(target, at, os.SEEK_SET)
    left = count
    while left:
        done = os.sendfile(target, source, offset, min(left, _CHUNK))
        if not done:
            raise Refused("a file became shorter while it was copied")
        offset, left = offset + done, left - done
    return count


def _record(*fields: Any) -> bytes:
    data = json.dumps(fields, separators=(",", ":")).encode()
    return _LENGTH.pack(len(data)) + data


def _save(folders: list[str]) -> Iterator[Piece]:
    first: dict[tuple[int, int], str] = {}
    """Files with several names: where each was seen first."""
    for folder in folders:
        info = os.lstat(folder)
        if not stat.S_ISDIR(info.st_mode):
            continue
        with contextlib.suppress(OSError):  # somebody else's: then it can be read or it cannot
            os.chmod(folder, info.st_mode & 0o7777 | 0o700)
        fd = os.open(folder, _FOLDER)
        try:
            yield _record("root", folder, info.st_mode & 0o7777, info.st_mtime_ns, _notes(fd))
            yield from _save_below(fd, folder, first)
        finally:
            with contextlib.suppress(OSError):
                os.chmod(folder, info.st_mode & 0o7777)
    yield _record("end")


def _save_below(fd: int, path: str, first: dict[tuple[int, int], str]) -> Iterator[Piece]:
    """All below an open folder, which is closed. Not recursive: folders may be nested deeper than Python can go."""
    # A file system in memory lists the newest first. Taken from the end, so that the copy lists them as this does.
    levels = [(os.listdir(fd), "", 0)]
    try:
        while levels:
            names, own, mode = levels[-1]
            if not names:
                levels.pop()
                yield _record("up")
                if levels:
                    above = os.open("..", _FOLDER, dir_fd=fd)
                    os.close(fd)
                    fd = above
                    path = path[: -len(own) - 1]
                    if mode & 0o700 != 0o700:
                        os.chmod(own, mode, dir_fd=fd)
                continue
            name = names.pop()
            info = os.lstat(name, dir_fd=fd)
            if stat.S_ISDIR(info.st_mode):
                mode = info.st_mode & 0o7777
                if mode & 0o700 != 0o700:
                    os.chmod(name, mode | 0o700, dir_fd=fd)
                below = os.open(name, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
                path = f"{path}/{name}"
                yield _record("folder", name, mode, info.st_mtime_ns, _notes(fd))
                levels.append((os.listdir(fd), name, mode))
            else:
                yield from _save_one(fd, name, f"{path}/{name}", info, first)
    finally:
        os.close(fd)


def _save_one(
    fd: int, name: str, path: str, info: os.stat_result, first: dict[tuple[int, int], str]
) -> Iterator[Piece]:
    mode, when = info.st_mode & 0o7777, info.st_mtime_ns
    if info.st_nlink > 1 and len(os.fsencode(path)) < _LONGEST_PATH:
        known = first.setdefault((info.st_dev, info.st_ino), path)
        if known != path:
            yield _record("also", name, known)
            return
    if stat.S_ISLNK(info.st_mode):
        yield _record("link", name, os.readlink(name, dir_fd=fd), when)
    elif stat.S_ISFIFO(info.st_mode) or stat.S_ISSOCK(info.st_mode):
        yield _record("node", name, mode | stat.S_IFMT(info.st_mode), when)
    elif stat.S_ISREG(info.st_mode):
        yield from _save_file(fd, name, mode, info)


def _save_file(fd: int, name: str, mode: int, info: os.stat_result) -> Iterator[Piece]:
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=fd)
    except PermissionError:  # the owner may always have it
        os.chmod(name, mode | 0o400, dir_fd=fd)
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=fd)
        finally:
            os.chmod(name, mode, dir_fd=fd)
    try:
        extents = _extents(file, info.st_size)
        yield _record("file", name, mode, info.st_mtime_ns, info.st_size, extents, _notes(file))
        for start, length in extents:
            yield file, start, length
    finally:
        os.close(file)


def _extents(file: int, size: int) -> list[tuple[int, int]]:
    """Where a file has bytes: a file of 100 GB may be all hole."""
    found = []
    offset = 0
    while offset < size:
        try:
            start = os.lseek(file, offset, os.SEEK_DATA)
        except OSError:  # nothing but a hole from here on
            break
        offset = min(os.lseek(file, start, os.SEEK_HOLE), size)
        found.append((start, offset - start))
    return found


def _notes(fd: int) -> dict[str, str]:
    """The extended attributes that a user may set."""
    try:
        return {name: os.getxattr(fd, name).hex() for name in os.listxattr(fd) if name.startswith("user.")}
    except OSError:  # not every file system has them
        return {}


class _Source:
    """An open file that is read from its beginning to its end."""

    def __init__(self, fd: int, size: int) -> None:
        self._fd = fd
        self._size = size
        self._offset = 0

    def record(self) -> list[Any]:
        """The next record. Raises ValueError."""
        (length,) = _LENGTH.unpack(self._take(_LENGTH.size))
        fields = json.loads(self._take(length))
        if not isinstance(fields, list) or not fields:
            raise ValueError("a record is no list")
        return fields

    def _take(self, count: int) -> bytes:
        if self._offset + count > self._size:
            raise ValueError("it ends too early")
        data = os.pread(self._fd, count, self._offset)
        self._offset += count
        return data

    def copy(self, target: int, at: int, count: int) -> None:
        """Copy the next bytes to a place in another file. Raises ValueError."""
        if count < 0 or self._offset + count > self._size:
            raise ValueError("it ends too early")
        _copy(target, at, self._fd, self._offset, count)
        self._offset += count


def load(fd: int, size: int) -> None:
    """Restore what `save` wrote, in place of what is there. Raises OSError, and Refused when it is something else."""
    try:
        _load(_Source(fd, size))
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, struct.error) as error:
        raise Refused(f"not what was saved: {error!r}") from error


def _load(source: _Source) -> None:
    fd = -1
    levels: list[tuple[str, int, int]] = []
    late: list[tuple[str, int]] = []
    path = ""
    try:
        while True:
            what, *rest = source.record()
            if what == "end":
                break
            if what == "root":
                path, mode, when, notes = rest
                fd = _replace(fd, _emptied(path))
                _set_notes(fd, notes)
                levels = [("", mode, when)]
            elif what == "folder":
                name, mode, when, notes = rest
                os.mkdir(_plain(name), 0o700, dir_fd=fd)
                fd = _replace(fd, os.open(name, _FOLDER, dir_fd=fd))
                _set_notes(fd, notes)
                path = f"{path}/{name}"
                levels.append((name, mode, when))
            elif what == "up":
                name, mode, when = levels.pop()
                fits = len(os.fsencode(path)) < _LONGEST_PATH
                with contextlib.suppress(PermissionError):  # a root that belongs to somebody else
                    os.fchmod(fd, mode | 0o700 if fits else mode)
                    os.utime(fd, ns=(when, when))
                if mode & 0o700 != 0o700 and fits:
                    late.append((path, mode))  # other names of files may have to be found through it
                if levels:
                    fd = _replace(fd, os.open("..", _FOLDER, dir_fd=fd))
                    path = path[: -len(name) - 1]
                else:
                    fd = _replace(fd, -1)
            elif what == "file":
                _load_file(fd, source, *rest)
            else:
                _load_other(fd, what, *rest)
        for path, mode in reversed(late):
            with contextlib.suppress(PermissionError):
                os.chmod(path, mode)
    finally:
        _replace(fd, -1)


def _replace(fd: int, other: int) -> int:
    if fd >= 0:
        os.close(fd)
    return other


def _plain(name: str) -> str:
    if name in ("", ".", "..") or "/" in name:
        raise ValueError(f"{name!r} is no name")
    return name


def _emptied(folder: str) -> int:
    """A folder without anything in it, opened."""
    os.makedirs(folder, exist_ok=True)
    fd = os.open(folder, _FOLDER)
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)
    return fd


def _load_file(
    fd: int, source: _Source, name: str, mode: int, when: int, size: int, extents: Any, notes: dict[str, str]
) -> None:
    file = os.open(_plain(name), _NEW, 0o600, dir_fd=fd)
    try:
        os.ftruncate(file, size)
        for start, length in extents:
            source.copy(file, start, length)
        os.fchmod(file, mode)
        _set_notes(file, notes)
        os.utime(file, ns=(when, when))
    finally:
        os.close(file)


def _load_other(fd: int, what: str, name: str, *rest: Any) -> None:
    if what == "also":
        os.link(rest[0], _plain(name), dst_dir_fd=fd, follow_symlinks=False)
    elif what == "link":
        os.symlink(rest[0], _plain(name), dir_fd=fd)
        os.utime(name, ns=(rest[1], rest[1]), dir_fd=fd, follow_symlinks=False)
    elif what == "node":
        os.mknod(_plain(name), rest[0] & ~0o7777 | 0o600, dir_fd=fd)
        os.chmod(name, rest[0] & 0o7777, dir_fd=fd)
        os.utime(name, ns=(rest[1], rest[1]), dir_fd=fd)
    else:
        raise ValueError(f"no such record: {what!r}")


def _set_notes(fd: int, notes: dict[str, str]) -> None:
    for name, value in notes.items():
        os.setxattr(fd, name, bytes.fromhex(value))
