"""`Pool`: sandboxes that are started before they are asked for."""

from __future__ import annotations

import collections
import contextlib
import os
import threading
from types import TracebackType
from typing import Protocol, Self

from agentworld_envs.interface import AgentWorldError, SandboxDead, SandboxError
from agentworld_envs.interface.sandbox import Sandbox

_WARM_TIMEOUT_S = 20.0
_PING_TIMEOUT_S = 2.0


class Starts(Protocol):
    """Whatever starts sandboxes, e.g. a `Provider`."""

    def start(self) -> Sandbox:
        """A new one. Raises SandboxError."""


class Pool:
    """Keeps up to `size` sandboxes ready, each with a running shell. None is ever used twice: a reset is a new one."""

    def __init__(self, provider: Starts, size: int, workers: int | None = None, *, after_s: float = 0.0) -> None:
        """Start to fill it, in the background.

        Args:
            provider: makes the sandboxes. Stays the caller's.
            size: how many to keep ready.
            workers: how many are started at a time; as many as there are cores when not given.
            after_s: seconds that a worker waits before it starts one, so that whoever took the last goes first.
        """
        self._provider = provider
        self._size = size
        self._after_s = after_s
        self._ready: collections.deque[Sandbox] = collections.deque()
        self._change = threading.Condition()
        self._starting = 0
        self._closed = False
        self._broken = False
        count = min(size, workers or len(os.sched_getaffinity(0)))
        self._workers = [threading.Thread(target=self._fill, name="sandbox-pool", daemon=True) for _ in range(count)]
        for worker in self._workers:
            worker.start()

    def __len__(self) -> int:
        return len(self._ready)

    def _fill(self) -> None:
        while True:
            with self._change:
                while not self._closed and (self._broken or len(self._ready) + self._starting >= self._size):
                    self._change.wait()
                if self._closed:
                    return
                self._starting += 1
                if self._after_s and self._ready:
                    self._change.wait_for(lambda: self._closed, self._after_s)
            sandbox = None
            try:
                sandbox = self._warm()
            except (AgentWorldError, OSError):
                self._broken = True  # whoever takes the next one tries it again and is told why
            finally:
                with self._change:
                    self._starting -= 1
                    late = self._closed
                    if sandbox is not None and not late:
                        self._ready.append(sandbox)
                    self._change.notify_all()
            if late and sandbox is not None:
                sandbox.close()

    def _warm(self) -> Sandbox:
        sandbox = self._provider.start()
        try:
            sandbox.run(":", _WARM_TIMEOUT_S).finished()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def take(self) -> Sandbox:
        """A sandbox that answers, from the pool or started now. The caller closes it.

        Raises:
            SandboxError: none can be started.
        """
        while True:
            with self._change:
                if self._closed:
                    raise SandboxError("The pool was closed.")
                sandbox = self._ready.popleft() if self._ready else None
                self._change.notify_all()
            if sandbox is None:
                sandbox = self._warm()
                with self._change:
                    self._broken = False
                    self._change.notify_all()
                return sandbox
            try:
                sandbox.ping(_PING_TIMEOUT_S)
                return sandbox
            except SandboxDead:
                sandbox.close()

    def wait_full(self, timeout_s: float) -> bool:
        """Wait until as many are ready as there should be. Gives whether they are."""
        with self._change:
            return self._change.wait_for(lambda: len(self._ready) >= self._size or self._broken, timeout_s)

    def close(self) -> None:
        """End all that were not taken. Closing twice does nothing."""
        with self._change:
            self._closed = True
            ready = list(self._ready)
            self._ready.clear()
            self._change.notify_all()
        for worker in self._workers:
            worker.join(_WARM_TIMEOUT_S)
        for sandbox in ready:
            with contextlib.suppress(SandboxError):
                sandbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
