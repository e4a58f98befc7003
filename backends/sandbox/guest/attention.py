"""Whether what runs in a terminal waits for somebody to type, as the kernel tells it."""

from __future__ import annotations

import os
import platform
import select
import termios
from enum import Enum

from agentworld_envs.backends.sandbox.guest.processes import below_me, state

_READ = {"x86_64": b"0", "aarch64": b"63"}.get(platform.machine(), b"?")
_WAITS = {  # select, pselect6, poll, ppoll, epoll_wait, epoll_pwait, epoll_pwait2
    "x86_64": (b"23", b"270", b"7", b"271", b"232", b"281", b"441"),
    "aarch64": (b"72", b"73", b"22", b"441"),
}.get(platform.machine(), ())


class Attention(Enum):
    """Who waits for keystrokes."""

    NOBODY = 0
    """Something runs, or did not yet take what was typed."""
    PROGRAM = 1
    """A program in the foreground, at this moment."""
    SHELL = 2
    """The shell, at its prompt."""


def attention(master: int, slave: int, shell: int) -> Attention:
    """Look at a terminal.

    Keystrokes reach it and output leaves it by way of a worker of the kernel; to ask whether something can be read
    waits for that worker. So the order is: nothing left to read, so that somebody has taken all keystrokes; then who
    is in the foreground; then whether it sleeps until the next ones come, so that it has dealt with these.

    Args:
        master: the end of the terminal at which people sit.
        slave: the end at which programs sit.
        shell: the process of the shell that was started in it.
    """
    waiting = select.poll()
    waiting.register(slave, select.POLLIN)
    if waiting.poll(0):
        return Attention.NOBODY
    group = os.tcgetpgrp(master)  # of the other end it is told only to those whose terminal it is
    by_key = not termios.tcgetattr(slave)[3] & termios.ICANON
    device = os.fstat(slave).st_rdev
    if group == shell:
        if not _sleeps_for_input(shell, device, by_key):
            return Attention.NOBODY
        return Attention.SHELL if by_key else Attention.PROGRAM  # by lines: the shell's own `read`
    members = [process.pid for process in below_me() if process.group == group]
    return Attention.PROGRAM if any(_sleeps_for_input(pid, device, by_key) for pid in members) else Attention.NOBODY


def _sleeps_for_input(pid: int, device: int, by_key: bool) -> bool:
    """Whether a process sleeps in a read of the terminal; where that gives single keys, also in any wait for events."""
    if state(pid) != b"S":
        return False
    try:
        with open(f"/proc/{pid}/syscall", "rb", buffering=0) as file:
            call = file.read(256).split()
    except OSError:  # some machines tell nobody; then any sleep has to do where single keys are asked for
        return by_key
    if call[:1] == [_READ]:
        try:
            return os.stat(f"/proc/{pid}/fd/{int(call[1], 16)}").st_rdev == device
        except OSError:
            return False
    return by_key and call[:1] != [] and call[0] in _WAITS
