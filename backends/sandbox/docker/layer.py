"""`Layer`: the saved files of a sandbox, in this machine's memory. The kernel forgets them with this process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

PIECE = 4 * 2**20
"""Bytes that are passed at a time."""


class Layer:
    """Bytes that the guest wrote and only another guest reads. Nothing here looks into them."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._fd = os.memfd_create("agentworld-layer")
        self._lock = threading.Lock()
        self.size = 0

    def add(self, data: bytes) -> None:
        """Append. Raises OSError."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self.size += len(data)

    def pieces(self) -> Iterator[bytes]:
        """All of it. Goes on when it is closed meanwhile. Raises ValueError when it is closed already."""
        with self._lock:
            if self._fd < 0:
                raise ValueError("the layer is closed")
            fd = os.dup(self._fd)
        try:
            for offset in range(0, self.size, PIECE):
                yield os.pread(fd, PIECE, offset)
        finally:
            os.close(fd)

    def close(self) -> None:
        """Forget it. Closing twice does nothing."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
