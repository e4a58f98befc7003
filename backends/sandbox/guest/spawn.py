"""Starting a program from the agent. `posix_spawn` copies no page tables, which makes it several times faster than a
fork of Python, and every descriptor of the agent is close-on-exec."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Mapping, Sequence

OPEN, DUP2 = os.POSIX_SPAWN_OPEN, os.POSIX_SPAWN_DUP2
_SIGNALS = sorted(set(range(1, signal.NSIG)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33})


def stdin_null() -> tuple[int, int, str, int, int]:
    """A file action: nothing to read."""
    return (OPEN, 0, "/dev/null", os.O_RDONLY, 0)


def start(
    argv: Sequence[str], actions: Sequence[tuple[int, ...]], env: Mapping[str, str], cwd: str, cpu_seconds: int
) -> int:
    """Start a program in its own session with default signals.

    Args:
        argv: the program, looked up in the PATH of `env`, and its arguments.
        actions: file actions of `posix_spawn`.
        env: its whole environment.
        cwd: where it starts; the root directory when that cannot be entered.
        cpu_seconds: CPU time after which the kernel ends each of its processes; 0 for no limit.

    Raises:
        OSError: it cannot be started.
    """
    program = shutil.which(argv[0], path=env.get("PATH", os.defpath)) if "/" not in argv[0] else argv[0]
    if program is None:
        raise FileNotFoundError(2, "command not found", argv[0])
    try:
        os.chdir(cwd)
    except OSError:
        os.chdir("/")
    before = resource.getrlimit(resource.RLIMIT_CPU)
    try:
        if cpu_seconds:  # only the soft limit: the agent itself has to live longer than any command
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, before[1]))
        return os.posix_spawn(
            program, list(argv), dict(env), file_actions=actions, setsid=True, setsigmask=(), setsigdef=_SIGNALS
        )
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, before)
        os.chdir("/")
