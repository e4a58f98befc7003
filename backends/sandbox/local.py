"""No sandbox: the same agent as an ordinary process of this user. For commands that you trust, and for tests."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import subprocess
import sys
import threading
from typing import Any

from agentworld_envs.backends.sandbox import guest, leases
from agentworld_envs.backends.sandbox.config import LocalConfig
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest_sandbox import GuestSandbox
from agentworld_envs.backends.sandbox.roots import digest
from agentworld_envs.interface import SandboxError
from agentworld_envs.interface.machines import Provider
from agentworld_envs.interface.sandbox import Snapshot, refuse_unsupported
from agentworld_envs.interface.sandbox_facts import Bound, Usability

_END_TIMEOUT_S = 5.0
_log = logging.getLogger(__name__)


class LocalSandbox(GuestSandbox):
    """A shell on this machine."""

    def __init__(
        self, config: LocalConfig, connection: Connection, process: subprocess.Popen[bytes], home: str
    ) -> None:
        """Use `LocalProvider.start`."""
        super().__init__(connection, config, home=home, temporary=not config.home)
        self._process = process
        self._ending = threading.Lock()

    @property
    def home(self) -> str:
        """Where commands start."""
        return self._home

    def snapshot(self) -> Snapshot:
        raise refuse_unsupported("snapshots", "local")

    def freeze(self) -> Snapshot:
        raise refuse_unsupported("snapshots", "local")

    def _end(self) -> None:
        with self._ending:
            try:
                self._process.wait(_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._temporary:  # the agent does so too, unless it was killed
                leases.remove_folder(self._home)


class LocalProvider(Provider):
    """Runs commands on this machine, with everything that this user may do."""

    def __init__(self, config: LocalConfig) -> None:
        """Starts nothing."""
        self.config = config
        self._lock = threading.Lock()
        self._living: list[LocalSandbox] = []

    def probe(self) -> Usability:
        if not sys.platform.startswith("linux"):
            return Usability(False, f"The agent needs Linux's /proc, this is {sys.platform}.", "Use docker.")
        if shutil.which("bash") is None:
            return Usability(False, "bash was not found.", "Install bash.")
        return Usability(True, "Commands would run on this machine, not isolated in any way.")

    def bounds(self) -> list[Bound]:
        names = ("memory", "swap", "pids", "cpu", "disk", "open_files", "network", "host_files", "privileges")
        return [Bound(name, False, "not bounded: no isolation") for name in names]

    def describe(self) -> dict[str, Any]:
        return {"kind": "local", "root": "host", "digest": digest.of_folder("/")}

    def start(self) -> LocalSandbox:
        _log.warning("Sandbox kind 'local' isolates nothing: commands can do all that this user can do.")
        home = self.config.home or leases.new_folder()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", os.path.dirname(os.path.abspath(guest.__file__))],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={"PATH": os.environ.get("PATH", os.defpath)},
                    cwd="/",
                    start_new_session=True,  # Ctrl-C is for the owner
                )
        except OSError as error:
            ours.close()
            raise SandboxError(f"The agent cannot be started: {error}") from error
        config = self.config.model_copy(
            update={"env": {"HOME": home, "PATH": os.environ.get("PATH", os.defpath), **self.config.env}}
        )
        sandbox = LocalSandbox(config, Connection(ours), process, home)
        with self._lock:
            self._living = [other for other in self._living if other.alive]
            self._living.append(sandbox)
        try:
            sandbox.open()
        except BaseException:
            sandbox.close()
            raise
        return sandbox

    def shutdown(self) -> None:
        with self._lock:
            living, self._living = self._living, []
        for sandbox in living:
            with contextlib.suppress(SandboxError):
                sandbox.close()
