"""`ServerProcess`: a model server that ends with whoever started it, however that ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self

from agentworld_envs.interface import ConfigError, ProviderError

GRACE_S: Final = 15.0
"""How long a server may take to end when it is asked to; then it is killed."""
POLL_S: Final = 0.5
_LEASE_S: Final = 5.0

_GUARD: Final = f"""
import os, select, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
while server.poll() is None:
    if select.select([0], [], [], {POLL_S})[0] and not os.read(0, 1):
        server.terminate()
        try:
            server.wait({GRACE_S})
        except subprocess.TimeoutExpired:
            pass
        break
os.killpg(0, signal.SIGKILL)
"""
"""Runs between us and the server, in a group of its own. Its standard input is the lease: when we are gone, however, it
ends, and everything in its group goes with it, itself included."""


class ServerProcess:
    """A running server.

    Args:
        command: what to run. environment: variables on top of ours. url: root of the server, without `/v1`.
        name: of the model that it has to list.

    Raises:
        ConfigError: something listens on that port already, or the command cannot be run.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], url: str, name: str) -> None:
        self.url, self.name = url, name
        host, _, port = url.removeprefix("http://").partition(":")
        if _listening(host, int(port)):
            raise ConfigError(f"Something listens on {host}:{port} already; choose another --port.")
        self._guard: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _GUARD, *command],
            stdin=subprocess.PIPE,
            # Standard output is for results: what the server says goes where errors go.
            stdout=2,
            env={**os.environ, **environment},
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        return self._guard.poll() is None

    def wait_until_ready(self, timeout_s: float, alive: Callable[[], bool] = lambda: True) -> None:
        """Return when it answers and lists the model.

        Args:
            timeout_s: seconds that it may take. alive: whether there is still somebody to wait for.

        Raises:
            ProviderError: it ended, or is not ready in time.
        """
        end = time.monotonic() + timeout_s
        while self.running and alive():
            if self.name in self._models():
                return
            if time.monotonic() > end:
                raise ProviderError(f"The server at {self.url} is not ready after {timeout_s:g} s; see its log above.")
            time.sleep(POLL_S)
        raise ProviderError("The server ended before it was ready; see its log above.")

    def close(self) -> None:
        """Ask it to end, and see to it that it does. Idempotent."""
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            self._guard.stdin.close()
        try:
            self._guard.wait(GRACE_S + _LEASE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._guard.pid, signal.SIGKILL)
            self._guard.wait()

    def _models(self) -> list[str]:
        """Names that the server lists; none while it is not up."""
        try:
            with urllib.request.urlopen(f"{self.url}/v1/models", timeout=_LEASE_S) as answer:
                listed = json.load(answer)["data"]
            return [str(model["id"]) for model in listed]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            return []


def _listening(host: str, port: int) -> bool:
    with socket.socket() as trial:
        trial.settimeout(1.0)
        return trial.connect_ex((host, port)) == 0
