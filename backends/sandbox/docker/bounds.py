"""What containers can and cannot promise on this machine, in words for people."""

from __future__ import annotations

from typing import Any

from agentworld_envs.backends.sandbox.config import DOCKER_SHM, DockerConfig
from agentworld_envs.backends.sandbox.docker.spec import total_memory
from agentworld_envs.backends.sandbox.launcher import seccomp
from agentworld_envs.interface.sandbox_facts import Bound


def docker_bounds(info: dict[str, Any], config: DockerConfig) -> list[Bound]:
    """How each limit is kept, from what the daemon says about itself."""
    limits = config.limits
    memory, swap, pids, cpu = (bool(info.get(key)) for key in ("MemoryLimit", "SwapLimit", "PidsLimit", "CpuCfsQuota"))
    profile = any("seccomp" in option for option in info.get("SecurityOptions") or [])
    none = "not bounded: the daemon has no control group for it"
    total = total_memory(config) // 2**20
    shares = ", ".join(f"{name} {share * limits.disk_mb:g}" for name, share in config.shares().items())
    shares += f", /dev/shm {DOCKER_SHM * limits.disk_mb:g}"
    disk = f"MiB of files in memory: {shares}, and the same shares of {limits.inodes} files"
    return [
        Bound(
            "memory",
            memory,
            f"{limits.memory_mb} MiB of processes, looked at every 20 ms; with files and agent at most {total} MiB: "
            "control group"
            if memory
            else f"{limits.memory_mb} MiB of processes, looked at every 20 ms; {none}",
        ),
        Bound("swap", swap, f"control group: {limits.swap_mb} MiB" if swap else none),
        Bound("pids", pids, f"{limits.pids}: control group" if pids else none),
        Bound(
            "cpu",
            cpu and limits.cpus > 0,
            (f"control group: {limits.cpus} cores" if limits.cpus else "not bounded: no limit is wanted")
            if cpu
            else none,
        ),
        Bound("cpu_seconds", False, f"{limits.cpu_seconds} s of each process, a soft limit; deadlines bound commands"),
        Bound(
            "disk",
            config.read_only,
            disk if config.read_only else f"{disk}; elsewhere not bounded: read_only is off",
        ),
        Bound("open_files", True, f"{limits.open_files} of each process: RLIMIT_NOFILE"),
        Bound("network", True, "a network namespace with nothing but a loopback interface"),
        Bound("host_files", True, "sees its image, this package's agent, and the kernel's /sys read-only"),
        Bound(
            "privileges",
            True,
            f"no capabilities, no new privileges, user {config.uid}, which is that user of the machine too, unless the "
            "daemon maps users",
        ),
        Bound(
            "system_calls",
            profile or seccomp.known(),
            " and ".join(
                what
                for what, there in (("the daemon's profile", profile), ("a filter of the agent", seccomp.known()))
                if there
            )
            or "no filter: the daemon has no seccomp, and none is known for this processor",
        ),
    ]
