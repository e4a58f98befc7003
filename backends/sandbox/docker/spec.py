"""What a container may and may not: the settings that the daemon is given."""

from __future__ import annotations

import base64
import os
from typing import Any

from agentworld_envs.backends.sandbox import guest
from agentworld_envs.backends.sandbox.config import DOCKER_SHM, DockerConfig
from agentworld_envs.backends.sandbox.guest.dial import FILTER
from agentworld_envs.backends.sandbox.launcher import seccomp

_GUEST = "/run/agentworld/guest"
_DOOR = "/run/agentworld/door"
DOOR, SOCKET, HOSTS = "door", "s", "hosts"
"""What lies in a folder for one container: the folder that it sees, the socket in that, and its list of host names."""
_RECORD = 2**12
"""Bytes beyond its contents that a saved file may take on average."""
_AGENT_MB = 32
"""What the agent itself needs, and what passes through it."""


def total_memory(config: DockerConfig) -> int:
    """Bytes that the control group allows: processes, files in memory, and the agent."""
    limits = config.limits
    files = sum(config.shares().values()) + DOCKER_SHM
    return int((limits.memory_mb + files * limits.disk_mb + _AGENT_MB) * 2**20)


def largest_save(config: DockerConfig) -> int:
    """Bytes that all files together may take when they are saved. The agent may write a file of this size."""
    limits = config.limits
    return int(sum(config.shares().values()) * (limits.disk_mb * 2**20 + limits.inodes * _RECORD))


def settings(config: DockerConfig, folder: str, labels: dict[str, str]) -> dict[str, Any]:
    """The body of the request that makes a container.

    Args:
        config: what is wanted.
        folder: of this container's `Door`.
        labels: whose it is.
    """
    return {
        "Image": config.image,
        "Entrypoint": ["python3", "-I", "-S", _GUEST, f"{_DOOR}/{SOCKET}"],
        "Cmd": [],
        "Env": [f"{FILTER}={_filter()}", "LANG=C.UTF-8", "LC_ALL=C.UTF-8"],
        "User": f"{config.uid}:{config.uid}",
        "WorkingDir": "/",
        "Hostname": config.hostname,
        "Labels": labels,
        "NetworkDisabled": True,  # also keeps the host's name servers out of it
        "AttachStdin": False,
        "AttachStdout": False,
        "AttachStderr": False,
        "OpenStdin": False,
        "Tty": False,
        "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": _host(config, folder),
    }


def _filter() -> str:
    return base64.b64encode(seccomp.program(hidden_memory=True)).decode() if seccomp.known() else ""


def _host(config: DockerConfig, folder: str) -> dict[str, Any]:
    limits = config.limits
    memory = total_memory(config)
    host: dict[str, Any] = {
        "AutoRemove": True,
        "NetworkMode": "none",
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"],  # and the daemon's own profile of system calls
        "ReadonlyRootfs": config.read_only,
        "IpcMode": "private",
        "LogConfig": {"Type": "none", "Config": {}},
        "Memory": memory,
        "MemorySwap": memory + limits.swap_mb * 2**20,
        "PidsLimit": limits.pids + 1,  # the agent is one
        "OomScoreAdj": 0,
        "Ulimits": [
            _ulimit("nofile", limits.open_files),
            {**_ulimit("fsize", limits.disk_mb * 2**20), "Hard": largest_save(config)},
            _ulimit("core", 0),
            _ulimit("memlock", 2**20),
            _ulimit("msgqueue", 2**18),
        ],
        "Tmpfs": {name: _tmpfs(config, name, share) for name, share in config.shares().items()},
        "Mounts": [
            _bind(os.path.dirname(os.path.abspath(guest.__file__)), _GUEST),
            _bind(f"{folder}/{DOOR}", _DOOR),
            _bind(f"{folder}/{HOSTS}", "/etc/hosts"),
        ],
    }
    host["Tmpfs"]["/dev/shm"] = _tmpfs(config, "/dev/shm", DOCKER_SHM)
    if limits.cpus:
        host["NanoCpus"] = int(max(limits.cpus, 0.1) * 10**9)
    if config.runtime:
        host["Runtime"] = config.runtime
    return host


def _ulimit(name: str, value: int) -> dict[str, Any]:
    return {"Name": name, "Soft": value, "Hard": value}


def _tmpfs(config: DockerConfig, name: str, share: float) -> str:
    limits = config.limits
    size = f"size={int(share * limits.disk_mb * 1024)}k,nr_inodes={max(int(share * limits.inodes), 16)}"
    if name in ("/tmp", "/var/tmp", "/dev/shm"):
        return f"{size},nosuid,nodev,exec,mode=1777"
    return f"{size},nosuid,nodev,exec,mode=755,uid={config.uid},gid={config.uid}"


def _bind(source: str, target: str) -> dict[str, Any]:
    return {
        "Type": "bind",
        "Source": source,
        "Target": target,
        "ReadOnly": True,
        "BindOptions": {"Propagation": "rprivate"},
    }
