"""`Spec`: what one sandbox is made of, as the owner tells the zygote."""

from __future__ import annotations

from typing import NamedTuple


class Spec(NamedTuple):
    """Plain values only: it travels as JSON."""

    rootfs: str
    """`host`, or the absolute path of an unpacked root file system."""
    layers: list[int]
    """Frozen layers on top of it, the newest first."""
    writable: list[str]
    """Folders that can be written to; the rest is read-only. `["/"]`: all."""
    hostname: str
    uid: int
    """User and group inside."""
    memory: int
    """Bytes for processes."""
    swap: int
    """Bytes of swap beyond that."""
    disk: int
    """Bytes for files, which lie in memory."""
    inodes: int
    pids: int
    cpus: float
    """Cores; 0 for no limit."""
    open_files: int


def from_json(fields: dict[str, object]) -> Spec:
    """A specification from its JSON. Raises TypeError for missing or unknown fields."""
    return Spec(**fields)  # type: ignore[arg-type]
