"""Starting a program from the agent. `posix_spawn` copies no page tables, which makes it several times faster than a
fork of Python, and every descriptor of the agent is close-on-exec."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Tuple, Union  # noqa: UP035

Action = Tuple[Union[int, str], ...]  # noqa: UP006, UP007 - also read by the older Pythons of container images
OPEN, DUP2 = os.POSIX_SPAWN_OPEN, os.POSIX_SPAWN_DUP2
_SIGNALS = sorted(set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33})


def stdin_null() -> tuple[int, int, str, int, int]:
    """A file action: nothing to read."""
    return (OPEN, 0, "/dev/null", os.O_RDONLY, 0)


class Rights(NamedTuple):
    """What every program is started with."""

    cpu_seconds: int = 0
    """CPU time after which the kernel ends a process; 0 for no limit."""
    give_way: bool = False
    """Whether programs get the processor only when the agent does not want it, so that no bomb can keep it from its
    clock. Only where a control group gives the sandbox its share: otherwise all the host would go first."""


def start(
    argv: Sequence[str],
    actions: Sequence[Action],
    env: Mapping[str, str],
    cwd: str,
    rights: Rights,
    strict: bool = False,
) -> int:
    """Start a program in its own session with default signals.

    Args:
        argv: the program, looked up in the PATH of `env`, and its arguments.
        actions: file actions of `posix_spawn`.
        env: its whole environment.
        cwd: where it starts; the root directory when that cannot be entered.
        rights: its limits.
        strict: whether not to start it when `cwd` cannot be entered.

    Raises:
        OSError: it cannot be started.
    """
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath)) if "/" not in argv[0] else argv[0]
    if program is None:
        raise FileNotFoundError(2, "command not found", argv[0])
    try:
        os.chdir(cwd)
    except OSError:
        if strict:
            raise
        os.chdir("/")
    before = resource.getrlimit(resource.RLIMIT_CPU)
    try:
        if rights.cpu_seconds:  # only the soft limit: the agent itself has to live longer than any command
            resource.setrlimit(resource.RLIMIT_CPU, (rights.cpu_seconds, before[1]))
        pid = os.posix_spawn(
            program, list(argv), dict(env), file_actions=actions, setsid=True, setsigmask=(), setsigdef=_SIGNALS
        )
        if rights.give_way:  # it has hardly begun; what it starts inherits this, and there is no way back
            with contextlib.suppress(OSError):
                os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
        return pid
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)
        os.chdir("/")
