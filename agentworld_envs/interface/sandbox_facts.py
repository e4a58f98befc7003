"""What is told of sandboxes: whether a kind works, how its bounds are kept, how a command ended, what runs."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple, Self

from agentworld_envs.interface.errors import CommandTimeout


class Usability(NamedTuple):
    """Whether a kind of sandbox works on this machine."""

    usable: bool
    why: str
    """What was found, in one sentence."""
    what_to_do: str = ""
    """How to make it usable; empty when it is."""


class Bound(NamedTuple):
    """How well one limit is kept on this machine."""

    name: str
    """`memory`, `pids`, `cpu`, `disk`, `network` ..."""
    kept: bool
    """Whether nothing in a sandbox can get past it."""
    how: str
    """By what, and what is left open."""


@dataclasses.dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. Bytes that are not UTF-8 appear as `\\xNN`."""

    stdout: str
    stderr: str
    """Empty when the command was run with `merge_stderr`."""
    exit_code: int
    """As the shell reports it: 128 + N for signal N; 124 when it ran out of time, 137 when it wrote too much."""
    stdout_truncated: bool = False
    """Whether the middle of the output was left out; a line in it says how much."""
    stderr_truncated: bool = False
    timed_out: bool = False
    """Whether it was stopped at its deadline, with everything that it had started."""
    output_exceeded: bool = False
    """Whether it was stopped because it wrote more than `Limits.output_limit`."""
    out_of_memory: bool = False
    """Whether one of its processes was killed, by the agent or by the kernel, because all used too much memory."""
    shell_restarted: bool = False
    """Whether the shell ended with this command. The next one runs in a new shell: variables are lost, files stay."""
    duration_s: float = 0.0
    """Seconds, measured in the sandbox."""
    cwd: str = ""
    """The folder that the shell is in now, as it calls it itself; the guest's word. Empty after `exec`."""

    def finished(self) -> Self:
        """This result, if the command came to its own end.

        Raises:
            CommandTimeout: it was stopped; carries what it had written.
        """
        if self.timed_out or self.output_exceeded:
            why = "ran out of time" if self.timed_out else "wrote more than is allowed"
            raise CommandTimeout(f"The command {why} after {self.duration_s:.1f} s.", self.stdout, self.stderr)
        return self


class Process(NamedTuple):
    """One living process of a sandbox. Bytes that are not UTF-8 appear as `\\xNN`."""

    pid: int
    """As the sandbox counts."""
    parent: int
    """1 is the agent, which also adopts those whose parent has ended. (Of kind `local` it has another number.)"""
    args: tuple[str, ...]
    """The program and its arguments as the process says them, the first 4096 bytes; the kernel's name for it in
    brackets when it says nothing."""
