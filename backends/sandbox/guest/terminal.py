"""`Terminal`: an interactive bash on a pseudo-terminal. Gives the raw bytes; the host draws the screen from them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import termios
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.processes import Reaper

_KEEP = 2**16
"""Bytes of unread output that are kept; a screen is drawn from the last ones."""


class Terminal:
    """One pseudo-terminal with its shell."""

    def __init__(
        self, reaper: Reaper, rows: int, columns: int, env: Mapping[str, str], cwd: str, rights: spawn.Rights
    ) -> None:
        """Open it. Raises OSError when no terminal or no process can be had."""
        self.master, slave = os.openpty()
        self._unread = bytearray()
        self._unsent = bytearray()
        self.ended = False
        try:
            os.set_blocking(self.master, False)
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            # Opened by name and not passed on: a session's first terminal that it opens becomes its own.
            actions: list[spawn.Action] = [
                (spawn.OPEN, 0, os.ttyname(slave), os.O_RDWR, 0),
                (spawn.DUP2, 0, 1),
                (spawn.DUP2, 0, 2),
            ]
            self.pid = spawn.start(["bash", "--norc", "--noprofile", "-i"], actions, env, cwd, rights)
        except BaseException:
            os.close(self.master)
            raise
        finally:
            os.close(slave)
        reaper.watch(self.pid)

    def type(self, keys: bytes) -> None:
        """Send keystrokes; what the terminal does not take now is sent by later calls."""
        self._unsent += keys
        with contextlib.suppress(OSError):
            while self._unsent:
                del self._unsent[: os.write(self.master, self._unsent[:4096])]

    def pump(self) -> int:
        """Take the output that is there; gives its number of bytes."""
        total = 0
        try:
            for _ in range(64):
                data = os.read(self.master, 2**16)
                if not data:
                    self.ended = True
                    break
                self._unread += data
                total += len(data)
        except BlockingIOError:
            pass
        except OSError:  # the kernel's way to say that nobody has the terminal open any more
            self.ended = True
        del self._unread[:-_KEEP]
        return total

    def take(self) -> bytes:
        """The output since the last call."""
        data = bytes(self._unread)
        self._unread.clear()
        return data

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            os.close(self.master)
