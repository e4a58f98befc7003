"""Removing containers: one's own in the background, and those of dead owners."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time

from agentworld_envs.backends.sandbox.docker.daemon import Daemon
from agentworld_envs.backends.sandbox.docker.owner import LEASE, Lease, sweep_folders
from agentworld_envs.interface import SandboxError

_AFTER_S = 0.3
"""Seconds in which a container is expected to be gone by itself."""
_log = logging.getLogger(__name__)


class Removal:
    """Threads that remove containers, so that nobody waits for the daemon. The daemon removes them by itself when their
    agent ends; this makes sure of it."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._queue: queue.SimpleQueue[tuple[str, float] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        count = len(os.sched_getaffinity(0))
        self._workers = [threading.Thread(target=self._work, name="sandbox-removal", daemon=True) for _ in range(count)]
        for worker in self._workers:
            worker.start()

    def add(self, container: str) -> None:
        """Remove a container soon, by its id or name."""
        self._queue.put((container, time.monotonic() + _AFTER_S))

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            container, when = item
            self._closing.wait(max(0.0, when - time.monotonic()))
            try:
                self._daemon.remove(container)
            except SandboxError as error:  # shutdown, the janitor or the next sweep tries again
                _log.info("A container could not be removed now: %s", error)

    def close(self) -> None:
        """Remove what is to be removed, and end."""
        self._closing.set()
        for _ in self._workers:
            self._queue.put(None)
        for worker in self._workers:
            worker.join()


def sweep(daemon: Daemon) -> list[str]:
    """Remove containers and folders of provably dead owners, and nothing of anybody else.

    Containers end with their owner. Left can be those that were made but never started, and those that a daemon which
    was down could not remove.

    Returns:
        Names of what was removed.

    Raises:
        SandboxError: the daemon does not answer.
    """
    removed = []
    for container in daemon.containers(LEASE):
        lease = Lease.of_labels(container.get("Labels") or {})
        if lease is not None and lease.is_dead():
            daemon.remove(container["Id"])
            removed.append(container["Names"][0].lstrip("/") if container.get("Names") else container["Id"])
    return removed + sweep_folders()
