"""`Connection`: the host's side of the stream to a guest agent, which may be hostile."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from agentworld_envs.backends.sandbox.guest.frames import MAX_HEADER, Decoder, Frame, FrameError, Kind, encode
from agentworld_envs.interface import SandboxDead, SandboxError, SandboxRefused, SessionLost

_CHUNK = 2**18
MOST = 2**18
"""Bytes of the largest answer where nothing else is said."""


class Connection:
    """One request at a time. The open socket is the lease on the sandbox: closing it ends the sandbox."""

    def __init__(self, stream: socket.socket) -> None:
        """Take over a connected socket."""
        self._stream = stream
        self._decoder = Decoder(MOST, MAX_HEADER)
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._last = 0
        self._dead = ""
        self._answers: list[Frame] = []

    @property
    def dead(self) -> str:
        """Why nothing can be asked any more; empty while it can."""
        return self._dead

    def ask(self, kind: Kind, header: dict[str, Any], blob: bytes = b"", *, timeout_s: float, most: int = 0) -> Frame:
        """Ask, and wait for the answer.

        Args:
            kind: what is asked.
            header: its arguments.
            blob: its bytes.
            timeout_s: seconds after which the guest counts as dead.
            most: bytes that the answer may have beyond the usual.

        Raises:
            SandboxDead: the guest is gone, silent, or does not keep to the protocol.
            SandboxRefused: the guest says that it cannot be done, or it does not fit into one request.
            SessionLost: no shell can be started in it.
        """
        if os.getpid() != self._owner:
            raise SandboxError("A sandbox belongs to the process that started it, not to a forked child of that.")
        with self._lock:
            if self._dead:
                raise SandboxDead(self._dead)
            self._last += 1
            self._decoder.limit = MOST + most
            try:
                data = encode(Frame(kind, self._last, header, blob))
            except FrameError as error:
                raise SandboxRefused(f"That is too much at once: {error}.") from error
            try:
                answer = self._exchange(self._last, data, time.monotonic() + timeout_s)
            except TimeoutError:
                raise self._die(f"The sandbox did not answer within {timeout_s:.1f} s.") from None
            except (OSError, EOFError) as error:
                raise self._die(f"The sandbox ended ({error or 'its stream was closed'}).") from error
            except FrameError as error:
                raise self._die(f"The sandbox broke the protocol: {error}.") from error
            except BaseException:  # interrupted between question and answer: later answers would be mixed up
                self._die("A request to the sandbox was interrupted.")
                raise
        return _checked(answer)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Several requests in a row, with no other thread's in between."""
        with self._lock:
            yield

    def _die(self, why: str) -> SandboxDead:
        self._dead = why
        self._close()
        return SandboxDead(why)

    def _exchange(self, number: int, data: bytes, deadline: float) -> Frame:
        self._send(data, deadline)
        while True:
            while self._answers:
                answer = self._answers.pop(0)
                if answer.id == number:
                    return answer
                if answer.id == 0:  # it failed before it could be asked anything
                    raise EOFError(str(answer.header.get("message", ""))[:500])
            self._wait(deadline)
            data = self._stream.recv(_CHUNK)
            if not data:
                raise EOFError
            self._answers += self._decoder.feed(data)

    def _send(self, data: bytes, deadline: float) -> None:
        view = memoryview(data)
        while view:
            self._wait(deadline)
            try:
                view = view[self._stream.send(view) :]
            except BrokenPipeError:
                if len(self._answers) == 0:
                    with contextlib.suppress(OSError):  # it may have said why before it went
                        self._answers += self._decoder.feed(self._stream.recv(_CHUNK))
                if any(answer.id == 0 for answer in self._answers):
                    return
                raise

    def _wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._stream.settimeout(left)

    def close(self) -> None:
        """Give the lease back. Safe at any time and from any thread; a waiting `ask` raises SandboxDead."""
        self._dead = self._dead or "The sandbox was closed."
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # also for descriptors that a forked child holds
            if os.getpid() == self._owner:
                self._stream.shutdown(socket.SHUT_RDWR)
        self._stream.close()


def _checked(answer: Frame) -> Frame:
    if answer.kind == Kind.OK:
        return answer
    cause = answer.header.get("cause")
    message = str(answer.header.get("message", "no reason given"))[:500]
    if cause == "session":
        raise SessionLost(message)
    if cause in ("os", "refused"):
        raise SandboxRefused(message)
    raise SandboxError(f"The sandbox refused a request ({cause}): {message}")
