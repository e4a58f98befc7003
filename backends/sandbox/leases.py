"""Who owns what: an owner is a process, told apart from a later one with the same pid, and from one before a reboot."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from typing import NamedTuple, Self

from agentworld_envs.backends.sandbox.launcher import cgroups

_PREFIX = "agentworld-"
_LOCAL = "agentworld-local."
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


def new_folder() -> str:
    """A new temporary folder of this process, for a sandbox of kind `local`."""
    folder = os.path.join(tempfile.gettempdir(), _LOCAL + Owner.this_process().group())
    os.mkdir(folder, 0o700)
    return folder


def _is_ours(entry: os.DirEntry[str]) -> bool:
    """Whether it is a folder of this user's. Anybody may put a link of that name into a temporary folder."""
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:  # somebody else removed it
        return False


def remove_folder(folder: str) -> bool:
    """Remove a folder of one's own, however deep it is and whatever its modes are. Gives whether it is gone.

    By programs that are made for it: Python's own removal recurses, and a hostile tree is deeper than that.
    """
    for argv in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*argv, "--", folder], stderr=subprocess.DEVNULL, check=False)
    return not os.path.lexists(folder)


def remove_groups(prefix: str) -> None:
    """Remove control groups of one's own."""
    for folder in cgroups.find_groups(prefix):
        cgroups.remove_tree(folder)


def sweep() -> list[str]:
    """Remove what provably dead owners left behind, and nothing of anybody else.

    Processes, mounts and files of namespace sandboxes die with their owner. Only empty control groups can be left,
    when owner and zygote were killed at the same moment, and the folder of a `local` one, when its agent was, too.

    Containers have a sweep of their own, which needs their daemon: `docker.removal.sweep`.

    Returns:
        What was removed.
    """
    removed = []
    for entry in os.scandir(tempfile.gettempdir()):
        owner = Owner.of_group(entry.name.partition(".")[2]) if entry.name.startswith(_LOCAL) else None
        if owner is not None and owner.is_dead() and _is_ours(entry) and remove_folder(entry.path):
            removed.append(entry.path)
    for folder in cgroups.find_groups(_PREFIX):
        owner = Owner.of_group(os.path.basename(folder))
        if owner is not None and owner.is_dead():
            cgroups.remove_tree(folder)
            if not os.path.exists(folder):
                removed.append(folder)
    return removed
