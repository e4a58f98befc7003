"""`Passing`: files of the host that come in as open descriptors, to save whole folders to and to load them from."""

from __future__ import annotations

import os
import resource
import socket
from typing import Any

from agentworld_envs.backends.sandbox.guest import keep
from agentworld_envs.backends.sandbox.guest.files import Refused
from agentworld_envs.backends.sandbox.guest.frames import Kind

_TIMEOUT_S = 5.0


class Passing:
    """The guest's side. The host passes the descriptor first and asks then."""

    def __init__(self, channel: socket.socket | None) -> None:
        """Take over a second connection to the host, if there is one."""
        self._channel = channel

    def handle(self, kind: int, header: dict[str, Any]) -> dict[str, Any]:
        """Answer a request of kind SIZE, EXPORT or IMPORT. Raises OSError and Refused."""
        if kind == Kind.SIZE:
            return {"size": keep.estimate([str(folder) for folder in header["folders"]])}
        fd = self._receive()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))  # all files together are larger than any may be
            if kind == Kind.EXPORT:
                return {"size": keep.save([str(folder) for folder in header["folders"]], fd)}
            keep.load(fd, int(header["size"]))
            return {}
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            os.close(fd)

    def _receive(self) -> int:
        if self._channel is None:
            raise Refused("there is nothing to pass files through")
        self._channel.settimeout(_TIMEOUT_S)
        _, fds, _, _ = socket.recv_fds(self._channel, 1, 1)
        if len(fds) != 1:
            raise Refused("no file was passed")
        os.set_inheritable(fds[0], False)
        return fds[0]
