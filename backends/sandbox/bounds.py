"""What this machine can and cannot promise, in words for people."""

from __future__ import annotations

import errno
import os
from typing import Any

from agentworld_envs.backends.sandbox.config import NamespaceConfig
from agentworld_envs.interface.sandbox_facts import Bound, Usability

_SWITCHES = {
    "/proc/sys/user/max_user_namespaces": ("0", "sysctl -w user.max_user_namespaces=15000"),
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}


def namespace_bounds(facts: dict[str, Any], config: NamespaceConfig) -> list[Bound]:
    """How each limit of namespace sandboxes is kept, from what the zygote found."""
    limits = config.limits
    groups = set(facts["controllers"])
    memory = f"{limits.memory_mb} MiB of processes"
    if "memory" in groups:
        total = limits.memory_mb + limits.disk_mb
        memory_bound = Bound(
            "memory", True, f"{memory}, looked at every 20 ms; with files at most {total} MiB: control group"
        )
    else:
        memory_bound = Bound(
            "memory",
            False,
            f"{memory}: each by RLIMIT_DATA, their sum looked at every 20 ms; shared memory that nobody maps any more "
            "and what the kernel holds in sockets is not seen. A delegated control group (memory, pids) closes this",
        )
    pids = "control group, and " if "pids" in groups else ""
    return [
        memory_bound,
        Bound("swap", "memory" in groups, "control group" if "memory" in groups else "not bounded: no control group"),
        Bound("pids", True, f"{limits.pids}: {pids}RLIMIT_NPROC of the sandbox's own user namespace"),
        Bound(
            "cpu",
            "cpu" in groups,
            f"control group: {limits.cpus} cores" if "cpu" in groups else "not bounded: no control group",
        ),
        Bound("cpu_seconds", False, f"{limits.cpu_seconds} s of each process, a soft limit; deadlines bound commands"),
        Bound("disk", True, f"{limits.disk_mb} MiB and {limits.inodes} files: size of the file system in memory"),
        Bound("open_files", True, f"{limits.open_files} of each process: RLIMIT_NOFILE"),
        Bound("network", True, "a network namespace with nothing but a loopback interface"),
        Bound(
            "host_files",
            True,
            f"sees {', '.join(facts['host_folders'])} read-only"
            if config.rootfs == "host"
            else "sees its root folder, read-only below the writable layer",
        ),
        Bound("privileges", True, "no capabilities, no new privileges, an unmapped host user"),
        Bound(
            "system_calls",
            bool(facts["seccomp"]),
            "seccomp filter" if facts["seccomp"] else "no filter is known for this processor",
        ),
    ]


def why_unusable(error: str) -> Usability:
    """The reason that namespaces do not work, and the way out."""
    for path, (bad, remedy) in _SWITCHES.items():
        try:
            with open(path) as file:
                value = file.read().strip()
        except OSError:
            continue
        if value == bad and os.geteuid() != 0:
            return Usability(False, f"User namespaces are switched off: {path} is {value}.", f"As root: {remedy}")
    if os.strerror(errno.EPERM) in error and (os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")):
        return Usability(
            False,
            f"This is a container whose profile forbids it: {error}",
            "Start it with --security-opt seccomp=unconfined and --cap-add SYS_ADMIN, or use docker sandboxes.",
        )
    return Usability(False, error, "Use docker sandboxes, or a kernel with user namespaces and overlayfs (5.11).")
