"""`Store`: where the zygote keeps the files of all sandboxes: in memory, in a mount namespace of its own.

Nothing of it can be seen from outside, and the kernel takes it away when the zygote ends, however it ends.
"""

from __future__ import annotations

import os

from agentworld_envs.backends.sandbox.launcher import layers, rootfs, syscalls
from agentworld_envs.backends.sandbox.launcher.spec import Spec
from agentworld_envs.backends.sandbox.launcher.syscalls import NODEV, NOSUID

_PLACES = ("/sys/kernel", "/mnt", "/media", "/srv")
"""Folders that exist everywhere and that no sandbox needs; covering one concerns nobody outside of the namespace."""


class Store:
    """One file system in memory for each sandbox (its writable area) and for each frozen layer."""

    def __init__(self, user_xattr: bool, owner: int) -> None:
        """Set it up. The process has to be in a mount namespace of its own. Raises OSError.

        Args:
            user_xattr: as for `rootfs.assemble`.
            owner: as for `layers.copy`.
        """
        self._owner = owner
        self._user_xattr = user_xattr
        self.base = next(place for place in _PLACES if os.path.isdir(place))
        syscalls.mount("tmpfs", self.base, "tmpfs", NOSUID | NODEV, "size=16m,mode=755")
        self._box = f"{self.base}/box"
        os.mkdir(self._box)
        self._next = 0
        self._skeletons: dict[tuple[int, str], str] = {}

    def _new(self, disk: int, inodes: int) -> int:
        self._next += 1
        path = self.path(self._next)
        os.mkdir(path)
        options = f"size={disk},nr_inodes={inodes},mode=755"
        try:  # large pages: files are written and copied several times faster
            syscalls.mount("tmpfs", path, "tmpfs", NOSUID | NODEV, f"{options},huge=within_size")
        except OSError:  # not with this kernel
            syscalls.mount("tmpfs", path, "tmpfs", NOSUID | NODEV, options)
        return self._next

    def path(self, number: int) -> str:
        """The folder of an area."""
        return f"{self.base}/{number}"

    def new_area(self, spec: Spec) -> int:
        """An empty writable area; its size and its number of files are bounded."""
        number = self._new(spec.disk, spec.inodes)
        for name in ("upper", "work", "root", "shm"):
            os.mkdir(f"{self.path(number)}/{name}")
        os.chmod(f"{self.path(number)}/shm", 0o1777)
        return number

    def lowers(self, spec: Spec) -> list[str]:
        """The read-only folders of a sandbox, the top one first. Raises FileNotFoundError for a dropped layer."""
        layers = [f"{self.path(number)}/upper" for number in spec.layers]
        for layer in layers:
            if not os.path.isdir(layer):
                raise FileNotFoundError(2, "the snapshot was closed", layer)
        return [*layers, self._skeleton(spec) if spec.rootfs == "host" else spec.rootfs]

    def _skeleton(self, spec: Spec) -> str:
        key = (spec.uid, spec.hostname)
        if key not in self._skeletons:
            folder = f"{self.base}/skeleton{len(self._skeletons)}"
            rootfs.build_skeleton(folder, *key)
            self._skeletons[key] = folder
        return self._skeletons[key]

    def begin_copy(self, number: int, disk: int, inodes: int) -> tuple[int, layers.Working]:
        """Begin a new layer with what an area holds now. Deletions and everything about the files are kept.

        Returns:
            Its number, and what has to be waited for. When that fails, the layer has to be dropped.

        Raises:
            OSError: it could not even begin; nothing is left of it.
        """
        layer = self._new_layer(disk, inodes)
        try:
            return layer, layers.copy(f"{self.path(number)}/upper", self.path(layer), self._box, self._owner)
        except BaseException:
            self.drop(layer)
            raise

    def copy(self, number: int, disk: int, inodes: int) -> int:
        """The same, and wait for it. Raises OSError when it could not be copied; nothing is left of it."""
        layer, working = self.begin_copy(number, disk, inodes)
        return self._finished(layer, working)

    def flatten(self, numbers: list[int], disk: int, inodes: int) -> int:
        """One layer in place of many, the newest first. It may be as large as all of them. Raises as `copy` does."""
        layer = self._new_layer(disk * len(numbers), inodes * len(numbers))
        try:
            folders = [f"{self.path(number)}/upper" for number in numbers]
            working = layers.merge(folders, self.path(layer), self._box, self._owner, self._user_xattr)
        except BaseException:
            self.drop(layer)
            raise
        return self._finished(layer, working)

    def _new_layer(self, disk: int, inodes: int) -> int:
        layer = self._new(disk, inodes)
        os.mkdir(f"{self.path(layer)}/upper")
        return layer

    def _finished(self, layer: int, working: layers.Working) -> int:
        try:
            working.wait()
        except BaseException:
            self.drop(layer)
            raise
        return layer

    def drop(self, number: int) -> None:
        """Forget an area or a layer. The memory is free once no sandbox uses it any more."""
        path = self.path(number)
        syscalls.unmount(path)
        os.rmdir(path)
