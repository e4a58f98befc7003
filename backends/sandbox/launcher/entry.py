"""How the zygote becomes what it is: in namespaces of its own, and without a trace of where it was started."""

from __future__ import annotations

import ctypes
import os

from agentworld_envs.backends.sandbox.launcher import syscalls

_OWNER = 0x7FFF0000
"""Host user of sandboxes that root starts: nobody's, above all that are given to people or containers."""


def enter() -> int:
    """Enter namespaces in which mounts may be made.

    Returns:
        The host user to give sandboxes; 0 when this process is an ordinary user, who has no other to give.
    """
    user, group = os.geteuid(), os.getegid()
    owner = 0
    try:
        if user != 0:
            raise PermissionError
        syscalls.unshare(syscalls.NEWNS)
        owner = _OWNER
    except PermissionError:  # also root in a container that took its capabilities
        syscalls.unshare(syscalls.NEWUSER | syscalls.NEWNS)
        syscalls.map_user(0, user, group)
    syscalls.mount(None, "/", None, syscalls.REC | syscalls.PRIVATE)
    return owner


def forget_command_line() -> None:
    """Overwrite what `ps` shows: in a sandbox it would tell where things are on the host."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    begin, end = int(fields[45]), int(fields[46])
    if begin and end > begin:
        ctypes.memset(begin, 0, end - begin)
        ctypes.memmove(begin, b"agent", min(5, end - begin - 1))
