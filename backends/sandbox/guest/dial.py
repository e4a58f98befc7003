"""The agent of a container: reaches its host over a socket, and forbids itself what the container's profile allows."""

from __future__ import annotations

import base64
import ctypes
import os
import socket

from agentworld_envs.backends.sandbox.guest import agent
from agentworld_envs.backends.sandbox.guest.passing import Passing

FILTER = "AGENTWORLD_FILTER"
"""Environment variable with a filter of system calls, packed and in base64."""
_KILLS = ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events")
_FIRST_PID = 20
_PR_SET_SECCOMP, _FILTER_MODE = 22, 2


def main_over_path(path: str) -> None:
    """Serve over a socket of this name until it ends. Raises OSError when nobody listens there."""
    with socket.socket(socket.AF_UNIX) as stream:
        stream.connect(path)
        fd = stream.detach()
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(path)
    null = os.open(os.devnull, os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(null, target)
    packed = os.environ.get(FILTER)
    if packed:
        _install(base64.b64decode(packed))
    _use_up_pids()
    agent.main(fd, agent.text_file(), _open_kills(), Passing(channel))


def _use_up_pids() -> None:
    """Start counting processes at the same number in every container: what made it has used some, never as many."""
    for _ in range(_FIRST_PID):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        if pid >= _FIRST_PID - 1:
            return


def _install(program: bytes) -> None:
    """Install a filter of system calls. It comes on top of the container's own and cannot be taken away again."""

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    buffer = ctypes.create_string_buffer(program)
    structure = Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_SECCOMP, _FILTER_MODE, ctypes.byref(structure), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter of system calls was refused")


def _open_kills() -> int | None:
    """The control group's count of processes killed for want of memory, `None` where the container does not show it."""
    for path in _KILLS:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
    return None
