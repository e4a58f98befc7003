"""`SharedMachines`: one pool of warm sandboxes for all environments of a process that want the same kind."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from typing import Any, Self, cast

from agentworld_envs.backends.sandbox.config import SandboxConfig, SandboxSettings, sandbox_config
from agentworld_envs.backends.sandbox.pool import Pool
from agentworld_envs.interface import ConfigError, SandboxError
from agentworld_envs.interface.machines import Machines, Provider
from agentworld_envs.interface.sandbox import Sandbox
from agentworld_envs.interface.sandbox_facts import Usability

logger = logging.getLogger(__name__)

PREFERENCE = ("namespace", "docker")
"""What is tried, in this order, where no kind is named. `local` isolates nothing and is only ever used by name."""
WARM = {"namespace": 2, "docker": 4, "local": 0}
"""Sandboxes that are kept ready, by kind: one of namespaces takes 10 ms, a container 200."""


class _Shared:
    """A provider and its pool, with the number of those who use them."""

    def __init__(self, config: SandboxConfig, provider: Provider) -> None:
        self.provider = provider
        self.pool = Pool(provider, WARM[config.kind])
        self.users = 0

    def close(self) -> None:
        self.pool.close()
        self.provider.shutdown()


_lock = threading.Lock()
_shared: dict[tuple[int, SandboxConfig | str], _Shared] = {}
"""By process (a forked child may not use its parent's) and configuration."""


def usable_config(settings: dict[str, Any] | None = None) -> SandboxConfig:
    """The configuration of the best kind that works here.

    Args:
        settings: fields that all kinds have.

    Raises:
        SandboxError: none works; says why, and what to do about each.
    """
    reasons = []
    for kind in PREFERENCE:
        usability = probe(sandbox_config(kind, **(settings or {})))
        if usability.usable:
            return sandbox_config(kind, **(settings or {}))
        reasons.append(f"{kind}: {usability.why} {usability.what_to_do}".strip())
    raise SandboxError("No sandbox can be started here. " + " ".join(reasons))


def probe(config: SandboxConfig) -> Usability:
    """Whether sandboxes of a configuration can be started here: tries it."""
    with config.build() as provider:
        return provider.probe()


class SharedMachines(Machines):
    """Takes sandboxes from a pool that it shares with all others of the same configuration in this process.

    Nothing is started before the first `take`.
    """

    def __init__(self, sandbox: str | SandboxSettings | Provider | None = None, **settings: Any) -> None:
        """Check what was asked for.

        Args:
            sandbox: `"namespace"`, `"docker"`, `"local"`, a configuration, or a provider (then it stays the giver's);
                `None`: the best that works here.
            settings: fields of `SandboxSettings`, where `sandbox` is a name or `None`.

        Raises:
            ConfigError: no such kind.
        """
        self._provider: Provider | None = None
        self._config: SandboxConfig | None = None
        self._settings = settings
        if isinstance(sandbox, str):
            self._config = sandbox_config(sandbox, **settings)
        elif isinstance(sandbox, Provider):
            self._provider = sandbox
        elif isinstance(sandbox, SandboxSettings):
            self._config = cast(SandboxConfig, sandbox)
        elif sandbox is not None:
            raise ConfigError(
                "Expected sandbox to be 'namespace', 'docker', 'local', a configuration or a Provider, "
                f"got {type(sandbox).__name__}."
            )
        self._lock = threading.Lock()
        self._entry: _Shared | None = None
        self._owner = 0
        self._users = 1

    def take(self) -> Sandbox:
        return self._provider.start() if self._provider is not None else self._ready().pool.take()

    @property
    def kind(self) -> str:
        if self._provider is not None:
            return str(self._provider.describe()["kind"])
        return self._chosen().kind

    def describe(self) -> dict[str, Any]:
        return (self._provider or self._ready().provider).describe()

    def acquire(self) -> Self:
        with self._lock:
            self._users += 1
        return self

    def close(self) -> None:
        with self._lock:
            self._users = max(0, self._users - 1)
            if self._users:
                return
            entry, self._entry = self._entry, None
        if entry is not None and self._owner == os.getpid():
            _release(entry)

    def _chosen(self) -> SandboxConfig:
        with self._lock:
            if self._config is None:
                self._config = usable_config(self._settings)
            return self._config

    def _ready(self) -> _Shared:
        config = self._chosen()
        with self._lock:
            if self._entry is None or self._owner != os.getpid():
                self._entry, self._owner = _acquire(config), os.getpid()
            return self._entry


def _acquire(config: SandboxConfig) -> _Shared:
    with _lock:
        key = (os.getpid(), config.model_dump_json())
        entry = _shared.get(key)
        if entry is None:
            entry = _shared[key] = _Shared(config, config.build())
        entry.users += 1
        return entry


def _release(entry: _Shared) -> None:
    with _lock:
        entry.users -= 1
        if entry.users > 0:
            return
        for key in [key for key, value in _shared.items() if value is entry]:
            del _shared[key]
    entry.close()


@atexit.register
def _close_all() -> None:
    """The environments that nobody closed."""
    with _lock:
        mine = [key for key in _shared if key[0] == os.getpid()]
        left = [_shared.pop(key) for key in mine]
    for entry in left:
        try:
            entry.close()
        except Exception:  # the other pools have to be closed all the same
            logger.exception("A pool of sandboxes could not be closed.")
