"""What the sandbox tests share: a small machine, and a look at what is left of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agentworld_envs.backends.sandbox import Limits, NamespaceConfig
from agentworld_envs.backends.sandbox.launcher.cgroups import find_groups
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider

SMALL = Limits(
    memory_mb=128,
    disk_mb=32,
    inodes=2_000,
    pids=48,
    cpus=1.0,
    cpu_seconds=20,
    output_cap=20_000,
    output_limit=4_000_000,
)
"""Bounds that are harmless to the machine that the tests run on, even if all sandboxes reach them."""


def small(**fields: object) -> NamespaceConfig:
    """A configuration with small bounds."""
    return NamespaceConfig(**{"limits": SMALL, **fields})  # type: ignore[arg-type]


def parents() -> dict[int, int]:
    """Process -> parent, of this machine."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] not in (b"Z", b"X"):
                found[int(name)] = int(fields[1])
    return found


def descendants(pid: int) -> set[int]:
    """All living processes below one."""
    everyone = parents()
    found: set[int] = set()
    queue = [pid]
    while queue:
        parent = queue.pop()
        for child, its_parent in everyone.items():
            if its_parent == parent and child not in found:
                found.add(child)
                queue.append(child)
    return found


def groups(pid: int) -> list[str]:
    """Control groups of sandboxes that a process owns."""
    return find_groups(f"agentworld-{pid}-")


def mounts() -> list[str]:
    """What is mounted where this process looks, but for the containers of Docker daemons, which come and go."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    elsewhere = ("/var/lib/docker/", "/run/docker/", f"{tempfile.gettempdir()}/")
    return [point for point in points if not point.startswith(elsewhere)]


SLOW = 5.0
"""Factor by which a loaded machine may be slower than what a test expects of the time on a clock."""


def counts_memory(provider: NamespaceProvider) -> bool:
    """Whether a control group counts the memory of this provider's sandboxes."""
    return "memory" in provider.zygote.facts["controllers"]
