"""`DockerSandbox`: one container, and what is kept of it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agentworld_envs.backends.sandbox.config import DOCKER_SHM
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.docker.layer import PIECE, Layer
from agentworld_envs.backends.sandbox.guest.frames import Kind
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.interface import SandboxDead, SandboxError
from agentworld_envs.interface.sandbox import Snapshot

if TYPE_CHECKING:
    from agentworld_envs.backends.sandbox.docker.provider import DockerProvider

_STILL_TIMEOUT_S = 15.0
_PIECE_TIMEOUT_S = 60.0
_RECORD = 2**12
"""Bytes beyond its contents that one saved file may take: names are short, notes shorter."""


class DockerSandbox(GuestSandbox):
    """One container with the agent as its first process."""

    def __init__(self, provider: DockerProvider, container: str, connection: Connection) -> None:
        """Use `DockerProvider.start`."""
        config = provider.config
        super().__init__(connection, config, home=config.home, give_way=config.limits.cpus > 0)
        self._provider = provider
        self.container = container
        """The container's id."""
        self._ended = False
        self._ending = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The agent's pid on this machine, `None` when it is gone."""
        state = self._provider.daemon.state(self.container)
        return int(state["Pid"]) or None if state is not None else None

    def snapshot(self) -> DockerSnapshot:
        with self._connection.alone():
            try:
                if not self._ask(Kind.FREEZE, {}, timeout_s=_STILL_TIMEOUT_S).header.get("quiet"):
                    raise SandboxError(
                        "Its processes do not come to rest, so that its files cannot be copied; use freeze."
                    )
                return self._save()
            finally:
                self._ask(Kind.THAW, {}, timeout_s=_STILL_TIMEOUT_S)

    def freeze(self) -> DockerSnapshot:
        try:
            with self._connection.alone():
                if not self._ask(Kind.KILL, {}, timeout_s=_STILL_TIMEOUT_S).header.get("none_left"):
                    raise SandboxError("Its processes cannot be ended, so that its files cannot be kept.")
                return self._save()
        finally:
            self.close()

    def _save(self) -> DockerSnapshot:
        """Copy all writable folders. Nothing may run meanwhile."""
        limits = self._settings.limits
        shares = self._provider.config.shares()
        most = int((sum(shares.values()) + DOCKER_SHM) * (limits.disk_mb * 2**20 + limits.inodes * _RECORD))
        try:
            layer = Layer()
        except OSError as error:
            raise SandboxError(f"This machine cannot keep the files: {error}.") from error
        try:
            folders: list[str] | None = list(shares)
            more = True
            while more:
                answer = self._ask(
                    Kind.EXPORT, {"folders": folders, "size": PIECE}, timeout_s=_PIECE_TIMEOUT_S, most=PIECE
                )
                layer.add(answer.blob)
                folders, more = None, bool(answer.header.get("more")) and bool(answer.blob)
                if layer.size > most:
                    raise SandboxDead(f"The sandbox gave more than the {most} bytes that its files can be.")
            return DockerSnapshot(self._provider, layer)
        except BaseException as error:
            layer.close()
            if isinstance(error, OSError) and not isinstance(error, SandboxError):
                raise SandboxError(f"This machine cannot keep the files: {error}.") from error
            raise

    def load(self, layer: Layer) -> None:
        """Take over saved files in place of its own. Raises SandboxError."""
        with self._connection.alone():
            done = False
            first = True
            for piece in layer.pieces():
                answer = self._ask(Kind.IMPORT, {"first": first}, piece, timeout_s=_PIECE_TIMEOUT_S)
                done, first = bool(answer.header.get("done")), False
            if not done:
                raise SandboxError("The snapshot is not complete, so that no sandbox can be started from it.")

    def _end(self) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
        self._provider.forget(self)


class DockerSnapshot(Snapshot):
    """Saved files."""

    def __init__(self, provider: DockerProvider, layer: Layer) -> None:
        """Use `DockerSandbox.snapshot`."""
        self._provider = provider
        self._layer = layer
        provider.keep(self)

    def start(self) -> DockerSandbox:
        sandbox = self._provider.start()
        try:
            sandbox.load(self._layer)
        except ValueError:
            sandbox.close()
            raise SandboxError("The snapshot was closed.") from None
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def close(self) -> None:
        self._layer.close()
        self._provider.drop(self)
