"""`Terminal`: an interactive bash on a pseudo-terminal. Gives the raw bytes; the host draws the screen from them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.attention import Attention, attention
from agentworld_envs.backends.sandbox.guest.processes import Reaper, is_still

_ARGUMENTS = ("bash", "--norc", "--noprofile", "-i")
_KEEP = 2**16
"""Bytes of unread output that are kept; a screen is drawn from the last ones."""


class Terminal:
    """One pseudo-terminal with its shell."""

    def __init__(
        self, reaper: Reaper, rows: int, columns: int, env: Mapping[str, str], cwd: str, rights: spawn.Rights
    ) -> None:
        """Open it. Raises OSError when no terminal or no process can be had."""
        self._reaper = reaper
        self.master, self._slave = os.openpty()
        self._unread = bytearray()
        self._unsent = bytearray()
        try:
            os.set_blocking(self.master, False)
            fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            # Opened by name and not passed on: a session's first terminal that it opens becomes its own.
            actions: list[spawn.Action] = [
                (spawn.OPEN, 0, os.ttyname(self._slave), os.O_RDWR, 0),
                (spawn.DUP2, 0, 1),
                (spawn.DUP2, 0, 2),
            ]
            self.pid = spawn.start(_ARGUMENTS, actions, env, cwd, rights)
        except BaseException:
            self.close()
            raise
        reaper.watch(self.pid)

    @property
    def ended(self) -> bool:
        """Whether its shell is gone."""
        return self._reaper.code(self.pid) is not None

    def type(self, keys: bytes) -> None:
        """Send keystrokes; what the terminal does not take now is sent by later calls."""
        self._unsent += keys
        with contextlib.suppress(OSError):
            while self._unsent:
                del self._unsent[: os.write(self.master, self._unsent[:4096])]

    def pump(self) -> int:
        """Take the output that is there, at most some MiB; gives its number of bytes. To find nothing more means that
        all was taken that had been written before: the kernel first finishes what is on its way."""
        total = 0
        with contextlib.suppress(OSError):
            for _ in range(64):
                data = os.read(self.master, 2**16)
                self._unread += data
                total += len(data)
        del self._unread[:-_KEEP]
        return total

    def attention(self) -> Attention:
        """Who waits for keystrokes."""
        return Attention.NOBODY if self._unsent else attention(self.master, self._slave, self.pid)

    def is_idle_shell(self, pid: int) -> bool:
        """Whether a process is the shell, still the program that it was."""
        return pid == self.pid and is_still(pid, _ARGUMENTS)

    def take(self) -> bytes:
        """The output since the last call."""
        data = bytes(self._unread)
        self._unread.clear()
        return data

    def close(self) -> None:
        """Hang up."""
        for fd in (self.master, self._slave):
            with contextlib.suppress(OSError):
                os.close(fd)
