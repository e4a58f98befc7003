"""`Outlets`: the pipes through which a session's commands write, several of them.

A process that a command left in the background goes on to hold the pipe of that command. The next command gets another
one, so that what is written late is nobody's output and can be thrown away.
"""

from __future__ import annotations

import contextlib
import os
from typing import List, Tuple  # noqa: UP035 - also read by the older Pythons of container images

from agentworld_envs.backends.sandbox.guest.capture import drain
from agentworld_envs.backends.sandbox.guest.driver import OUTLETS
from agentworld_envs.backends.sandbox.guest.processes import below_me, children

_Pair = Tuple[int, int]  # noqa: UP006
_KEPT_ASIDE = 10
"""The first number under which bash keeps its own descriptors."""


class Outlets:
    """Pairs of pipes: for output and for errors. One pair is in use at a time."""

    def __init__(self) -> None:
        """Open them. Raises OSError."""
        self._pairs: List[_Pair] = []  # noqa: UP006
        self.ends: dict[int, int] = {}
        """The writable end here -> its number in the shell. To be closed here once the shell has them."""
        self._used = {0}
        self.apart: int | None = None
        """A process that, with all below it, has nothing to do with these: the terminal's shell."""
        self._active = 0
        try:
            for numbers in OUTLETS:
                pair = []
                for number in numbers:
                    fd, end = os.pipe()
                    os.set_blocking(fd, False)
                    self.ends[end] = number
                    pair.append(fd)
                self._pairs.append((pair[0], pair[1]))
        except BaseException:
            self.close_ends()
            self.close()
            raise

    @property
    def fds(self) -> list[int]:
        """All readable ends."""
        return [fd for pair in self._pairs for fd in pair]

    def close_ends(self) -> None:
        """Close the writable ends, which the shell has by now."""
        for fd in self.ends:
            os.close(fd)
        self.ends.clear()

    def choose(self, shell: int) -> tuple[_Pair, _Pair]:
        """Take a pair that nobody in the background holds, or, when all are held, the one after the last.

        Args:
            shell: the pid of the shell, which holds all of them.

        Returns:
            The readable ends, and the shell's numbers of the others.
        """
        held = self._held(shell)
        order = [(self._active + step) % len(self._pairs) for step in range(1, len(self._pairs) + 1)]
        free = [index for index in order if index not in held]
        self._active = (min(free) if len(free) == len(order) else free[0]) if free else order[0]
        self._used.add(self._active)
        for index in self._used:
            self._drain(index)
        return self._pairs[self._active], OUTLETS[self._active]

    def _held(self, shell: int) -> set[int]:
        """The pairs that processes other than the shell have open."""
        mine, its = children(os.getpid()), children(shell)
        if its == [] and mine is not None and set(mine) <= {shell, self.apart}:
            return set()  # the usual case, and far cheaper than to look at all
        inodes = {f"pipe:[{os.fstat(fd).st_ino}]": index for index, pair in enumerate(self._pairs) for fd in pair}
        found = set()
        for process in below_me():
            if process.pid != shell:
                found |= _open_for_writing(process.pid, inodes)
        return found

    def _drain(self, index: int) -> None:
        for fd in self._pairs[index]:
            drain(fd)

    def drain_late(self, busy: bool) -> None:
        """Throw away what was written to pairs that are not in use; `busy`: whether one is."""
        for index in self._used:
            if not busy or index != self._active:
                self._drain(index)

    def close(self) -> None:
        """Close the readable ends."""
        for pair in self._pairs:
            for fd in pair:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._pairs.clear()


def _open_for_writing(pid: int, inodes: dict[str, int]) -> set[int]:
    """Which of some pipes a process writes to. A bash that was forked from the session's also has copies of all others
    of that one, kept aside to be closed with the next program: those do not count."""
    found = set()
    with contextlib.suppress(OSError):  # it is gone, or hides what it has
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                index = inodes.get(os.readlink(f"/proc/{pid}/fd/{name}"))
                if index is not None and (int(name) < _KEPT_ASIDE or not _closes_on_exec(pid, name)):
                    found.add(index)
    return found


def _closes_on_exec(pid: int, name: str) -> bool:
    with open(f"/proc/{pid}/fdinfo/{name}", "rb", buffering=0) as file:
        fields = file.read(256).split()
    return bool(int(fields[fields.index(b"flags:") + 1], 8) & os.O_CLOEXEC)
