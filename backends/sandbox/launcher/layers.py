"""Copying and merging frozen layers: what overlays wrote, with their marks for what was deleted.

What is copied was written by the enemy, who may even be alive and change it meanwhile. So nothing here works with the
host's root: a child first makes a root of its own, which holds the layers (read-only) and the new layer, and nothing
else. No link and no `..` leads anywhere else.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import time
from collections.abc import Callable
from typing import NoReturn

from agentworld_envs.backends.sandbox.launcher import syscalls
from agentworld_envs.backends.sandbox.launcher.syscalls import BIND, NODEV, NOSUID, RDONLY
from agentworld_envs.backends.sandbox.launcher.tree import TreeCopy

_COPY_TIMEOUT_S = 60.0
_CHILD_TIMEOUT_MS = 75_000
_MOST_TEXT = 1000
_NEW = "/new"
_VIEW = "/view"


def copy(source: str, target: str, box: str, owner: int) -> Working:
    """Begin to copy a folder with owners, times, links, attributes and marks.

    Args:
        source: the folder.
        target: the folder that has the empty folder `upper`, in which the copy is made.
        box: an empty folder to build the child's root on.
        owner: pidfd of the one for whom this is done; it is given up when that one is gone.

    Raises:
        OSError: no child can be made.
    """
    return Working([source], target, box, owner, lambda layers: _copy(layers[0]))


def merge(sources: list[str], target: str, box: str, owner: int, user_xattr: bool) -> Working:
    """Begin to make one layer that looks like many stacked ones.

    The kernel merges them in a view of its own. That view forgets which files of the root file system below they
    hide, so the marks are made again.

    Args:
        sources: at least two folders, the newest first.
        target: as for `copy`.
        box: as for `copy`.
        owner: as for `copy`.
        user_xattr: as for `rootfs.assemble`.

    Raises:
        OSError: as for `copy`.
    """
    return Working(sources, target, box, owner, lambda layers: _merge(layers, user_xattr))


class Working:
    """A child that makes a layer and sees nothing but what it needs for that."""

    def __init__(
        self, sources: list[str], target: str, box: str, owner: int, work: Callable[[list[str]], None]
    ) -> None:
        """Start it. `wait` has to be called. Raises OSError."""
        self._owner = owner
        self._told, tell = os.pipe()
        try:
            self._child = os.fork()
            if self._child == 0:
                os.close(self._told)
                _in_child(sources, target, box, work, tell)
        except BaseException:
            os.close(self._told)
            raise
        finally:
            os.close(tell)

    def wait(self) -> None:
        """Wait for the layer.

        Raises:
            OSError: it cannot be made, e.g. because it changes meanwhile or there is no room, or the owner is gone.
        """
        fd = os.pidfd_open(self._child)
        try:
            waiting = select.poll()
            for one in (fd, self._owner):
                waiting.register(one, select.POLLIN)
            late = fd not in dict(waiting.poll(_CHILD_TIMEOUT_MS))
            if late:
                os.kill(self._child, signal.SIGKILL)
            _, status = os.waitpid(self._child, 0)
            os.set_blocking(self._told, False)
            number, _, text = _read(self._told).partition(":")
        finally:
            os.close(fd)
            os.close(self._told)
        if late or status != 0:
            raise OSError(int(number or 5), text or "the copy of a layer did not end")


def _read(fd: int) -> str:
    try:
        return os.read(fd, _MOST_TEXT).decode("utf-8", "replace")
    except BlockingIOError:
        return ""


def _in_child(sources: list[str], target: str, box: str, work: Callable[[list[str]], None], tell: int) -> NoReturn:
    try:
        syscalls.die_with_parent()
        syscalls.unshare(syscalls.NEWNS)
        work(_enter_box(sources, target, box))
    except BaseException as error:  # noqa: BLE001 - a forked child may not return into the zygote's code
        number = getattr(error, "errno", None) or 5
        with contextlib.suppress(OSError):
            os.write(tell, f"{number}:{type(error).__name__}: {error}".encode("utf-8", "replace")[:_MOST_TEXT])
        os._exit(1)
    os._exit(0)


def _enter_box(sources: list[str], target: str, box: str) -> list[str]:
    """Leave the host's root for good. Gives where the sources are now."""
    syscalls.mount("tmpfs", box, "tmpfs", NOSUID | NODEV, "size=64k,nr_inodes=256,mode=755")
    layers = [f"/layer{index}" for index in range(len(sources))]
    for source, layer in zip(sources, layers, strict=True):
        os.mkdir(box + layer)
        syscalls.mount(source, box + layer, None, BIND)
        syscalls.make_read_only(box + layer)
    for folder in (_NEW, _VIEW):
        os.mkdir(box + folder)
    syscalls.mount(target, box + _NEW, None, BIND)
    syscalls.pivot_root(box)
    syscalls.make_read_only("/")
    return layers


def _copy(source: str) -> None:
    links = f"{_NEW}/links"
    os.mkdir(links)
    TreeCopy(links, time.monotonic() + _COPY_TIMEOUT_S).copy(source, f"{_NEW}/upper")
    os.rmdir(links)


def _merge(layers: list[str], user_xattr: bool) -> None:
    options = "lowerdir=" + ":".join(layers) + (",userxattr" if user_xattr else "")
    syscalls.mount("overlay", _VIEW, "overlay", RDONLY | NOSUID | NODEV, options)
    target = f"{_NEW}/upper"
    _copy(_VIEW)
    opaque = "user.overlay.opaque" if user_xattr else "trusted.overlay.opaque"
    for layer in layers:
        for folder, folders, files in os.walk(layer):
            copied = os.path.join(target, os.path.relpath(folder, layer))
            if not os.path.isdir(copied) or os.path.islink(copied):
                folders.clear()  # a newer layer has something else there
                continue
            if _is_marked(folder, opaque):
                os.setxattr(copied, opaque, b"y")
            for name in files:
                if _is_whiteout(os.path.join(folder, name)) and not os.path.lexists(f"{copied}/{name}"):
                    os.mknod(f"{copied}/{name}", stat.S_IFCHR)


def _is_marked(folder: str, name: str) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(folder, name) == b"y"
    return False


def _is_whiteout(path: str) -> bool:
    found = os.lstat(path)
    return stat.S_ISCHR(found.st_mode) and found.st_rdev == 0
