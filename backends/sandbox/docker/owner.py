"""Who owns a container: written into its labels, and into the names of what lies on disk for a moment."""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from typing import NamedTuple, Self

from agentworld_envs.backends.sandbox import leases

PREFIX = "agentworld-docker-"
_LABEL = "agentworld."
LEASE = f"{_LABEL}lease"
"""Label that all containers of one provider have in common."""
_NAME = re.compile(rf"^{PREFIX}([0-9a-f]*)-(\d+)-(\d+)-(\d+)-([0-9a-f]+)-([0-9a-f]+)$")


class Lease(NamedTuple):
    """One provider in one process. Several machines, and several namespaces of processes, may share a daemon."""

    machine: str
    """Which machine; empty where it does not say."""
    space: int
    """Which namespace the pid is of."""
    owner: leases.Owner
    key: str
    """Tells the providers of a process apart."""

    @classmethod
    def new(cls) -> Self:
        """A lease of this process."""
        return cls(_machine(), _space(), leases.Owner.this_process(), os.urandom(6).hex())

    @property
    def name(self) -> str:
        """All of it in one word, and the beginning of the names of all that belongs to it."""
        owner = self.owner
        return f"{PREFIX}{self.machine}-{self.space}-{owner.pid}-{owner.start}-{owner.boot}-{self.key}"

    @classmethod
    def of(cls, name: str) -> Self | None:
        """The lease of a name, `None` when it is not one of ours."""
        match = _NAME.match(name)
        if match is None:
            return None
        return cls(match[1], int(match[2]), leases.Owner(int(match[3]), int(match[4]), match[5]), match[6])

    def labels(self) -> dict[str, str]:
        """What a container is labelled with."""
        return {
            LEASE: self.name,
            f"{_LABEL}machine": self.machine,
            f"{_LABEL}boot": self.owner.boot,
            f"{_LABEL}pid": str(self.owner.pid),
            f"{_LABEL}start": str(self.owner.start),
        }

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> Self | None:
        """The lease of a container, `None` when it is not one of ours."""
        return cls.of(labels.get(LEASE, ""))

    def is_dead(self) -> bool:
        """Whether it is certain that the owner is gone. One that cannot be seen from here counts as alive."""
        if self.owner.boot != leases.boot_id():
            return bool(self.machine) and self.machine == _machine()
        return self.space == _space() and self.owner.is_dead()


def _machine() -> str:
    try:
        with open("/etc/machine-id", "rb") as file:
            data = file.read().strip()
    except OSError:
        return ""
    return hashlib.sha256(data).hexdigest()[:12] if data else ""


def _space() -> int:
    return os.stat("/proc/self/ns/pid").st_ino


def new_folder(lease: Lease) -> str:
    """A folder of this lease that only its user can enter."""
    return tempfile.mkdtemp(prefix=f"{lease.name}.")


def sweep_folders() -> list[str]:
    """Remove folders of dead owners: one was killed in the middle of a start. Gives what was removed."""
    removed = []
    for folder in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), f"{PREFIX}*")):
        lease = Lease.of(os.path.basename(folder).rpartition(".")[0])
        if lease is not None and lease.is_dead():
            shutil.rmtree(folder, ignore_errors=True)  # somebody else's, or removed by another sweep
            if not os.path.exists(folder):
                removed.append(folder)
    return removed
