"""Who owns what: an owner is a process, told apart from a later one with the same pid, and from one before a reboot."""

from __future__ import annotations

import os
import re
from typing import NamedTuple, Self

from agentworld_envs.backends.sandbox.launcher import cgroups

_PREFIX = "agentworld-"
_GROUP = re.compile(rf"^{_PREFIX}(\d+)-(\d+)-([0-9a-f]+)-[0-9a-f]+$")


class Owner(NamedTuple):
    """A process of this machine."""

    pid: int
    start: int
    """Clock ticks after boot."""
    boot: str
    """Which boot."""

    @classmethod
    def this_process(cls) -> Self:
        """Whoever calls."""
        return cls(os.getpid(), _start(os.getpid()) or 0, boot_id())

    def is_dead(self) -> bool:
        """Whether it is certain that this process ended. A process that cannot be seen from here counts as alive."""
        if self.boot != boot_id():
            return True
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        start = _start(self.pid)
        return start is not None and start != self.start

    def group(self) -> str:
        """A new name for a control group of this owner."""
        return f"{_PREFIX}{self.pid}-{self.start}-{self.boot}-{os.urandom(4).hex()}"

    @classmethod
    def of_group(cls, name: str) -> Self | None:
        """The owner that a control group's name tells, `None` when it is not one of ours."""
        match = _GROUP.match(name)
        return cls(int(match[1]), int(match[2]), match[3]) if match else None


def boot_id() -> str:
    """Twelve characters that are new with every boot."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip().replace("-", "")[:12]


def _start(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return None


def remove_groups(prefix: str) -> None:
    """Remove control groups of one's own."""
    for folder in cgroups.find_groups(prefix):
        cgroups.remove_tree(folder)


def sweep() -> list[str]:
    """Remove what provably dead owners left behind, and nothing of anybody else.

    Processes, mounts and files of namespace sandboxes die with their owner. Only empty control groups can be left,
    when owner and zygote were killed at the same moment.

    Containers have a sweep of their own, which needs their daemon: `docker.removal.sweep`.

    Returns:
        What was removed.
    """
    removed = []
    for folder in cgroups.find_groups(_PREFIX):
        owner = Owner.of_group(os.path.basename(folder))
        if owner is not None and owner.is_dead():
            cgroups.remove_tree(folder)
            if not os.path.exists(folder):
                removed.append(folder)
    return removed
