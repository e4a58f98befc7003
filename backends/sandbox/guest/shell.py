"""`Shell`: one bash that lives as long as the session and runs one command after the other.

No marker is ever searched for in its output. The command's text lies in an anonymous file that bash *sources*, so that
an unclosed quote is a mere syntax error; the streams are redirected for one command at a time, so that `exec >file`
does not outlive it; the exit code comes over a private pipe together with a number that the shell is given only after
the command ended. Whoever writes to that pipe without knowing the number is found out.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Mapping

from agentworld_envs.backends.sandbox.guest import driver, spawn
from agentworld_envs.backends.sandbox.guest.outlets import Outlets
from agentworld_envs.backends.sandbox.guest.processes import Moment, Process, Reaper, below_me, send

_UNWIND_EVERY_S = 0.02
_UNWIND_TRIES = 25
_UNWIND_AT_MOST_S = 5.0
_NONCE_BYTES = 12
_MOST_STATUS = 2**16
_MOST_PATH = 4096


ARGUMENTS = ("bash", "--norc", "--noprofile", "-c")


class Forged(Exception):
    """Something other than the shell wrote to its status pipe."""


class Shell:
    """A running bash. Close it when it died or when it is not to be trusted any more."""

    def __init__(self, reaper: Reaper, text: int, env: Mapping[str, str], cwd: str, rights: spawn.Rights) -> None:
        """Start it.

        Args:
            reaper: is told the shell's pid.
            text: descriptor of the anonymous file for the commands.
            env: its environment.
            cwd: where it starts.
            rights: its limits.

        Raises:
            OSError: bash cannot be started.
        """
        self._text = text
        self._nonce = b""
        self._answer = b""
        self._told = b""
        self.fresh = True
        """Whether it was never used."""
        readable = os.open(f"/proc/self/fd/{text}", os.O_RDONLY)
        go, self._go = os.pipe()
        self.status, status = os.pipe()
        os.set_blocking(self.status, False)
        self.outlets = Outlets()
        try:
            pairs = {go: driver.GO, status: driver.STATUS, readable: driver.TEXT, **self.outlets.ends}
            actions: list[spawn.Action] = [
                spawn.stdin_null(),
                (spawn.OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                (spawn.DUP2, 1, 2),
            ]
            actions += [(spawn.DUP2, fd, target) for fd, target in pairs.items()]
            self.pid = spawn.start([*ARGUMENTS, driver.DRIVER], actions, env, cwd, rights)
        except BaseException:
            self.close()
            raise
        finally:
            self.outlets.close_ends()
            for fd in (go, status, readable):
                os.close(fd)
        reaper.watch(self.pid)

    @property
    def fds(self) -> list[int]:
        """The descriptors to listen to."""
        return [self.status, *self.outlets.fds]

    def submit(self, order: str, text: bytes, merged: bool) -> tuple[int, int]:
        """Begin something. Late output of earlier commands' background processes is thrown away before it.

        Args:
            order: one of `driver`.
            text: of the command.
            merged: whether standard error goes where standard output goes.

        Returns:
            Descriptors to read output and errors from.
        """
        self.fresh = False
        (out, err), (out_end, err_end) = self.outlets.choose(self.pid)
        os.ftruncate(self._text, 0)
        os.pwrite(self._text, text, 0)
        self._nonce = os.urandom(_NONCE_BYTES).hex().encode()
        request = f"{order} {out_end} {out_end if merged else err_end}".encode()
        with contextlib.suppress(BrokenPipeError):  # it is dying: the reaper tells
            os.write(self._go, request + b"\0" + self._nonce + b"\0")
        return out, err

    def code(self) -> int | None:
        """The exit code of the command, `None` while it runs. Raises Forged."""
        try:
            data = os.read(self.status, 2**16)
        except BlockingIOError:
            return None
        self._answer = (self._answer + data)[:_MOST_STATUS]  # the name of a folder may be without end
        if not data.endswith(b"\0"):
            return None
        answer, self._answer = self._answer, b""
        expected, self._nonce = self._nonce, b""
        nonce, _, rest = answer.rstrip(b"\0").partition(b" ")
        code, _, folder = rest.partition(b" ")
        if not expected or nonce != expected or b"\0" in rest or not code.isdigit():
            raise Forged
        self._told = folder
        return int(code)

    def cwd(self) -> str | None:
        """Where the shell is now, by the name that it has for that where it is one; `None` when that cannot be told."""
        link = f"/proc/{self.pid}/cwd"
        try:
            if self._told.startswith(b"/") and len(self._told) <= _MOST_PATH and os.path.samefile(self._told, link):
                return os.fsdecode(self._told)
        except OSError:
            pass  # it was removed, or it is a name that the shell was made to believe
        return self.physical_cwd()

    def physical_cwd(self) -> str | None:
        """Where the shell is now, without links; `None` when that cannot be told."""
        try:
            return os.readlink(f"/proc/{self.pid}/cwd")
        except OSError:
            return None

    def interrupt(self, reaper: Reaper, since: Moment, pump: Callable[[], object]) -> bool:
        """End the running command and all that it started, but not the shell.

        Every signal unwinds bash by one function or sourced file, also out of loops of builtins.

        Args:
            reaper: kills the command's processes.
            since: when the command began (`processes.now`); older processes belong to earlier commands and stay.
            pump: takes output meanwhile, for a shell that is stuck writing.

        Returns:
            Whether the shell is ready for the next command; otherwise it was killed.
        """

        def chosen(process: Process) -> bool:
            return process.pid != self.pid and since.before(process)

        # Tries are counted, and not only time, which also goes by while a busy machine runs nothing of this sandbox.
        end = time.monotonic() + _UNWIND_AT_MOST_S
        ready, tries = False, 0
        while not ready and reaper.code(self.pid) is None and (tries == 0 or time.monotonic() < end):
            if tries == _UNWIND_TRIES:
                break
            tries += 1
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGCONT)
                os.kill(self.pid, signal.SIGUSR1)
            reaper.kill_all(chosen, 0.5)
            pump()
            if select.select([self.status], [], [], _UNWIND_EVERY_S)[0]:
                try:
                    ready = self.code() is not None
                except Forged:
                    break
        if not ready:
            send([process for process in below_me() if process.pid == self.pid], signal.SIGKILL)
        reaper.kill_all(chosen, 0.5)
        return ready

    def close(self) -> None:
        """Give back its pipes. Does not kill it."""
        for fd in (self._go, self.status):
            with contextlib.suppress(OSError):
                os.close(fd)
        self.outlets.close()
