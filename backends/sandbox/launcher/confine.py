"""The last steps of a new sandbox: from the zygote's child to a process that cannot do more than its commands may."""

from __future__ import annotations

import contextlib
import os
import resource

from agentworld_envs.backends.sandbox.launcher import rootfs, seccomp, syscalls
from agentworld_envs.backends.sandbox.launcher.spec import Spec


def confine(spec: Spec, owner: int, counted: bool) -> None:
    """Give up everything, in the only order that works.

    Args:
        spec: the limits.
        owner: user id to become before the sandbox's own user namespace; 0 when this is one's own namespace already.
        counted: whether a control group counts the memory of all processes together.
    """
    rootfs.protect_proc()
    syscalls.set_hostname(spec.hostname)
    with contextlib.suppress(OSError):  # a kernel without IP still makes good sandboxes
        syscalls.raise_loopback()
    _limit_resources(spec, counted)
    if owner:
        syscalls.become(owner)
    outside, group = os.geteuid(), os.getegid()
    syscalls.unshare(syscalls.NEWUSER)
    syscalls.map_user(spec.uid, outside, group)
    # Only now: set before, it would also bound the sum of all sandboxes, which the outer namespace counts.
    _limit(resource.RLIMIT_NPROC, spec.pids)
    syscalls.drop_capabilities()
    syscalls.forbid_new_privileges()
    syscalls.die_with_parent()  # the change of credentials undid the first
    if seccomp.known():
        syscalls.seccomp(seccomp.program(hidden_memory=counted))


def _limit_resources(spec: Spec, counted: bool) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: spec.open_files,
        resource.RLIMIT_FSIZE: spec.disk,
        resource.RLIMIT_MEMLOCK: 2**20,
        resource.RLIMIT_MSGQUEUE: 2**18,
    }
    if not counted:  # of each process; the agent watches the sum
        limits[resource.RLIMIT_DATA] = spec.memory
    for kind, value in limits.items():
        _limit(kind, value)


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))
