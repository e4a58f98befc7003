"""What a sandbox may use, and which kind it is. Each configuration builds its provider."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator, model_validator

from agentworld_envs.interface import ConfigError, unknown_name

if TYPE_CHECKING:
    from agentworld_envs.interface.machines import Provider

FROZEN_ENV = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "TZ": "UTC",
}
"""Environment that does not depend on who starts the sandbox, nor on when."""


_WRITABLE = ("/workspace", "/home/agent", "/tmp", "/var/tmp")
_SHARES = {"/tmp": 0.5, "/home/agent": 0.25, "/var/tmp": 0.125}
_SMALL_SHARE = 0.125
DOCKER_SHM = 0.125
"""Share of `disk_mb` that a container's shared memory has."""
DOCKER_IMAGE = "agentworld-sandbox:1"
"""What `agentworld sandbox build` makes. The number changes when its contents do."""


class Limits(BaseModel):
    """Bounds of one sandbox. `Provider.bounds()` tells which of them this machine can keep, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: int = Field(default=512, ge=32)
    """MiB for all processes together. Beyond it the largest is killed."""
    swap_mb: int = Field(default=0, ge=0)
    """MiB of swap beyond that; only control groups know it."""
    disk_mb: int = Field(default=256, ge=1)
    """MiB that may be written, and the largest single file. Lies in memory and counts there besides `memory_mb`."""
    inodes: int = Field(default=50_000, ge=200)
    """How many files and folders may be made."""
    pids: int = Field(default=256, ge=8)
    """Processes and threads at a time."""
    cpus: float = Field(default=1.0, ge=0)
    """Cores, at least 0.1; 0 for no limit. Only control groups know it."""
    cpu_seconds: int = Field(default=600, ge=0)
    """CPU seconds of any one process; 0 for no limit."""
    open_files: int = Field(default=1024, ge=256)
    """Open files of any one process."""
    output_cap: int = Field(default=2**20, ge=0)
    """Bytes kept of each output stream of a command: half from its beginning, half from its end."""
    output_limit: int = Field(default=64 * 2**20, ge=1)
    """Bytes of output after which a command is stopped."""


class SandboxSettings(BaseModel):
    """What all kinds of sandboxes have in common."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    limits: Limits = Field(default_factory=Limits)
    """Bounds of each sandbox."""
    hostname: str = Field(default="sandbox", pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")
    """Name that the machine goes by."""
    uid: int = Field(default=1000, ge=1, le=65533)
    """User and group inside. Never root."""
    home: str = "/workspace"
    """Where commands start."""
    writable: tuple[str, ...] = _WRITABLE
    """Folders that can be written to; all else is read-only. `("/",)`, which only `namespace` knows: everything that
    the user's rights allow. (`local` ignores it.)"""
    env: dict[str, str] = Field(default_factory=dict)
    """Environment variables on top of `FROZEN_ENV`."""

    @field_validator("writable")
    @classmethod
    def _writable_is_plain(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for path in value:
            if path != os.path.normpath(path) or not path.startswith("/"):
                raise ValueError(f"writable folders have to be plain absolute paths, got {path!r}")
        return value

    def environment(self) -> dict[str, str]:
        """The whole environment of a command."""
        return {**FROZEN_ENV, "HOME": "/home/agent", "USER": "agent", "LOGNAME": "agent", **self.env}


class NamespaceConfig(SandboxSettings):
    """Sandboxes of Linux namespaces: no daemon, no image, no root needed."""

    kind: Literal["namespace"] = "namespace"
    rootfs: str = "host"
    """`host`: this machine's own /usr, read-only. Otherwise the folder of an unpacked root file system."""

    @field_validator("rootfs")
    @classmethod
    def _rootfs_exists(cls, value: str) -> str:
        if value == "host":
            return value
        if not os.path.isdir(os.path.join(value, "usr")):
            raise ValueError(f"{value!r} is no root file system: expected 'host' or a folder that has usr/ in it")
        return os.path.abspath(value)

    def build(self) -> Provider:
        """The provider. Starts nothing."""
        from agentworld_envs.backends.sandbox.namespace import NamespaceProvider

        return NamespaceProvider(self)


class LocalConfig(SandboxSettings):
    """No sandbox at all: commands run as this user on this machine. Only for commands that you trust."""

    kind: Literal["local"] = "local"
    home: str = ""
    """Where commands start; empty for a new temporary folder that is removed at the end."""

    def build(self) -> Provider:
        """The provider. Starts nothing."""
        from agentworld_envs.backends.sandbox.local import LocalProvider

        return LocalProvider(self)


class DockerConfig(SandboxSettings):
    """Sandboxes that are containers: for machines without namespaces for users, and for a root that is pinned."""

    kind: Literal["docker"] = "docker"
    image: str = DOCKER_IMAGE
    """What is in the root: an image with bash and Python (3.8 or newer), present on the machine."""
    host: str = Field(default="", pattern=r"^(unix://.+)?$")
    """Address of the daemon, `unix://PATH`; empty for `$DOCKER_HOST` or the usual place."""
    runtime: str = ""
    """Another runtime that the daemon knows, e.g. `crun`; empty for its own default."""
    read_only: bool = True
    """Whether all but the writable folders is read-only. Otherwise what is written elsewhere lies on the daemon's disk,
    is bounded by nothing, and is not part of snapshots."""
    warm: int = Field(default=2, ge=0, le=64)
    """Containers that are kept ready in the background once the first was started; 0 for none."""
    api_timeout_s: float = Field(default=20.0, gt=0)
    """Seconds that the daemon may take for one request."""

    @model_validator(mode="after")
    def _home_is_writable(self) -> Self:
        if "/" in self.writable or len(self.writable) != len({*self.writable}):
            raise ValueError(f"a container's writable folders have to be different and not '/', got {self.writable}")
        folders = tuple(f"{folder}/" for folder in self.writable)
        if self.home != os.path.normpath(self.home) or not f"{self.home}/".startswith(folders):
            raise ValueError(f"home has to lie in one of {', '.join(self.writable)}, got {self.home!r}")
        return self

    def shares(self) -> dict[str, float]:
        """The writable folders, each a file system in memory, with their shares of `disk_mb`: the first has all of it,
        the others less, since they are used less and memory has to be there for all."""
        return {
            folder: 1.0 if index == 0 else _SHARES.get(folder, _SMALL_SHARE)
            for index, folder in enumerate(self.writable)
        }

    def build(self) -> Provider:
        """The provider. Starts nothing; its `probe` tells whether the daemon and the package `docker` are there."""
        from agentworld_envs.backends.sandbox.docker.provider import DockerProvider

        return DockerProvider(self)


KINDS = ("namespace", "docker", "local")
"""Names of the kinds of sandboxes."""
AnyConfig = NamespaceConfig | DockerConfig | LocalConfig
SandboxConfig = Annotated[AnyConfig, Field(discriminator="kind")]
"""Any kind of sandbox, told apart by `kind`."""

_ADAPTER: TypeAdapter[AnyConfig] = TypeAdapter(SandboxConfig)


def sandbox_config(kind: str = "namespace", **fields: Any) -> AnyConfig:
    """A configuration by the name of its kind.

    Raises:
        ConfigError: unknown kind, or unknown or impossible fields; says which and why.
    """
    if kind not in KINDS:
        raise unknown_name("sandbox", kind, KINDS)
    try:
        return _ADAPTER.validate_python({"kind": kind, **fields})
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'][1:]) or 'kind'}: {item['msg']}" for item in error.errors()
        )
        raise ConfigError(f"This sandbox cannot be: {problems}.") from error
