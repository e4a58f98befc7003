"""`Job`: the one command that is running, its output so far and its limits."""

from __future__ import annotations

import time
from typing import Any

from agentworld_envs.backends.sandbox.guest.capture import Capture
from agentworld_envs.backends.sandbox.guest.processes import Moment

TIMED_OUT = 124
"""Exit code that is reported for a command that ran out of time, as `timeout(1)` does."""
KILLED = 137
"""Exit code that is reported for a command that was stopped for another reason."""


class Job:
    """A command of the shell, or a program of its own."""

    def __init__(
        self, request: int, header: dict[str, Any], pid: int, out: int, err: int, since: Moment, in_shell: bool
    ) -> None:
        """Begin to measure.

        Args:
            request: id of the frame to answer.
            header: `timeout_s`, `output_cap` (bytes kept of each stream) and `output_limit` (bytes of both together
                after which the command is stopped).
            pid: the shell, or the program.
            out: descriptor to read its output from.
            err: the same for standard error.
            since: a moment before it could start anything; older processes are none of it.
            in_shell: whether `pid` is the shell, which outlives the command.
        """
        self.request = request
        self.pid = pid
        self.in_shell = in_shell
        self.out, self.err = (Capture(fd, int(header["output_cap"])) for fd in (out, err))
        self.limit = int(header["output_limit"])
        self.begun = time.monotonic()
        self.since = since
        self.deadline = self.begun + float(header["timeout_s"])
        self.stopped = ""
        """Why it was stopped: `timeout`, `output`, or nothing."""
        self.kernel_kills = 0
        """How many processes of the sandbox the kernel had killed for want of memory before this began."""
        self.facts: dict[str, Any] = {}

    def pump(self) -> int:
        """Take the output that is there; gives its number of bytes."""
        before = self.out.total + self.err.total
        self.out.pump()
        self.err.pump()
        return self.out.total + self.err.total - before

    def overdue(self) -> str:
        """Why this has to be stopped now, if at all."""
        if self.out.total + self.err.total > self.limit:
            return "output"
        return "timeout" if time.monotonic() >= self.deadline else ""

    def report(self, code: int) -> tuple[dict[str, Any], bytes]:
        """Header and bytes of the answer. The bytes are the heads and tails of both streams one after the other."""
        if self.stopped:
            code = TIMED_OUT if self.stopped == "timeout" else KILLED
        head, tail, left_out = self.out.result()
        err_head, err_tail, err_left_out = self.err.result()
        parts = (head, tail, err_head, err_tail)
        header = {
            "code": code if code >= 0 else 128 - code,
            "stopped": self.stopped,
            "seconds": time.monotonic() - self.begun,
            "lengths": [len(part) for part in parts],
            "left_out": [left_out, err_left_out],
            **self.facts,
        }
        return header, b"".join(parts)
