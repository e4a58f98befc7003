"""`DockerProvider`: starts containers before they are asked for, and removes each after its use."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from typing import Any

from agentworld_envs.backends.sandbox.config import DockerConfig
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.docker.bounds import docker_bounds
from agentworld_envs.backends.sandbox.docker.daemon import Daemon, sdk
from agentworld_envs.backends.sandbox.docker.door import Door
from agentworld_envs.backends.sandbox.docker.janitor import Janitor
from agentworld_envs.backends.sandbox.docker.owner import LEASE, Lease
from agentworld_envs.backends.sandbox.docker.removal import Removal, sweep
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox, DockerSnapshot
from agentworld_envs.backends.sandbox.docker.spec import settings
from agentworld_envs.backends.sandbox.guest_sandbox import START_TIMEOUT_S
from agentworld_envs.backends.sandbox.pool import Pool
from agentworld_envs.backends.sandbox.roots.digest import digest_of_image
from agentworld_envs.interface import AgentWorldError, SandboxError
from agentworld_envs.interface.machines import Provider
from agentworld_envs.interface.sandbox_facts import Bound, Usability

_AFTER_S = 0.03
"""Seconds between the taking of a warm container and the start of the next: an episode's first command goes first."""
_log = logging.getLogger(__name__)


class _Cold:
    """Starts containers now, for the pool."""

    def __init__(self, provider: DockerProvider) -> None:
        self._provider = provider

    def start(self) -> DockerSandbox:
        return self._provider.start_cold()


class _Works:
    """What a provider needs once it starts containers."""

    def __init__(self, provider: DockerProvider) -> None:
        self.janitor = Janitor(provider.daemon.socket_path, provider.lease)
        self.removal = Removal(provider.daemon)
        warm = provider.config.warm
        self.pool = Pool(_Cold(provider), warm, after_s=_AFTER_S) if warm else None


class DockerProvider(Provider):
    """Sweeps and begins to fill its pool with the first sandbox."""

    def __init__(self, config: DockerConfig) -> None:
        """Starts nothing."""
        self.config = config
        self.daemon = Daemon(config.host, config.api_timeout_s)
        self.lease = Lease.new()
        """Whose all of its containers are."""
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        # The daemon starts no more at a time than there are cores.
        # Whoever else waits is to wait here and not in a request.
        self._at_a_time = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))
        self._works: _Works | None = None
        self._living: set[DockerSandbox] = set()
        self._kept: set[DockerSnapshot] = set()
        self._shut = False

    def probe(self) -> Usability:
        if not sys.platform.startswith("linux"):
            return Usability(
                False, f"The daemon has to share sockets with this machine, this is {sys.platform}.", "Use Linux."
            )
        try:
            sdk()
            self.daemon.image(self.config.image)
            with self.start() as sandbox:
                sandbox.run("true", 10.0).finished()
        except AgentWorldError as error:
            what, _, to_do = str(error).rpartition(". ")
            return Usability(False, f"{what}." if what else to_do, to_do if what else "")
        return Usability(True, f"Containers of {self.config.image} work.")

    def bounds(self) -> list[Bound]:
        return docker_bounds(self.daemon.info(), self.config)

    def describe(self) -> dict[str, Any]:
        image = self.daemon.image(self.config.image)
        return {
            "kind": "docker",
            "root": self.config.image,
            "digest": digest_of_image(image),
            "image_id": str(image["Id"]),
        }

    def _begun(self) -> _Works:
        if os.getpid() != self.lease.owner.pid:
            raise SandboxError("Sandboxes belong to the process that started them, not to a forked child of that.")
        with self._lock:
            if self._shut:
                raise SandboxError("The provider was shut down.")
            if self._works is None:
                sweep(self.daemon)
                self._works = _Works(self)
            return self._works

    def start(self) -> DockerSandbox:
        pool = self._begun().pool
        if pool is None:
            return self.start_cold()
        sandbox = pool.take()
        assert isinstance(sandbox, DockerSandbox)
        return sandbox

    def start_cold(self) -> DockerSandbox:
        """A new container that was not started before. Raises SandboxError."""
        works = self._begun()
        name = f"{self.lease.name}-{next(self._numbers)}"
        try:
            with self._at_a_time, Door(self.lease, self.config.hostname) as door:
                container = self.daemon.create(name, settings(self.config, door.folder, self.lease.labels()))
                self.daemon.start(container)
                stream = door.wait(START_TIMEOUT_S, lambda: self._runs(container))
                try:
                    channel = door.wait(START_TIMEOUT_S, lambda: self._runs(container))
                except BaseException:
                    stream.close()
                    raise
            sandbox = DockerSandbox(self, container, Connection(stream), channel)
        except BaseException:
            works.removal.add(name)
            raise
        with self._lock:
            shut = self._shut
            self._living.add(sandbox)
        try:
            if shut:
                raise SandboxError("The provider was shut down.")
            sandbox.open()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def _runs(self, container: str) -> bool:
        state = self.daemon.state(container)
        return state is not None and bool(state.get("Running"))

    def forget(self, sandbox: DockerSandbox) -> None:
        """A sandbox has ended: its container goes, in the background."""
        with self._lock:
            self._living.discard(sandbox)
            works = self._works
        if works is not None:
            works.removal.add(sandbox.container)

    def keep(self, snapshot: DockerSnapshot) -> None:
        """There is one more snapshot."""
        with self._lock:
            self._kept.add(snapshot)

    def drop(self, snapshot: DockerSnapshot) -> None:
        """There is one less."""
        with self._lock:
            self._kept.discard(snapshot)

    def shutdown(self) -> None:
        with self._lock:
            if self._shut:
                return
            works, self._shut = self._works, True
        if works is None or os.getpid() != self.lease.owner.pid:
            self.daemon.close()
            return
        if works.pool is not None:
            works.pool.close()
        with self._lock:
            living, kept = list(self._living), list(self._kept)
        for sandbox in living:
            sandbox.close()
        for snapshot in kept:
            snapshot.close()
        works.removal.close()
        try:
            for container in self.daemon.containers(f"{LEASE}={self.lease.name}"):
                self.daemon.remove(container["Id"])
        except SandboxError as error:  # the agents have ended, the daemon removes them when it is back
            _log.warning("Containers may be left until the daemon is back: %s", error)
        works.janitor.close()
        with self._lock:
            self._works = None
        self.daemon.close()
