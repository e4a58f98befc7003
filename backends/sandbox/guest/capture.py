"""`Capture`: one output stream of one command, bounded in memory: its head and its tail are kept."""

from __future__ import annotations

import contextlib
import os

_CHUNK = 2**16
_ROUNDS = 64


class Capture:
    """Reads one pipe. Half of `cap` bytes are kept from the beginning, half from the end."""

    def __init__(self, fd: int, cap: int) -> None:
        self.fd = fd
        self.total = 0
        self.ended = False
        self._head_size = cap - cap // 2
        self._tail_size = cap // 2
        self._head = bytearray()
        self._tail = bytearray()

    def begin_with(self, data: bytes) -> None:
        """Put something before the output. Counts as output, and has to fit into the part that is kept."""
        self._head += data
        self.total += len(data)

    def pump(self) -> None:
        """Take what is there now, at most 4 MiB, so that an endless writer cannot keep the agent from its clock."""
        for _ in range(_ROUNDS):
            try:
                data = os.read(self.fd, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                self.ended = True
                return
            self.total += len(data)
            room = self._head_size - len(self._head)
            if room > 0:
                self._head += data[:room]
                data = data[room:]
            self._tail += data
            if len(self._tail) > 2 * self._tail_size + _CHUNK:  # rarely, so that each byte is moved about once
                del self._tail[: len(self._tail) - self._tail_size]

    def result(self) -> tuple[bytes, bytes, int]:
        """Head, tail, and how many bytes between them were left out."""
        tail = bytes(self._tail[-self._tail_size :]) if self._tail_size else b""
        return bytes(self._head), tail, self.total - len(self._head) - len(tail)


def drain(fd: int) -> int:
    """Throw away what a pipe holds now; gives the number of bytes."""
    total = 0
    with contextlib.suppress(BlockingIOError):
        for _ in range(_ROUNDS):
            data = os.read(fd, _CHUNK)
            if not data:
                break
            total += len(data)
    return total
