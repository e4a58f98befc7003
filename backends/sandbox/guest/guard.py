"""`Guard`: keeps the memory of all processes together below a limit, and can hold them still for a snapshot.

A control group, where there is one, is the harder bound; but at its limit the kernel first throws away the pages of
programs and reads them again and again, so that everything crawls. This looks earlier, and can say that it was memory.
"""

from __future__ import annotations

import os
import signal
import time

from agentworld_envs.backends.sandbox.guest.job import Job
from agentworld_envs.backends.sandbox.guest.processes import (
    Process,
    Reaper,
    at_rest,
    below_me,
    own_memory,
    send,
    stop_all,
    turns,
)

_EVERY_S = 0.02
_IDLE_S = 0.1
"""While only background processes run; a machine may have hundreds of such sandboxes."""
_QUIET_WITHIN_S = 3.0
_LOOK_AGAIN_S = 0.0003


class Guard:
    """Samples /proc while anything runs. Does nothing on its own while only the idle shell is there."""

    def __init__(self, reaper: Reaper, kills: int | None = None) -> None:
        """Does nothing before `configure`.

        Args:
            reaper: reaps what is killed.
            kills: descriptor of the control group's file with the line `oom_kill N`, where there is one.
        """
        self._kills = kills
        self._reaper = reaper
        self._limit = 0
        self._next: float | None = None
        self._held: set[int] = set()
        self._turns: dict[tuple[int, int], int] = {}

    def configure(self, limit: int) -> None:
        """Set the limit in bytes of memory; 0 for none."""
        self._limit = limit

    def kernel_kills(self) -> int:
        """How many processes of the sandbox the kernel killed so far because the control group had no memory left."""
        if self._kills is None:
            return 0
        try:
            for line in os.pread(self._kills, 4096, 0).splitlines():
                if line.startswith(b"oom_kill "):
                    return int(line.split()[1])
        except OSError:
            pass
        return 0

    def begin(self) -> None:
        """A command was started: look in a moment, so that short commands pay nothing."""
        if self._limit:
            soon = time.monotonic() + _EVERY_S
            self._next = soon if self._next is None else min(self._next, soon)

    def wakeup(self) -> float | None:
        """When `watch` wants to be called."""
        return self._next

    def watch(self, shell: int | None, job: Job | None) -> None:
        """Kill the largest process while all together are too large."""
        if self._next is None or time.monotonic() < self._next:
            return
        processes = below_me()
        busy = job is not None or any(process.pid != shell for process in processes)
        if sum(process.memory for process in processes) > self._limit:  # counts shared pages more than once
            self._relieve({process: own_memory(process) for process in processes}, job)
        self._next = time.monotonic() + (_EVERY_S if job is not None else _IDLE_S) if busy else None

    def _relieve(self, used: dict[Process, int], job: Job | None) -> None:
        while used and sum(used.values()) > self._limit:
            largest = max(used, key=lambda process: used[process])
            send([largest], signal.SIGKILL)
            del used[largest]
            if job is not None:
                job.facts["out_of_memory"] = True

    def freeze(self) -> bool:
        """Stop all processes. Gives whether they have come to rest (one may be stuck in the kernel).

        The first process of a namespace stops all others at once, so that none can outrun it by starting others; what
        was on its way to wake others is caught by stopping all again, until two looks in a row see none that moves.
        """
        end = time.monotonic() + _QUIET_WITHIN_S
        self._held = {process.pid for process in below_me() if process.stopped}
        clean = 0
        while time.monotonic() < end:
            moving = [process for process in below_me() if not at_rest(process)]
            if not moving:
                clean += 1
                if clean == 2:
                    self._turns = turns()
                    return True
            else:
                clean = 0
                stop_all(moving)
                time.sleep(_LOOK_AGAIN_S)  # to stop takes time on the processor
        return False

    def thaw(self) -> bool:
        """Let those go on that `freeze` stopped; what was stopped before stays so.

        Returns:
            Whether nothing ran since: the kernel itself wakes a process for which somebody ordered a signal, e.g. by a
            timer.
        """
        still = self._turns == turns() and all(at_rest(process) for process in below_me())
        held, self._held = self._held, set()
        send([process for process in below_me() if process.pid not in held], signal.SIGCONT)
        return still
