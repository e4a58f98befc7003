"""Sandboxes of Linux namespaces: the provider, and one sandbox."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from agentworld_envs.backends.sandbox import leases
from agentworld_envs.backends.sandbox.bounds import namespace_bounds, why_unusable
from agentworld_envs.backends.sandbox.config import NamespaceConfig
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest.frames import Kind
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.backends.sandbox.roots import digest
from agentworld_envs.backends.sandbox.zygote import Layers, Zygote
from agentworld_envs.interface import AgentWorldError, SandboxDead, SandboxError
from agentworld_envs.interface.machines import Provider
from agentworld_envs.interface.sandbox import Sandbox, Snapshot
from agentworld_envs.interface.sandbox_facts import Bound, Usability

_Made = TypeVar("_Made")
_STILL_TIMEOUT_S = 15.0
_MOST_LAYERS = 24
"""Deeper stacks are flattened: every lookup of a file that is not there asks each layer."""


class NamespaceSandbox(GuestSandbox):
    """One sandbox of namespaces."""

    def __init__(self, provider: NamespaceProvider, number: int, connection: Connection, layers: list[int]) -> None:
        """Use `NamespaceProvider.start`."""
        config = provider.config
        give_way = "cpu" in provider.zygote.facts["controllers"] and config.limits.cpus > 0
        super().__init__(connection, config, home=config.home, give_way=give_way)
        self._provider = provider
        self._number = number
        self._layers = layers
        self._ended = False
        self._ending = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The agent's pid on this machine."""
        return self._provider.zygote.pid(self._number)

    def snapshot(self) -> NamespaceSnapshot:
        limits = self._provider.config.limits
        zygote = self._provider.zygote
        layer = self._while_still(lambda: zygote.copy(self._number, limits.disk_mb * 2**20, limits.inodes), zygote.drop)
        return NamespaceSnapshot(self._provider, [layer, *self._layers])

    def fork(self) -> Sandbox:
        if len(self._layers) >= _MOST_LAYERS:
            return super().fork()
        return self._provider.fork(self)

    def _while_still(self, work: Callable[[], _Made], undo: Callable[[_Made], object]) -> _Made:
        """Hold all processes still for some work, which is undone when one of them went on nevertheless."""
        made: _Made | None = None
        still = False
        try:
            if self._ask(Kind.FREEZE, {}, timeout_s=_STILL_TIMEOUT_S).header.get("quiet"):
                made = work()
        finally:
            try:
                still = self._thaw()
            finally:
                if made is not None and not still:
                    undo(made)
        if made is None or not still:
            raise SandboxError("Its processes do not stay at rest, so that its files cannot be copied; use freeze.")
        return made

    def _thaw(self) -> bool:
        """Let it go on; gives whether nothing in it ran since it was held."""
        return bool(self._ask(Kind.THAW, {}, timeout_s=_STILL_TIMEOUT_S).header.get("still"))

    def freeze(self) -> NamespaceSnapshot:
        with self._ending:
            if self._ended:
                raise SandboxDead(self._connection.dead or "The sandbox was closed.")
            self._ended = True
            self._connection.close()
            try:
                layer = self._provider.zygote.end(self._number, keep=True)
                assert layer is not None
                return NamespaceSnapshot(self._provider, [layer, *self._layers])
            finally:
                self._provider.forget(self)
                self._provider.layers.give(self._layers)

    def _end(self) -> None:
        with self._ending:
            if self._ended:
                return
            self._ended = True
            with contextlib.suppress(SandboxError):  # its machinery is gone, and so is it
                self._provider.zygote.end(self._number, keep=False)
        self._provider.forget(self)
        self._provider.layers.give(self._layers)


class NamespaceSnapshot(Snapshot):
    """Frozen layers, the newest first."""

    def __init__(self, provider: NamespaceProvider, layers: list[int]) -> None:
        self._provider = provider
        self._layers = layers
        self._closed = False
        provider.layers.take(layers)
        if len(layers) > _MOST_LAYERS:
            limits = provider.config.limits
            flat = [provider.zygote.flatten(layers, limits.disk_mb * 2**20, limits.inodes)]
            provider.layers.take(flat)
            self._layers = flat
            provider.layers.give(layers)

    def start(self) -> NamespaceSandbox:
        if self._closed:
            raise SandboxError("The snapshot was closed.")
        return self._provider.start_on(self._layers)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._provider.layers.give(self._layers)


