"""`Session`: the shell that commands run in, a new one where the last one was whenever it ended."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest import driver, shell_state, spawn
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.job import Job
from agentworld_envs.backends.sandbox.guest.processes import Reaper, is_still, now
from agentworld_envs.backends.sandbox.guest.shell import ARGUMENTS, Forged, Shell

_ORDERS = {Kind.RUN: driver.RUN, Kind.SAVE: driver.SAVE, Kind.RESTORE: driver.RESTORE}


class NoShell(Exception):
    """No shell can be started."""


class Session:
    """Keeps one shell. Starts it when it is first needed."""

    def __init__(self, reaper: Reaper, text: int, poll: select.poll) -> None:
        """See `Shell` for the arguments; the descriptors of the shell are registered with `poll`."""
        self._reaper = reaper
        self._text = text
        self._poll = poll
        self._env: dict[str, str] = {}
        self._home = "/"
        self._rights = spawn.Rights()
        self._shell: Shell | None = None
        self._cwd: str | None = None

    def configure(self, env: Mapping[str, str], home: str, rights: spawn.Rights) -> None:
        """Take what shells are started with."""
        self._env = dict(env)
        self._home = home
        self._rights = rights

    @property
    def pid(self) -> int | None:
        """The shell's process, when there is one."""
        return None if self._shell is None else self._shell.pid

    def is_idle_shell(self, pid: int) -> bool:
        """Whether a process is the shell, which waits for the next command, and still the program that it was."""
        return self._shell is not None and pid == self._shell.pid and is_still(pid, (*ARGUMENTS, driver.DRIVER))

    def begin(self, frame: Frame, apart: int | None) -> Job:
        """Start a command, or to save or to restore the state of the shell.

        Args:
            frame: the request.
            apart: the terminal's shell, whose processes are none of this one's.

        Raises:
            NoShell: none can be started.
            Unusable: it is to be restored from something that is not a state.
        """
        order = _ORDERS[Kind(frame.kind)]
        text = frame.blob
        if frame.kind == Kind.RESTORE:
            text = shell_state.restoring(frame.blob, self._env) + b"\0"
            if self._shell is not None and not self._shell.fresh:
                self._kill(self._shell)
            self._cwd = shell_state.folder(frame.blob)
        shell = self._ready()
        shell.outlets.apart = apart
        since = now()
        out, err = shell.submit(order, text, bool(frame.header["merged"]))
        job = Job(frame.id, frame.header, shell.pid, out, err, since, in_shell=True)
        if frame.kind == Kind.SAVE:
            job.out.begin_with(os.fsencode(shell.physical_cwd() or self._home) + b"\0")
        return job

    def _ready(self) -> Shell:
        """The living shell, or a new one where the last one was."""
        self._reaper.reap()
        if self._shell is not None and self._reaper.code(self._shell.pid) is not None:
            self._drop()
        if self._shell is None:
            try:
                self._shell = self._start()
            except OSError:  # most likely its own leftovers hold all processes that it may have
                self._reaper.kill_all(lambda _: True)
                try:
                    self._shell = self._start()
                except OSError as error:
                    raise NoShell(f"No shell can be started: {error}") from error
            for fd in self._shell.fds:
                self._poll.register(fd, select.POLLIN)
        return self._shell

    def _start(self) -> Shell:
        return Shell(self._reaper, self._text, self._env, self._folder(), self._rights)

    def _folder(self) -> str:
        """Where a new shell starts."""
        return self._cwd if self._cwd is not None and os.path.isdir(self._cwd) else self._home

    def _drop(self) -> None:
        if self._shell is not None:
            for fd in self._shell.fds:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(fd)
            self._shell.close()
            self._shell = None

    def _kill(self, shell: Shell) -> None:
        self._cwd = shell.cwd() or self._cwd
        self._reaper.kill_all(lambda process: process.pid == shell.pid)
        self._reaper.reap()
        self._drop()

    def progress(self, job: Job) -> int | None:
        """The exit code of the job once it is over. What it then is besides stands in its `facts`."""
        shell = self._shell
        assert shell is not None
        shell.outlets.drain_late(busy=True)
        code = self._outcome(shell, job)
        if code is None:
            return None
        if self._shell is shell:  # otherwise its pipes are closed
            job.pump()
            self._cwd = shell.cwd() or self._cwd
        job.facts["cwd"] = os.fsencode(self._folder()).decode("utf-8", "backslashreplace")
        return code

    def _outcome(self, shell: Shell, job: Job) -> int | None:
        try:
            code = shell.code()
        except Forged:
            self._reaper.kill_all(lambda process: process.pid == shell.pid or job.since.before(process))
            self._drop()
            job.facts.update(tampered=True, shell_restarted=True)
            return 137
        if code is not None:
            return code
        ended = self._reaper.code(job.pid)
        if ended is not None:
            job.pump()
            self._drop()
            job.facts["shell_restarted"] = True
            return ended
        job.stopped = job.overdue()
        if not job.stopped:
            return None
        self._cwd = shell.cwd() or self._cwd
        if not shell.interrupt(self._reaper, job.since, job.pump):
            job.pump()
            job.facts["shell_restarted"] = True
            self._kill(shell)
        return 0

    def tidy(self) -> None:
        """Between two commands: throw away late output; replace a shell that ended or says what it was not asked."""
        shell = self._shell
        if shell is None:
            return
        shell.outlets.drain_late(busy=False)
        forged = False
        with contextlib.suppress(BlockingIOError):
            forged = bool(os.read(shell.status, 4096))
        if forged:  # nobody was asked, so nobody may answer
            self._kill(shell)
        if self._reaper.code(shell.pid) is not None:
            self._drop()
