"""`Janitor`: a small process that outlives its owner by a moment and removes what that left at the daemon.

Agents end with their owner by themselves. This is for what cannot: a container that was made but not yet started, one
whose agent hangs, and owners whose forked children hold the sockets open.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile

from agentworld_envs.backends.sandbox.docker import sweeper
from agentworld_envs.backends.sandbox.docker.owner import LEASE, Lease
from agentworld_envs.interface import SandboxError

_END_TIMEOUT_S = 10.0


class Janitor:
    """The owner's side of it."""

    def __init__(self, socket_path: str, lease: Lease) -> None:
        """Start it. Raises SandboxError."""
        prefix = os.path.join(tempfile.gettempdir(), f"{lease.name}.")
        try:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    os.path.abspath(sweeper.__file__),
                    str(os.getpid()),
                    socket_path,
                    f"{LEASE}={lease.name}",
                    prefix,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # Ctrl-C is for the owner
            )
        except OSError as error:
            raise SandboxError(f"The process that cleans up cannot be started: {error}") from error

    def close(self) -> None:
        """Dismiss it, there is nothing to remove any more."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it was killed
            self._process.stdin.write(b"x")
            self._process.stdin.flush()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
