"""`Door`: where one container's agent knocks. It lies on disk only until the agent has come."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from agentworld_envs.backends.sandbox.docker.owner import Lease, new_folder
from agentworld_envs.backends.sandbox.docker.spec import DOOR, HOSTS, SOCKET
from agentworld_envs.interface import SandboxError

_LOOK_S = 1.0


class Door:
    """A folder with a listening socket. Only the container that it is given to can reach it."""

    def __init__(self, lease: Lease, hostname: str) -> None:
        """Open it. Raises SandboxError when this machine cannot."""
        try:
            self.folder = new_folder(lease)
        except OSError as error:
            raise SandboxError(f"The sandbox cannot be started, no temporary folder can be made: {error}") from error
        seen = os.path.join(self.folder, DOOR)
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            os.mkdir(seen)
            os.chmod(seen, 0o755)  # the outer folder keeps this machine's other users out
            handle = os.open(seen, os.O_RDONLY | os.O_DIRECTORY)
            try:
                self._listener.bind(f"/proc/self/fd/{handle}/{SOCKET}")  # its own path may be too long for a socket
            finally:
                os.close(handle)
            os.chmod(os.path.join(seen, SOCKET), 0o666)
            self._listener.listen(2)
            hosts = os.path.join(self.folder, HOSTS)
            with open(hosts, "w") as file:
                file.write(f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {hostname}\n")
            os.chmod(hosts, 0o644)
        except OSError as error:
            self.close()
            raise SandboxError(f"The sandbox cannot be started, no socket can be made: {error}") from error

    def wait(self, timeout_s: float, alive: Callable[[], bool]) -> socket.socket:
        """The next stream to the agent, once it has come.

        Args:
            timeout_s: seconds that it may take.
            alive: whether it may still come; asked now and then.

        Raises:
            SandboxError: it does not come.
        """
        end = time.monotonic() + timeout_s
        while True:
            left = end - time.monotonic()
            self._listener.settimeout(max(min(_LOOK_S, left), 0.001))
            try:
                stream, _ = self._listener.accept()
                return stream
            except TimeoutError:
                if left <= 0:
                    raise SandboxError(f"The agent in the container did not begin within {timeout_s:.0f} s.") from None
                if not alive():
                    raise SandboxError(
                        "The agent in the container ended at once. It needs Python 3.8 or newer, and has to be able to "
                        "read this package's files."
                    ) from None

    def close(self) -> None:
        """Remove it. Whoever knocks now finds nobody."""
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)  # what is left is removed by the next sweep

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
