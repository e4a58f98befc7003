"""`BackgroundLoop`: one event loop on one thread, for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

T = TypeVar("T")

JOIN_S: Final = 5.0
"""How long `close` waits for the thread."""


class BackgroundLoop:
    """Runs coroutines on its own daemon thread; the thread starts with the first one.

    Works from any thread, from inside another running loop (a notebook), and after a fork: the child, which has no
    copy of the thread, starts its own.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._dropped: set[asyncio.Task[Any]] = set()

    @property
    def fresh(self) -> bool:
        """Whether nothing runs in this process yet: what belongs to an earlier loop must not be used."""
        return self._loop is None or self._pid != os.getpid()

    def drop(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run to the end without waiting when called on the loop's own thread (the garbage collector may be)."""
        if self._loop is not None and threading.current_thread() is self._thread:
            task = self._loop.create_task(coroutine)
            self._dropped.add(task)
            task.add_done_callback(self._dropped.discard)
        else:
            self.run(coroutine)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run to the end and return the result. Interrupting the caller cancels the coroutine."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._running())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._pid != os.getpid():
            # The parent may have held the lock while it forked.
            self._lock, self._loop, self._thread, self._pid = threading.Lock(), None, None, os.getpid()
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(loop,), name=self.name, daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    def close(self) -> None:
        """Cancel what runs and stop the thread. Idempotent; `run` starts a new one."""
        if self._pid != os.getpid():
            return
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(JOIN_S)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
