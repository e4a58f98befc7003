"""The owner's side of the zygote: the process that makes its sandboxes, and the count of who needs which layer."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from typing import Any

from agentworld_envs.backends.sandbox import launcher, leases
from agentworld_envs.interface import SandboxError

_MAX_MESSAGE = 2**17
_ANSWER_TIMEOUT_S = 90.0
_START_TIMEOUT_S = 20.0
_limit_lock = threading.Lock()
"""Held while the limit of open files of this process is another."""


class Zygote:
    """The process that makes the sandboxes of this one. Requests are answered one after the other."""

    def __init__(self) -> None:
        """Start it. Raises SandboxError when this machine does not allow namespaces."""
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._broken = ""
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
            self._control.settimeout(_ANSWER_TIMEOUT_S)
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
        message = json.dumps(request).encode()
        with self._lock:
            if self._broken:
                raise SandboxError(f"{self._broken} Make a new provider.")
            try:
                try:
                    self._send(message, fd)
                except OSError as error:
                    if error.errno not in (errno.ETOOMANYREFS, errno.EMSGSIZE, errno.ENOBUFS, errno.ENOMEM):
                        raise
                    # Nothing was sent, so that nothing is mixed up.
                    raise SandboxError(f"The process that makes sandboxes cannot be asked: {error}.") from error
                data = self._control.recv(_MAX_MESSAGE)
                if not data:
                    raise EOFError("it has ended")
            except SandboxError:
                raise
            except (OSError, EOFError) as error:
                self._break("The process that makes sandboxes does not answer.")
                raise SandboxError(
                    f"The process that makes sandboxes does not answer: {error}. Make a new provider."
                ) from error
            except BaseException:  # interrupted between question and answer: later answers would be mixed up
                self._break("A request to the process that makes sandboxes was interrupted.")
                raise
        answer: dict[str, Any] = json.loads(data)
        if "error" in answer:
            raise SandboxError(f"The sandbox could not be handled: {answer['error']}")
        return answer

    def _break(self, why: str) -> None:
        """Give it up, with all its sandboxes: it ends when its socket does."""
        self._broken = why
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()

    def _send(self, message: bytes, fd: int | None) -> None:
        """Send a request. For an ordinary user the kernel bounds the descriptors that are on their way, those of
        sandboxes included, by the sender's limit of open files; so that is as high as it may be meanwhile."""
        if fd is None:
            self._control.sendall(message)
            return
        with _limit_lock:
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
                socket.send_fds(self._control, [message], [fd])
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def start(self, spec: dict[str, Any]) -> tuple[int, socket.socket]:
        """Ask for a sandbox; gives its number and the stream to its agent. Raises SandboxError."""
        number, stream, _ = self._new({"do": "start", "spec": spec})
        return number, stream

    def fork(self, origin: int, spec: dict[str, Any]) -> tuple[int, socket.socket, int]:
        """Ask for a sandbox on a copy of what another one wrote. That one has to be held still.

        Args:
            origin: the number of the other one.
            spec: of the new one; its layers are those of the other one.

        Returns:
            Its number, the stream to its agent, and the number of the layer with the copy.
        """
        number, stream, answer = self._new({"do": "fork", "from": origin, "spec": spec})
        return number, stream, int(answer["layer"])

    def _new(self, request: dict[str, Any]) -> tuple[int, socket.socket, dict[str, Any]]:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise SandboxError(f"The sandbox cannot be started: {error}.") from error
        number = next(self._numbers)
        with theirs:
            try:
                answer = self._ask({**request, "id": number}, theirs.fileno())
            except BaseException:
                ours.close()
                raise
        return number, ours, answer

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