class NamespaceProvider(Provider):
    """Starts its zygote with the first sandbox."""

    def __init__(self, config: NamespaceConfig) -> None:
        """Starts nothing."""
        self.config = config
        self._lock = threading.Lock()
        self._zygote: Zygote | None = None
        self._layers: Layers | None = None
        self._living: set[NamespaceSandbox] = set()
        self._shut = False

    @property
    def zygote(self) -> Zygote:
        """The process that makes the sandboxes. Raises SandboxError when it cannot be had."""
        with self._lock:
            if self._shut:
                raise SandboxError("The provider was shut down.")
            if self._zygote is None:
                leases.sweep()
                self._zygote = Zygote()
                self._layers = Layers(self._zygote)
            return self._zygote

    @property
    def layers(self) -> Layers:
        """Who needs which layer."""
        assert self._layers is not None, "the zygote was never started"
        return self._layers

    def probe(self) -> Usability:
        if not sys.platform.startswith("linux"):
            return Usability(False, f"Namespaces are a part of Linux, this is {sys.platform}.", "Use docker.")
        try:
            with self.start() as sandbox:
                sandbox.run("true", 10.0).finished()
        except AgentWorldError as error:
            return why_unusable(str(error))
        return Usability(True, "Namespaces work " + ("(as root)." if self.zygote.facts["root"] else "unprivileged."))

    def bounds(self) -> list[Bound]:
        return namespace_bounds(self.zygote.facts, self.config)

    def describe(self) -> dict[str, Any]:
        root = self.config.rootfs
        return {"kind": "namespace", "root": root, "digest": digest.of_folder("/" if root == "host" else root)}

    def start(self) -> NamespaceSandbox:
        return self.start_on([])

    def start_on(self, layers: list[int]) -> NamespaceSandbox:
        """A new sandbox on frozen layers, the newest first. Raises SandboxError."""
        zygote = self.zygote
        self.layers.take(layers)
        try:
            number, stream = zygote.start(self._spec(layers))
        except BaseException:
            self.layers.give(layers)
            raise
        return self._opened(number, stream, layers)

    def fork(self, origin: NamespaceSandbox) -> NamespaceSandbox:
        """A new sandbox with the files of another one, started while they are copied. Raises SandboxError."""
        zygote = self.zygote
        spec = self._spec(origin._layers)

        def undo(made: tuple[int, socket.socket, int]) -> None:
            made[1].close()
            zygote.end(made[0], keep=False)
            zygote.drop(made[2])

        number, stream, layer = origin._while_still(lambda: zygote.fork(origin._number, spec), undo)
        layers = [layer, *origin._layers]
        self.layers.take(layers)
        return self._opened(number, stream, layers)

    def _spec(self, layers: list[int]) -> dict[str, Any]:
        limits = self.config.limits
        return {
            "rootfs": self.config.rootfs,
            "layers": layers,
            "writable": list(self.config.writable),
            "hostname": self.config.hostname,
            "uid": self.config.uid,
            "memory": limits.memory_mb * 2**20,
            "swap": limits.swap_mb * 2**20,
            "disk": limits.disk_mb * 2**20,
            "inodes": limits.inodes,
            "pids": limits.pids,
            "cpus": limits.cpus,
            "open_files": limits.open_files,
        }

    def _opened(self, number: int, stream: socket.socket, layers: list[int]) -> NamespaceSandbox:
        sandbox = NamespaceSandbox(self, number, Connection(stream), layers)
        with self._lock:
            self._living.add(sandbox)
        try:
            sandbox.open()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def forget(self, sandbox: NamespaceSandbox) -> None:
        """A sandbox has ended."""
        with self._lock:
            self._living.discard(sandbox)

    def shutdown(self) -> None:
        with self._lock:
            living, self._living = list(self._living), set()
            zygote, self._zygote = self._zygote, None
            self._shut = True
        for sandbox in living:
            sandbox._connection.close()
        if zygote is not None:
            zygote.close()
