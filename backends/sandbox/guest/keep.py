"""Saving whole folders and restoring them in another sandbox: all that a file is, not only its bytes.

The saved form is a row of records, `u32 length | JSON list`, the bytes of a file after its record. Only another guest
ever reads it. Names are looked up one by one below open folders, so that no depth and no link matters; nothing may
change meanwhile, so processes have to be held still.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import struct
from collections.abc import Iterator
from typing import Any

from agentworld_envs.backends.sandbox.guest.files import Refused

_LENGTH = struct.Struct("<I")
_CHUNK = 2**20
_LONGEST_PATH = 4000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Saver:
    """Gives folders as bytes, piece by piece, so that no more than a piece is ever held."""

    def __init__(self, folders: list[str]) -> None:
        self._pieces = _save(folders)
        self._rest = bytearray()

    def next(self, size: int) -> tuple[bytes, bool]:
        """The next `size` bytes, and whether there are more. Raises OSError when a file cannot be read."""
        for piece in self._pieces:
            self._rest += piece
            if len(self._rest) > size:
                break
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data, bool(self._rest)


def _record(*fields: Any) -> bytes:
    data = json.dumps(fields, separators=(",", ":")).encode()
    return _LENGTH.pack(len(data)) + data


def _save(folders: list[str]) -> Iterator[bytes]:
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


def _save_below(fd: int, path: str, first: dict[tuple[int, int], str]) -> Iterator[bytes]:
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
) -> Iterator[bytes]:
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


def _save_file(fd: int, name: str, mode: int, info: os.stat_result) -> Iterator[bytes]:
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
            for offset in range(start, start + length, _CHUNK):
                want = min(_CHUNK, start + length - offset)
                yield os.pread(file, want, offset).ljust(want, b"\0")
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


class Loader:
    """Takes what a `Saver` gave, in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._steps = self._load()
        self._wanted = next(self._steps)
        self.done = False

    def feed(self, data: bytes) -> None:
        """Restore what is complete now. Raises OSError, and Refused when this is not what was saved."""
        self._buffer += data
        start = 0
        try:
            while not self.done and len(self._buffer) - start >= self._wanted:
                piece = bytes(self._buffer[start : start + self._wanted])
                start += self._wanted
                self._wanted = self._steps.send(piece)
        except StopIteration:
            self.done = True
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise Refused(f"not what was saved: {error!r}") from error
        del self._buffer[:start]

    def close(self) -> None:
        """Give up."""
        self._steps.close()

    def _load(self) -> Any:
        """A generator that yields how many bytes it wants next, and is sent them."""
        fd = -1
        levels: list[tuple[str, int, int]] = []
        late: list[tuple[str, int]] = []
        path = ""
        try:
            while True:
                (length,) = _LENGTH.unpack((yield _LENGTH.size))
                what, *rest = json.loads((yield length))
                if what == "end":
                    break
                if what == "root":
                    path, mode, when, notes = rest
                    fd = _emptied(path)
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
                    yield from _load_file(fd, *rest)
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


def _load_file(fd: int, name: str, mode: int, when: int, size: int, extents: Any, notes: Any) -> Any:
    file = os.open(_plain(name), _NEW, 0o600, dir_fd=fd)
    try:
        os.ftruncate(file, size)
        for start, length in extents:
            for offset in range(start, start + length, _CHUNK):
                view = memoryview((yield min(_CHUNK, start + length - offset)))
                while view:
                    count = os.pwrite(file, view, offset)
                    view, offset = view[count:], offset + count
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
