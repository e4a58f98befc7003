"""`Viewer`: keystrokes into the interactive terminal, and what it shows after a while."""

from __future__ import annotations

import contextlib
import select
import signal
import time
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest.attention import Attention
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.processes import Reaper, below_me, send
from agentworld_envs.backends.sandbox.guest.spawn import Rights
from agentworld_envs.backends.sandbox.guest.terminal import Terminal

_QUIET_S = 0.03
"""How long a program in the foreground, other than the shell, has to wait for input in silence."""
_SOONEST_S, _LATEST_S = 0.0005, 0.01
"""Between two looks at who waits for what."""


class Viewer:
    """Opens the terminal with the first request, and a new one when its shell has ended."""

    def __init__(self, reaper: Reaper, poll: select.poll) -> None:
        self._reaper = reaper
        self._poll = poll
        self._terminal: Terminal | None = None
        self._request: int | None = None
        self._new = False
        self._settle_s = 0.0
        self._until_idle = False
        self._pause_s = _SOONEST_S
        self._quiet_since = 0.0
        self._latest = 0.0
        self._due = 0.0

    @property
    def shell_pid(self) -> int | None:
        """The terminal's shell, when there is one."""
        return None if self._terminal is None else self._terminal.pid

    def is_idle_shell(self, pid: int) -> bool:
        """Whether a process is the terminal's shell, still the program that it was."""
        return self._terminal is not None and self._terminal.is_idle_shell(pid)

    def begin(self, frame: Frame, env: Mapping[str, str], home: str, rights: Rights) -> None:
        """Type, and look later: after `wait_s`, once nothing was written for `settle_s`, or, `until_idle`, once all was
        taken and somebody waits for more. Raises OSError."""
        header = frame.header
        self._new = self._terminal is None or self._terminal.ended
        if self._new:
            self._close()
            self._terminal = Terminal(
                self._reaper, int(header["rows"]), int(header["columns"]), {**env, **header["env"]}, home, rights
            )
            self._poll.register(self._terminal.master, select.POLLIN)
        assert self._terminal is not None
        self._terminal.type(frame.blob)
        self._settle_s = float(header["settle_s"])
        self._until_idle = bool(header["until_idle"])
        self._quiet_since = time.monotonic()
        self._latest = self._due = self._quiet_since + float(header["wait_s"])
        if self._until_idle:
            self._pause_s = _SOONEST_S
            self._due = self._quiet_since
        self._request = frame.id

    def _close(self) -> None:
        if self._terminal is not None:
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._terminal.master)
            self._terminal.close()
            self._terminal = None

    def wakeup(self) -> float | None:
        """When it is time to look, `None` when nobody asked."""
        return None if self._request is None else self._due

    def progress(self) -> Frame | None:
        """Move bytes; gives the answer when it is due."""
        terminal = self._terminal
        if terminal is None:
            return None
        moved = terminal.pump()
        terminal.type(b"")
        if self._request is None:
            return None
        now = time.monotonic()
        if moved:
            self._quiet_since, self._pause_s = now, _SOONEST_S
        if self._until_idle:
            self._due = min(self._latest, self._next_look(terminal, now))
        elif moved and self._settle_s:
            self._due = min(self._latest, now + self._settle_s)
        ended = terminal.ended
        if now < self._due and not ended:
            return None
        terminal.pump()
        request, self._request = self._request, None
        if ended:
            send([process for process in below_me() if process.pid == terminal.pid], signal.SIGKILL)
        return Frame(Kind.OK, request, {"new": self._new, "ended": ended}, terminal.take())

    def _next_look(self, terminal: Terminal, now: float) -> float:
        """When to look at the screen or to ask again; a time that has come when it is to be looked at now."""
        who = terminal.attention()
        if who is Attention.SHELL:
            return now
        if who is Attention.PROGRAM:
            return self._quiet_since + (self._settle_s or _QUIET_S)
        self._quiet_since = now
        self._pause_s = min(self._pause_s * 1.5, _LATEST_S)
        return now + self._pause_s
