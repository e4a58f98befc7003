"""`TreeCopy`: copies a tree of files that the enemy wrote, as exactly as an overlay needs it.

No name is ever looked up by a path, and no link is followed: from one open folder to the next, each checked after it
was opened. So a tree that changes meanwhile may give a wrong copy or an error, but nothing from outside of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from typing import NamedTuple

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MOST_AT_ONCE = 2**30
_BLOCK = 512


class _Level(NamedTuple):
    """A folder on the way down."""

    found: os.stat_result
    names: list[str]
    """Entries that are still to be copied, the next one last."""


class TreeCopy:
    """One copy. Needs an empty folder besides the target, on the same file system, for files with several names."""

    def __init__(self, links: str, deadline: float) -> None:
        """Copies nothing yet.

        Args:
            links: the empty folder; empty again afterwards.
            deadline: when to give up (`time.monotonic`).
        """
        self._links = links
        self._linked: set[str] = set()
        self._deadline = deadline
        self._newest_first = _lists_newest_first(links)

    def copy(self, source: str, target: str) -> None:
        """Copy a folder: contents, owners, rights, times, links, attributes, holes and the marks of overlays.

        Entries are made in such an order that they are listed as those of the source are.

        Args:
            source: an existing folder.
            target: an empty folder.

        Raises:
            OSError: it changes meanwhile, has devices in it, does not fit, or takes too long.
        """
        here = os.open(source, _FLAGS | os.O_DIRECTORY)
        there = os.open(target, _FLAGS | os.O_DIRECTORY)
        try:
            levels = [_Level(os.fstat(here), self._names(here))]
            while True:
                if levels[-1].names:
                    name = levels[-1].names.pop()
                    below = self._entry(here, there, name)
                    if below is not None:
                        here, there = _replace(here, below[0]), _replace(there, below[1])
                        levels.append(_Level(os.fstat(here), self._names(here)))
                    continue
                done = levels.pop()
                _dress(here, there, done.found)
                if not levels:
                    break
                here, there = _replace(here, _up(here)), _replace(there, _up(there))
                if not os.path.samestat(os.fstat(here), levels[-1].found):
                    raise OSError(errno.EBUSY, "a folder was moved while it was copied")
        finally:
            os.close(here)
            os.close(there)
            for key in self._linked:
                os.unlink(f"{self._links}/{key}")

    def _names(self, folder: int) -> list[str]:
        if time.monotonic() > self._deadline:
            raise OSError(errno.ETIMEDOUT, "it takes too long")
        names = os.listdir(folder)
        return names if self._newest_first else names[::-1]

    def _entry(self, here: int, there: int, name: str) -> tuple[int, int] | None:
        """Copy one entry; for a folder, which is only made, gives it open on both sides."""
        found = os.stat(name, dir_fd=here, follow_symlinks=False)
        kind = stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFDIR:
            os.mkdir(name, 0o700, dir_fd=there)
            return _both(here, there, name)
        key = f"{found.st_dev}-{found.st_ino}"  # a stack of layers has many devices
        if found.st_nlink > 1 and key in self._linked:
            os.link(f"{self._links}/{key}", name, dst_dir_fd=there, follow_symlinks=False)
            return None
        if kind == stat.S_IFREG:
            self._file(here, there, name)
        elif kind == stat.S_IFLNK:
            os.symlink(os.readlink(name, dir_fd=here), name, dir_fd=there)
            _dress_name(there, name, found)
        elif kind in (stat.S_IFIFO, stat.S_IFSOCK) or (kind == stat.S_IFCHR and found.st_rdev == 0):
            os.mknod(name, found.st_mode, 0, dir_fd=there)
            _dress_name(there, name, found)
        else:
            raise OSError(errno.EPERM, "there is a device in it")
        if found.st_nlink > 1:
            os.link(name, f"{self._links}/{key}", src_dir_fd=there, follow_symlinks=False)
            self._linked.add(key)
        return None

    def _file(self, here: int, there: int, name: str) -> None:
        source = os.open(name, _FLAGS, dir_fd=here)
        try:
            found = os.fstat(source)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EBUSY, "a file was replaced while it was copied")
            target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=there)
            try:
                _contents(source, target, found)
                _dress(source, target, found)
            finally:
                os.close(target)
        finally:
            os.close(source)


def _lists_newest_first(folder: str) -> bool:
    """How this kernel orders the entries of a folder in memory."""
    names = ["first", "second"]
    for name in names:
        os.mkdir(f"{folder}/{name}")
    listed = os.listdir(folder)
    for name in names:
        os.rmdir(f"{folder}/{name}")
    return listed != names


def _both(here: int, there: int, name: str) -> tuple[int, int]:
    source = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=here)
    try:
        return source, os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=there)
    except BaseException:
        os.close(source)
        raise


def _up(folder: int) -> int:
    return os.open("..", _FLAGS | os.O_DIRECTORY, dir_fd=folder)


def _replace(old: int, new: int) -> int:
    os.close(old)
    return new


def _contents(source: int, target: int, found: os.stat_result) -> None:
    """Copy what a file had when it was opened, without a way through this process's memory."""
    size = found.st_size
    if found.st_blocks * _BLOCK >= size:
        _range(source, target, 0, size)
        return
    start = 0
    while start < size:
        try:
            start = os.lseek(source, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                break
            raise
        end = min(os.lseek(source, start, os.SEEK_HOLE), size)
        os.lseek(target, start, os.SEEK_SET)
        _range(source, target, start, end)
        start = end
    os.ftruncate(target, size)


def _range(source: int, target: int, start: int, end: int) -> None:
    while start < end:
        moved = os.sendfile(target, source, start, min(end - start, _MOST_AT_ONCE))
        if not moved:  # it was made shorter meanwhile
            return
        start += moved


def _dress(source: int, target: int, found: os.stat_result) -> None:
    """Give an open file or folder all that the other has besides contents."""
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(target, found.st_uid, found.st_gid)
    os.fchmod(target, stat.S_IMODE(found.st_mode))
    for name in os.listxattr(source):
        with contextlib.suppress(FileNotFoundError):  # it was removed meanwhile
            os.setxattr(target, name, os.getxattr(source, name))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _dress_name(folder: int, name: str, found: os.stat_result) -> None:
    """The same for what cannot be opened. It has no attributes that an overlay would need."""
    if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
        os.chown(name, found.st_uid, found.st_gid, dir_fd=folder, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        os.chmod(name, stat.S_IMODE(found.st_mode), dir_fd=folder)
    os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=folder, follow_symlinks=False)
