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

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.capture import drain
from agentworld_envs.backends.sandbox.guest.processes import Reaper, below_me, send

_GO, _STATUS, _TEXT, _OUT, _ERR = 200, 201, 202, 203, 204
_DRIVER = rf"""
echo 1000 2>/dev/null >/proc/self/oom_score_adj
trap 'return 130' USR1
while IFS= builtin read -r -d '' -u {_GO} __aw_go; do
  if [ "$__aw_go" = merged ]; then
    . /dev/fd/{_TEXT} {_GO}<&- {_STATUS}>&- 0</dev/null 1>&{_OUT} 2>&{_OUT} {_OUT}>&- {_ERR}>&-
  else
    . /dev/fd/{_TEXT} {_GO}<&- {_STATUS}>&- 0</dev/null 1>&{_OUT} 2>&{_ERR} {_OUT}>&- {_ERR}>&-
  fi
  __aw_go=$?
  builtin trap 'return 130' USR1
  IFS= builtin read -r -d '' -u {_GO} __aw_nonce
  builtin printf '%s %s\0' "$__aw_nonce" "$__aw_go" >&{_STATUS}
done
"""
_UNWIND_EVERY_S = 0.02
_UNWIND_FOR_S = 0.5
_NONCE_BYTES = 12


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
        readable = os.open(f"/proc/self/fd/{text}", os.O_RDONLY)
        go, self._go = os.pipe()
        self.status, status = os.pipe()
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        self.fds = (self.status, self.out, self.err)
        try:
            for fd in self.fds:
                os.set_blocking(fd, False)
            pairs = {go: _GO, status: _STATUS, readable: _TEXT, out: _OUT, err: _ERR}
            actions: list[spawn.Action] = [
                spawn.stdin_null(),
                (spawn.OPEN, 1, "/dev/null", os.O_WRONLY, 0),
                (spawn.DUP2, 1, 2),
            ]
            actions += [(spawn.DUP2, fd, target) for fd, target in pairs.items()]
            self.pid = spawn.start(["bash", "--norc", "--noprofile", "-c", _DRIVER], actions, env, cwd, rights)
        except BaseException:
            self.close()
            raise
        finally:
            for fd in (go, status, readable, out, err):
                os.close(fd)
        reaper.watch(self.pid)

    def submit(self, command: bytes, merged: bool) -> int:
        """Begin one command.

        Args:
            command: its text.
            merged: whether standard error goes where standard output goes.

        Returns:
            How many bytes of earlier commands' background processes were thrown away before it.
        """
        late = drain(self.out) + drain(self.err)
        os.ftruncate(self._text, 0)
        os.pwrite(self._text, command, 0)
        self._nonce = os.urandom(_NONCE_BYTES).hex().encode()
        with contextlib.suppress(BrokenPipeError):  # it is dying: the reaper tells
            os.write(self._go, (b"merged" if merged else b"split") + b"\0" + self._nonce + b"\0")
        return late

    def code(self) -> int | None:
        """The exit code of the command, `None` while it runs. Raises Forged."""
        try:
            data = os.read(self.status, 4096)
        except BlockingIOError:
            return None
        if not data:
            return None
        nonce, _, code = data.partition(b" ")
        expected, self._nonce = self._nonce, b""
        if not expected or nonce != expected or not code.endswith(b"\0") or not code[:-1].isdigit():
            raise Forged
        return int(code[:-1])

    def cwd(self) -> str | None:
        """Where the shell is now, `None` when that cannot be told."""
        try:
            return os.readlink(f"/proc/{self.pid}/cwd")
        except OSError:
            return None

    def interrupt(self, reaper: Reaper, since: int, pump: Callable[[], object]) -> bool:
        """End the running command and all that it started, but not the shell.

        Every signal unwinds bash by one function or sourced file, also out of loops of builtins.

        Args:
            reaper: kills the command's processes.
            since: when the command began (`processes.now`); older processes belong to earlier commands and stay.
            pump: takes output meanwhile, for a shell that is stuck writing.

        Returns:
            Whether the shell is ready for the next command; otherwise it was killed.
        """

        def chosen(process: object) -> bool:
            return process.pid != self.pid and process.start >= since  # type: ignore[attr-defined, no-any-return]

        end = time.monotonic() + _UNWIND_FOR_S
        ready = False
        while not ready and time.monotonic() < end and reaper.code(self.pid) is None:
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
        for fd in (self._go, *self.fds):
            with contextlib.suppress(OSError):
                os.close(fd)
