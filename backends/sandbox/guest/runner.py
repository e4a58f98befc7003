"""`Runner`: the agent's shell, its running command and its terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from typing import Any

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.capture import drain
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.guard import Guard
from agentworld_envs.backends.sandbox.guest.job import Job
from agentworld_envs.backends.sandbox.guest.processes import Reaper
from agentworld_envs.backends.sandbox.guest.shell import Forged, Shell
from agentworld_envs.backends.sandbox.guest.viewer import Viewer

_MOST_STDIN = 2**20
_LITTLE = 2**12
_DEAF_S = 0.001


class Busy(Exception):
    """A command is running; one at a time."""


class NoShell(Exception):
    """No shell can be started."""


class Runner:
    """Starts what is asked for and says when it is done."""

    def __init__(self, reaper: Reaper, text: int, poll: select.poll, guard: Guard) -> None:
        self._reaper = reaper
        self._text = text
        self._poll = poll
        self._guard = guard
        self._env: dict[str, str] = {}
        self._home = "/"
        self._rights = spawn.Rights()
        self._shell: Shell | None = None
        self._cwd: str | None = None
        self._viewer = Viewer(reaper, poll)
        self._deaf_until: float | None = None
        self.job: Job | None = None

    def configure(self, header: dict[str, Any]) -> None:
        """Take the session's settings: `env`, `home` (where it starts) and those of `spawn.Rights`."""
        self._env = {str(name): str(value) for name, value in header["env"].items()}
        self._home = str(header["home"])
        self._rights = spawn.Rights(int(header.get("cpu_seconds", 0)), bool(header.get("give_way")))

    @property
    def shell_pid(self) -> int | None:
        """The shell's process, when there is one."""
        return None if self._shell is None else self._shell.pid

    def begin(self, frame: Frame) -> Frame | None:
        """Start a request. Raises Busy, NoShell and OSError."""
        if self.job is not None or self._viewer.wakeup() is not None:
            raise Busy("another command is still running")
        self._guard.begin()
        if frame.kind == Kind.RUN:
            self._begin_in_shell(frame)
        elif frame.kind == Kind.EXEC:
            return self._begin_program(frame)
        else:
            self._viewer.begin(frame, self._env, self._home, self._rights)
        return None

    def _begin_in_shell(self, frame: Frame) -> None:
        shell = self._ready_shell()
        kills = self._guard.kernel_kills()
        late = shell.submit(frame.blob, bool(frame.header["merged"]))
        self.job = Job(frame.id, frame.header, shell.pid, shell.out, shell.err, in_shell=True)
        self.job.kernel_kills = kills
        if late:
            self.job.facts["late_bytes"] = late

    def _ready_shell(self) -> Shell:
        """The living shell, or a new one where the last one was."""
        self._reaper.reap()
        if self._shell is not None and self._reaper.code(self._shell.pid) is not None:
            self._drop_shell()
        if self._shell is None:
            try:
                self._shell = self._new_shell()
            except OSError:  # most likely its own leftovers hold all processes that it may have
                self._reaper.kill_all(lambda _: True)
                try:
                    self._shell = self._new_shell()
                except OSError as error:
                    raise NoShell(f"No shell can be started: {error}") from error
            for fd in self._shell.fds:
                self._poll.register(fd, select.POLLIN)
        return self._shell

    def _new_shell(self) -> Shell:
        return Shell(self._reaper, self._text, self._env, self._cwd or self._home, self._rights)

    def _drop_shell(self) -> None:
        if self._shell is not None:
            for fd in self._shell.fds:
                with contextlib.suppress(KeyError):
                    self._poll.unregister(fd)
            self._shell.close()
            self._shell = None

    def _begin_program(self, frame: Frame) -> Frame | None:
        header = frame.header
        stdin = _filled_pipe(frame.blob) if frame.blob else os.open(os.devnull, os.O_RDONLY)
        fds = [stdin]
        try:
            fds += os.pipe()
            fds += os.pipe()
            _, out, out_end, err, err_end = fds
            for fd in (out, err):
                os.set_blocking(fd, False)
            actions = [(spawn.DUP2, stdin, 0), (spawn.DUP2, out_end, 1), (spawn.DUP2, err_end, 2)]
            env = {**self._env, **header.get("env", {})}
            cwd = header.get("cwd")
            kills = self._guard.kernel_kills()
            pid = spawn.start(header["argv"], actions, env, cwd or self._home, self._rights, strict=bool(cwd))
            job = Job(frame.id, header, pid, out, err, in_shell=False)
        except BaseException as error:
            for fd in fds:
                os.close(fd)
            if not isinstance(error, OSError):
                raise
            text = f"{error.filename or header['argv'][0]}: {error.strerror}\n".encode()
            facts = {"code": 127, "stopped": "", "seconds": 0.0, "lengths": [0, 0, len(text), 0], "left_out": [0, 0]}
            return Frame(Kind.OK, frame.id, facts, text)
        for fd in (stdin, out_end, err_end):
            os.close(fd)
        self._reaper.watch(pid)
        for fd in (out, err):
            self._poll.register(fd, select.POLLIN)
        job.kernel_kills = kills
        self.job = job
        return None

    def wakeup(self) -> float | None:
        """When `progress` has to be called although nothing happened."""
        times = [] if self.job is None else [self.job.deadline]
        times += [when for when in (self._deaf_until, self._viewer.wakeup()) if when is not None]
        return min(times, default=None)

    def _pump(self, job: Job) -> None:
        """Take output. After a little of it do not listen for a moment: a loop that prints line by line would wake
        the agent for each, and wait for it."""
        moved = job.pump()
        if self._deaf_until is not None and time.monotonic() >= self._deaf_until:
            self._listen(job, select.POLLIN)
            self._deaf_until = None
        elif 0 < moved < _LITTLE and self._deaf_until is None:
            self._listen(job, 0)
            self._deaf_until = time.monotonic() + _DEAF_S

    def _listen(self, job: Job, events: int) -> None:
        for capture in (job.out, job.err):
            with contextlib.suppress(OSError):  # one that ended is not listened to any more
                self._poll.modify(capture.fd, events)

    def progress(self) -> list[Frame]:
        """Move output, look at the clock; gives the answers that are due."""
        answers = []
        if self.job is not None:
            answer = self._progress_in_shell(self.job) if self.job.in_shell else self._progress_program(self.job)
            if answer is not None:
                if self._deaf_until is not None:
                    self._listen(self.job, select.POLLIN)
                    self._deaf_until = None
                self.job = None
                answers.append(answer)
        if self._shell is not None and self.job is None:
            self._tidy_idle_shell(self._shell)
        screen = self._viewer.progress()
        if screen is not None:
            answers.append(screen)
        return answers

    def _tidy_idle_shell(self, shell: Shell) -> None:
        drain(shell.out)
        drain(shell.err)
        forged = False
        with contextlib.suppress(BlockingIOError):
            forged = bool(os.read(shell.status, 4096))
        if forged:  # nobody was asked, so nobody may answer
            self._kill_shell(shell)
        if self._reaper.code(shell.pid) is not None:
            self._drop_shell()

    def _kill_shell(self, shell: Shell) -> None:
        self._cwd = shell.cwd() or self._cwd
        self._reaper.kill_all(lambda process: process.pid == shell.pid)
        self._reaper.reap()
        self._drop_shell()

    def _progress_in_shell(self, job: Job) -> Frame | None:
        shell = self._shell
        assert shell is not None
        self._pump(job)
        try:
            code = shell.code()
        except Forged:
            self._reaper.kill_all(lambda process: process.pid == shell.pid or process.start >= job.since)
            self._drop_shell()
            job.facts.update(tampered=True, shell_restarted=True)
            return self._report(job, 137)
        if code is not None:
            job.pump()
            return self._report(job, code)
        ended = self._reaper.code(job.pid)
        if ended is not None:
            job.pump()
            self._drop_shell()
            job.facts["shell_restarted"] = True
            return self._report(job, ended)
        job.stopped = job.overdue()
        if not job.stopped:
            return None
        self._cwd = shell.cwd() or self._cwd
        if not shell.interrupt(self._reaper, job.since, job.pump):
            job.facts["shell_restarted"] = True
            self._kill_shell(shell)
        else:
            job.pump()
        return self._report(job, 0)

    def _progress_program(self, job: Job) -> Frame | None:
        self._pump(job)
        code = self._reaper.code(job.pid)
        if code is None:
            job.stopped = job.overdue()
            if not job.stopped:
                for capture in (job.out, job.err):  # a closed pipe would wake the loop again and again
                    if capture.ended:
                        with contextlib.suppress(KeyError):
                            self._poll.unregister(capture.fd)
                return None
            shell = self.shell_pid
            self._reaper.kill_all(lambda process: process.start >= job.since and process.pid != shell)
            code = 0
        job.pump()  # not until the end: a background process may hold the pipe open
        for capture in (job.out, job.err):
            with contextlib.suppress(KeyError):
                self._poll.unregister(capture.fd)
            os.close(capture.fd)
        return self._report(job, code)

    def _report(self, job: Job, code: int) -> Frame:
        if self._guard.kernel_kills() > job.kernel_kills:
            job.facts["out_of_memory"] = True
        header, data = job.report(code)
        return Frame(Kind.OK, job.request, header, data)


def _filled_pipe(data: bytes) -> int:
    """A pipe that holds all of `data`. Raises ValueError when no pipe of an ordinary user can."""
    if len(data) > _MOST_STDIN:
        raise ValueError(f"standard input may have at most {_MOST_STDIN} bytes, got {len(data)}; write a file")
    readable, writable = os.pipe()
    try:
        if len(data) > 2**12:
            fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, len(data))
        os.set_blocking(writable, False)
        if os.write(writable, data) != len(data):
            raise ValueError("the pipe for standard input is too small; write a file")
    except BaseException:
        os.close(readable)
        raise
    finally:
        os.close(writable)
    return readable
