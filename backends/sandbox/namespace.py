"""Sandboxes of Linux namespaces: the provider, its zygote process, and one sandbox."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any

from agentworld_envs.backends.sandbox import launcher, leases
from agentworld_envs.backends.sandbox.base import Bound, Provider, Snapshot, Usability
from agentworld_envs.backends.sandbox.bounds import namespace_bounds, why_unusable
from agentworld_envs.backends.sandbox.config import NamespaceConfig
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest.frames import Kind
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.interface import AgentWorldError, SandboxDead, SandboxError

_MAX_MESSAGE = 2**17
_ANSWER_TIMEOUT_S = 90.0
_START_TIMEOUT_S = 20.0
_MOST_LAYERS = 24
"""Deeper stacks are flattened: every lookup of a file that is not there asks each layer."""


class Zygote:
    """The process that makes the sandboxes of this one. Requests are answered one after the other."""

    def __init__(self) -> None:
        """Start it. Raises SandboxError when this machine does not allow namespaces."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._group = leases.Owner.this_process().group()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        with theirs:
            folder = os.path.dirname(os.path.abspath(launcher.__file__))
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", folder],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
            )
        try:
            self._control.settimeout(_START_TIMEOUT_S)
            self.facts = self._ask({"group": self._group, "owner": os.getpid()})
        except BaseException:
            self.close()
            raise

    @property
    def process_id(self) -> int:
        """Its pid. All sandboxes are processes below it."""
        pid: int = self._process.pid
        return pid

    def _ask(self, request: dict[str, Any], fd: int | None = None) -> dict[str, Any]:
        if os.getpid() != self._owner:
            raise SandboxError("Sandboxes belong to the process that started them, not to a forked child of that.")
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(request).encode()], [] if fd is None else [fd])
                data = self._control.recv(_MAX_MESSAGE)
            except OSError as error:
                self._control.close()  # an answer that comes late would be taken for another's
                raise SandboxError(f"The process that makes sandboxes does not answer: {error}.") from error
        if not data:
            raise SandboxError("The process that makes sandboxes has ended. Make a new provider.")
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise SandboxError(f"The sandbox could not be handled: {answer['error']}")
        return answer

    def start(self, spec: dict[str, Any]) -> tuple[int, socket.socket]:
        """Ask for a sandbox; gives its number and the stream to its agent. Raises SandboxError."""
        ours, theirs = socket.socketpair()
        number = next(self._numbers)
        self._control.settimeout(_ANSWER_TIMEOUT_S)
        with theirs:
            try:
                self._ask({"do": "start", "id": number, "spec": spec}, theirs.fileno())
            except BaseException:
                ours.close()
                raise
        return number, ours

    def end(self, number: int, keep: bool) -> int | None:
        """End a sandbox and wait for that; gives the number of its layer when it is to be kept."""
        layer: int | None = self._ask({"do": "end", "id": number, "keep": keep})["layer"]
        return layer

    def copy(self, number: int, disk: int, inodes: int) -> int:
        """Copy what a sandbox wrote into a new layer."""
        return int(self._ask({"do": "copy", "id": number, "disk": disk, "inodes": inodes})["layer"])

    def flatten(self, layers: list[int], disk: int, inodes: int) -> int:
        """One layer in place of many."""
        return int(self._ask({"do": "flatten", "layers": layers, "disk": disk, "inodes": inodes})["layer"])

    def drop(self, layer: int) -> None:
        """Forget a layer."""
        self._ask({"do": "drop", "layer": layer})

    def pid(self, number: int) -> int | None:
        """The agent's pid on this machine."""
        pid: int | None = self._ask({"do": "pid", "id": number})["pid"]
        return pid

    def close(self) -> None:
        """End it, and all that it made, and wait for that."""
        with contextlib.suppress(OSError):
            if os.getpid() == self._owner:
                self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        if os.getpid() != self._owner:
            return
        try:
            self._process.wait(_START_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode != 0:  # it could not tidy up
            leases.remove_groups(self._group)


class Layers:
    """Counts who needs which frozen layer, so that each is dropped with its last user."""

    def __init__(self, zygote: Zygote) -> None:
        self._zygote = zygote
        self._lock = threading.Lock()
        self._users: dict[int, int] = {}

    def take(self, layers: list[int]) -> None:
        """One more user of each."""
        with self._lock:
            for layer in layers:
                self._users[layer] = self._users.get(layer, 0) + 1

    def give(self, layers: list[int]) -> None:
        """One user less."""
        with self._lock:
            unused = []
            for layer in layers:
                self._users[layer] -= 1
                if not self._users[layer]:
                    del self._users[layer]
                    unused.append(layer)
        for layer in unused:
            with contextlib.suppress(SandboxError):
                self._zygote.drop(layer)


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
        self._ask(Kind.FREEZE, {}, timeout_s=5.0)
        try:
            layer = self._provider.zygote.copy(self._number, limits.disk_mb * 2**20, limits.inodes)
        finally:
            self._ask(Kind.THAW, {}, timeout_s=5.0)
        return NamespaceSnapshot(self._provider, [layer, *self._layers])

    def freeze(self) -> NamespaceSnapshot:
        with self._ending:
            if self._ended:
                raise SandboxDead(self._connection.dead or "The sandbox was closed.")
            self._ended = True
            self._connection.close()
            layer = self._provider.zygote.end(self._number, keep=True)
        assert layer is not None
        snapshot = NamespaceSnapshot(self._provider, [layer, *self._layers])
        self._provider.forget(self)
        self._provider.layers.give(self._layers)
        return snapshot

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

    def start(self) -> NamespaceSandbox:
        return self.start_on([])

    def start_on(self, layers: list[int]) -> NamespaceSandbox:
        """A new sandbox on frozen layers, the newest first. Raises SandboxError."""
        limits = self.config.limits
        spec = {
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
        zygote = self.zygote
        self.layers.take(layers)
        try:
            number, stream = zygote.start(spec)
        except BaseException:
            self.layers.give(layers)
            raise
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
