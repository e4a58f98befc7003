"""`Layer`: the saved files of a sandbox, in this machine's memory. The kernel forgets them with this process."""

from __future__ import annotations

import fcntl
import os
import threading

_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Layer:
    """A file that one guest writes and others read. Nothing here looks into it."""

    def __init__(self) -> None:
        """Raises OSError."""
        self._fd = os.memfd_create("agentworld-layer", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        self._lock = threading.Lock()
        self.size = 0

    def reserve(self, size: int) -> None:
        """Make room here and now, so that it counts as this process's memory and not as the guest's. Raises OSError."""
        if size:
            os.posix_fallocate(self._fd, 0, size)

    def seal(self, size: int) -> None:
        """It has this size, and nobody can change it any more. Raises OSError when somebody may still write."""
        os.ftruncate(self._fd, size)
        fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        self.size = size

    @property
    def length(self) -> int:
        """Bytes that it has now, whoever wrote them."""
        return os.fstat(self._fd).st_size

    def open(self) -> int:
        """A descriptor of it, which is the caller's to close. Raises ValueError when it is closed."""
        with self._lock:
            if self._fd < 0:
                raise ValueError("the layer is closed")
            return os.dup(self._fd)

    def close(self) -> None:
        """Forget it. Closing twice does nothing."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
                self._fd = -1
