"""`Viewer`: keystrokes into the interactive terminal, and what it shows after a while."""

from __future__ import annotations

import contextlib
import select
import signal
import time
from collections.abc import Mapping

from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.processes import Reaper, below_me, send
from agentworld_envs.backends.sandbox.guest.spawn import Rights
from agentworld_envs.backends.sandbox.guest.terminal import Terminal


class Viewer:
    """Opens the terminal with the first request, and a new one when its shell has ended."""

    def __init__(self, reaper: Reaper, poll: select.poll) -> None:
        self._reaper = reaper
        self._poll = poll
        self._terminal: Terminal | None = None
        self._request: int | None = None
        self._new = False
        self._settle_s = 0.0
        self._latest = 0.0
        self._due = 0.0

    def begin(self, frame: Frame, env: Mapping[str, str], home: str, rights: Rights) -> None:
        """Type, and look later: after `wait_s`, or once nothing was written for `settle_s`. Raises OSError."""
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
        self._latest = self._due = time.monotonic() + float(header["wait_s"])
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
        if terminal.ended:
            with contextlib.suppress(KeyError):
                self._poll.unregister(terminal.master)
        if self._request is None:
            return None
        if moved and self._settle_s:
            self._due = min(self._latest, time.monotonic() + self._settle_s)
        if time.monotonic() < self._due and not terminal.ended:
            return None
        request, self._request = self._request, None
        if terminal.ended:
            send([process for process in below_me() if process.pid == terminal.pid], signal.SIGKILL)
        return Frame(Kind.OK, request, {"new": self._new, "ended": terminal.ended}, terminal.take())
