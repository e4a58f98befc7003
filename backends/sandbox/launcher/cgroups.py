"""Control groups, versions 1 and 2: the kernel's count of memory, processes and CPU of a whole sandbox.

Needs root or a delegated group. Our groups lie below the owner's own, so that its limits hold for them too.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from agentworld_envs.backends.sandbox.launcher.spec import Spec

ROOT = "/sys/fs/cgroup"
_V1 = ("memory", "pids", "cpu")
_PERIOD_US = 10_000
"""Short, because the agent waits too while its commands have used up the time of a period."""
_REMOVE_WITHIN_S = 1.0


class Cgroups:
    """The group of one zygote, with one child for each sandbox."""

    def __init__(self, parents: dict[str, str], unified: bool, group: str) -> None:
        """Use `find`."""
        self._parents = parents
        self._unified = unified
        self._group = group

    @classmethod
    def find(cls, group: str, root: str = ROOT, own: str = "/proc/self/cgroup") -> Cgroups | None:
        """The control groups in which this process may make others, `None` when memory or pids cannot be had.

        Args:
            group: name of the group to make; made and removed again on trial.
            root: where the hierarchies are mounted.
            own: the file that tells which groups this process is in.
        """
        with open(own) as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        mine = {name: path for _, names, path in lines for name in names.split(",")}
        if os.path.exists(f"{root}/cgroup.controllers"):
            parents, unified = cls._unified_parent(root, mine.get("", "/"), group), True
        else:
            parents, unified = {}, False
            for name in _V1:
                if name in mine and os.path.isdir(f"{root}/{name}"):
                    parents[name] = os.path.normpath(f"{root}/{name}/{mine[name]}")
        parents = {name: path for name, path in parents.items() if _can_make(f"{path}/{group}")}
        found = cls(parents, unified, group)
        if {"memory", "pids"} <= found.controllers:
            return found
        found.remove_all()
        return None

    @staticmethod
    def _unified_parent(root: str, mine: str, group: str) -> dict[str, str]:
        """The nearest group at or above ours that hands the controllers on to its children."""
        path = os.path.normpath(f"{root}/{mine}")
        while path.startswith(root):
            with contextlib.suppress(OSError):
                _write(f"{path}/cgroup.subtree_control", "+memory +pids +cpu")
            with contextlib.suppress(OSError):
                with open(f"{path}/cgroup.subtree_control") as file:
                    names = file.read().split()
                if {"memory", "pids"} <= set(names) and _can_make(f"{path}/{group}"):
                    return {name: path for name in names if name in _V1}
            path = os.path.dirname(path)
        return {}

    @property
    def controllers(self) -> frozenset[str]:
        """What is counted: some of `memory`, `pids` and `cpu`."""
        return frozenset(self._parents)

    def _folders(self, name: str) -> Iterator[tuple[str, str]]:
        """Controller and folder; with version 2 all controllers share one."""
        for controller, parent in self._parents.items():
            yield controller, f"{parent}/{self._group}/{name}"

    def make(self, name: str, spec: Spec) -> None:
        """Make a sandbox's group. Files lie in memory, so that they count as memory too. Raises OSError."""
        if self._unified:
            for parent in set(self._parents.values()):
                os.makedirs(f"{parent}/{self._group}", exist_ok=True)
                _write(
                    f"{parent}/{self._group}/cgroup.subtree_control",
                    " ".join(f"+{controller}" for controller in self._parents),
                )
        for controller, folder in self._folders(name):
            os.makedirs(folder, exist_ok=True)
            for file, value in self._settings(controller, spec):
                try:
                    _write(f"{folder}/{file}", value)
                except FileNotFoundError:
                    if "swap" not in file and "memsw" not in file:  # a kernel that does not count swap
                        raise

    def _settings(self, controller: str, spec: Spec) -> list[tuple[str, str]]:
        memory = spec.memory + spec.disk
        quota = int(spec.cpus * _PERIOD_US)
        if controller == "pids":
            return [("pids.max", str(spec.pids))]
        if controller == "cpu":
            if not quota:
                return []
            if self._unified:
                return [("cpu.max", f"{quota} {_PERIOD_US}")]
            return [("cpu.cfs_period_us", str(_PERIOD_US)), ("cpu.cfs_quota_us", str(quota))]
        if self._unified:
            return [("memory.max", str(memory)), ("memory.swap.max", str(spec.swap))]
        return [
            ("memory.limit_in_bytes", str(memory)),
            ("memory.memsw.limit_in_bytes", str(memory + spec.swap)),
        ]

    def join(self, name: str) -> None:
        """Move this process into a sandbox's group."""
        for folder in {folder for _, folder in self._folders(name)}:
            _write(f"{folder}/cgroup.procs", "0")

    def open_kills(self, name: str) -> int | None:
        """The file in which the kernel counts whom it killed in a sandbox for want of memory, open for reading."""
        file = "memory.events" if self._unified else "memory.oom_control"
        for controller, folder in self._folders(name):
            if controller == "memory":
                with contextlib.suppress(OSError):
                    return os.open(f"{folder}/{file}", os.O_RDONLY | os.O_CLOEXEC)
        return None

    def hurry(self, name: str) -> None:
        """Let a sandbox use all cores: what is killed needs CPU time to end."""
        for controller, folder in self._folders(name):
            if controller == "cpu":
                file, value = ("cpu.max", "max") if self._unified else ("cpu.cfs_quota_us", "-1")
                with contextlib.suppress(OSError):
                    _write(f"{folder}/{file}", value)

    def remove(self, name: str) -> None:
        """Remove a sandbox's group, whose processes are dead. The kernel takes a moment to notice."""
        for folder in {folder for _, folder in self._folders(name)}:
            _remove(folder)

    def remove_all(self) -> None:
        """Remove the zygote's own group."""
        for parent in set(self._parents.values()):
            remove_tree(f"{parent}/{self._group}")


def remove_tree(folder: str) -> None:
    """Remove a group and those in it, as far as they hold no process."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                _remove(entry.path)
    _remove(folder)


def find_groups(prefix: str, root: str = ROOT) -> list[str]:
    """All control groups whose name begins with `prefix`."""
    found = []
    for folder, names, _ in os.walk(root):
        matching = [name for name in names if name.startswith(prefix)]
        found += [f"{folder}/{name}" for name in matching]
        names[:] = [name for name in names if name not in matching]
    return found


def _remove(folder: str) -> None:
    end = time.monotonic() + _REMOVE_WITHIN_S
    while True:
        try:
            os.rmdir(folder)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > end:
                return  # `sweep` finds it later
            time.sleep(0.001)


def _can_make(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        return os.access(f"{folder}/cgroup.procs", os.W_OK)
    except OSError:
        return False


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
