"""What the sandbox tests share: a small machine, and a look at what is left of it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentworld_envs.backends.sandbox import DockerConfig, Limits, NamespaceConfig, Provider
from agentworld_envs.backends.sandbox.docker.owner import PREFIX
from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
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


def small_docker(**fields: object) -> DockerConfig:
    """The same for containers."""
    return DockerConfig(**{"limits": SMALL, **fields})  # type: ignore[arg-type]


def containers(pid: int) -> list[str]:
    """Names of containers that a process owns, also of those that do not run."""
    client = DockerConfig().build().daemon  # type: ignore[attr-defined]
    try:
        names = [container["Names"][0].lstrip("/") for container in client.containers("agentworld.lease")]
    finally:
        client.close()
    return [name for name in names if name.startswith(PREFIX) and name.split("-")[4] == str(pid)]


def docker_folders(pid: int) -> list[str]:
    """Temporary folders of a process that starts containers."""
    names = [path.name for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith(PREFIX)]
    return [name for name in names if name.split("-")[4] == str(pid)]


def until(condition: Callable[[], bool], seconds: float) -> float:
    """Seconds until something is so; fails when it takes longer than it may."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "it took too long"
        time.sleep(0.005)
    return time.monotonic() - started


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
    elsewhere = ("/var/lib/docker/", "/run/docker/", f"{tempfile.gettempdir()}/")
    return [path for path in all_mounts() if not path.endswith("/merged") and not path.startswith(elsewhere)]


def all_mounts() -> list[str]:
    """What is mounted where this process looks."""
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


SLOW = 5.0
"""Factor by which a loaded machine may be slower than what a test expects of the time on a clock."""


def counts_memory(provider: Provider) -> bool:
    """Whether a control group counts the memory of this provider's sandboxes."""
    if isinstance(provider, DockerProvider):
        return next(bound.kept for bound in provider.bounds() if bound.name == "memory")
    assert isinstance(provider, NamespaceProvider)
    return "memory" in provider.zygote.facts["controllers"]
