"""`DockerSandbox`: one container, and what is kept of it."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.docker.layer import Layer
from agentworld_envs.backends.sandbox.docker.spec import largest_save
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.interface import SandboxDead, SandboxError
from agentworld_envs.interface.sandbox import Snapshot

if TYPE_CHECKING:
    from agentworld_envs.backends.sandbox.docker.provider import DockerProvider

_STILL_TIMEOUT_S = 15.0
_COPY_TIMEOUT_S = 60.0


class DockerSandbox(GuestSandbox):
    """One container with the agent as its first process."""

    def __init__(
        self, provider: DockerProvider, container: str, connection: Connection, channel: socket.socket
    ) -> None:
        """Use `DockerProvider.start`."""
        config = provider.config
        super().__init__(connection, config, home=config.home, give_way=config.limits.cpus > 0)
        self._provider = provider
        self._channel = channel
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
        folders = list(self._provider.config.shares())
        most = largest_save(self._provider.config)
        try:
            layer = Layer()
            try:
                self._save_into(layer, folders, most)
            except BaseException:
                layer.close()
                raise
        except SandboxError:
            raise
        except OSError as error:
            raise SandboxError(f"The files of the sandbox cannot be kept: {error}.") from error
        return DockerSnapshot(self._provider, layer)

    def _save_into(self, layer: Layer, folders: list[str], most: int) -> None:
        wanted = self._number(self._ask(Kind.SIZE, {"folders": folders}, timeout_s=_STILL_TIMEOUT_S), most)
        layer.reserve(wanted)
        answer = self._pass(layer, Kind.EXPORT, {"folders": folders})
        layer.seal(self._number(answer, min(most, layer.length)))

    def _number(self, answer: Frame, most: int) -> int:
        size = answer.header.get("size")
        if not isinstance(size, int) or not 0 <= size <= most:
            raise SandboxDead(f"The sandbox gave {size!r} as the size of its files, which cannot be more than {most}.")
        return size

    def load(self, layer: Layer) -> None:
        """Take over saved files in place of its own. Raises SandboxError, and ValueError when they were forgotten."""
        with self._connection.alone():
            self._pass(layer, Kind.IMPORT, {"size": layer.size})

    def _pass(self, layer: Layer, kind: Kind, header: dict[str, Any]) -> Frame:
        fd = layer.open()
        try:
            self._channel.settimeout(_STILL_TIMEOUT_S)
            socket.send_fds(self._channel, [b"f"], [fd])
            return self._ask(kind, header, timeout_s=_COPY_TIMEOUT_S)
        except SandboxError:
            raise
        except OSError as error:
            raise SandboxDead(f"The sandbox ended ({error}).") from error
        except BaseException:  # interrupted when the file was passed but not asked for: a later request would get it
            self._connection.close()
            raise
        finally:
            os.close(fd)

    def _end(self) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
        self._channel.close()
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
