"""Copying and merging frozen layers: what overlays wrote, with their marks for what was deleted."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess

from agentworld_envs.backends.sandbox.launcher import syscalls

_COPY_TIMEOUT_S = 60.0


def copy(source: str, target: str) -> None:
    """Copy a folder with owners, times, links, attributes and marks. Raises OSError."""
    program = shutil.which("cp", path="/usr/bin:/bin")
    if program is None:
        raise FileNotFoundError(2, "cp is needed to copy a layer", "cp")
    try:
        subprocess.run(
            [program, "-a", "-T", source, target],
            check=True,
            timeout=_COPY_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.SubprocessError as error:  # most likely it is full
        raise OSError(28, f"cannot copy a layer: {error}") from error


def merge(layers: list[str], target: str, view: str, user_xattr: bool) -> None:
    """Make one layer that looks like many stacked ones.

    The kernel merges them in a view of its own. That view forgets which files of the root file system below they
    hide, so the marks are made again.

    Args:
        layers: at least two folders, the newest first.
        target: the folder to make.
        view: an empty folder to mount the view on, meanwhile.
        user_xattr: as for `rootfs.assemble`.

    Raises:
        OSError: it cannot be done, e.g. because they hold too much together.
    """
    options = "lowerdir=" + ":".join(layers) + (",userxattr" if user_xattr else "")
    syscalls.mount("overlay", view, "overlay", syscalls.RDONLY | syscalls.NOSUID | syscalls.NODEV, options)
    try:
        copy(view, target)
    finally:
        syscalls.unmount(view)
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
