"""`Runner`: what the agent has going: a session's shell, a program apart from it, a terminal. One thing at a time."""

from __future__ import annotations

import contextlib
import select
import time
from typing import Any

from agentworld_envs.backends.sandbox.guest import spawn
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.guard import Guard
from agentworld_envs.backends.sandbox.guest.job import Job
from agentworld_envs.backends.sandbox.guest.processes import Reaper, listing
from agentworld_envs.backends.sandbox.guest.program import Program, not_started
from agentworld_envs.backends.sandbox.guest.session import Session
from agentworld_envs.backends.sandbox.guest.viewer import Viewer

_LITTLE = 2**12
_DEAF_S = 0.001
_IN_SHELL = (Kind.RUN, Kind.SAVE, Kind.RESTORE)


class Busy(Exception):
    """A command is running; one at a time."""


class Runner:
    """Starts what is asked for and says when it is done."""

    def __init__(self, reaper: Reaper, text: int, poll: select.poll, guard: Guard) -> None:
        self._reaper = reaper
        self._poll = poll
        self._guard = guard
        self._env: dict[str, str] = {}
        self._home = "/"
        self._rights = spawn.Rights()
        self._session = Session(reaper, text, poll)
        self._viewer = Viewer(reaper, poll)
        self._program: Program | None = None
        self._deaf_until: float | None = None
        self.job: Job | None = None

    def configure(self, header: dict[str, Any]) -> None:
        """Take the session's settings: `env`, `home` (where it starts) and those of `spawn.Rights`."""
        self._env = {str(name): str(value) for name, value in header["env"].items()}
        self._home = str(header["home"])
        self._rights = spawn.Rights(int(header.get("cpu_seconds", 0)), bool(header.get("give_way")))
        self._session.configure(self._env, self._home, self._rights)

    @property
    def shell_pid(self) -> int | None:
        """The shell's process, when there is one."""
        return self._session.pid

    def begin(self, frame: Frame) -> Frame | None:
        """Start a request; gives the answer where that is known already. Raises Busy, NoShell, Unusable and OSError."""
        if self.job is not None or self._viewer.wakeup() is not None:
            raise Busy("another command is still running")
        self._guard.begin()
        if frame.kind == Kind.TERMINAL:
            self._viewer.begin(frame, self._env, self._home, self._rights)
            return None
        kills = self._guard.kernel_kills()
        if frame.kind in _IN_SHELL:
            self.job = self._session.begin(frame, self._viewer.shell_pid)
        else:
            try:
                self._program = Program(frame, self._reaper, self._poll, self._env, self._home, self._rights)
            except OSError as error:
                return Frame(Kind.OK, frame.id, *not_started(frame, error))
            self.job = self._program.job
        self.job.kernel_kills = kills
        return None

    def processes(self) -> bytes:
        """Who runs besides the agent and its shells that wait for commands."""
        self._reaper.reap()
        return listing(lambda pid: self._session.is_idle_shell(pid) or self._viewer.is_idle_shell(pid))

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
            answer = self._progress(self.job)
            if answer is not None:
                if self._deaf_until is not None:
                    self._listen(self.job, select.POLLIN)
                    self._deaf_until = None
                self.job = self._program = None
                answers.append(answer)
        if self.job is None:
            self._session.tidy()
        screen = self._viewer.progress()
        if screen is not None:
            answers.append(screen)
        return answers

    def _progress(self, job: Job) -> Frame | None:
        self._pump(job)
        code = self._session.progress(job) if self._program is None else self._program.progress(self.shell_pid)
        if code is None:
            return None
        if self._guard.kernel_kills() > job.kernel_kills:
            job.facts["out_of_memory"] = True
        header, data = job.report(code)
        return Frame(Kind.OK, job.request, header, data)
