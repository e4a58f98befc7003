"""Isolated machines for real episodes: a small interface, a guest agent, and what makes the machines."""

from agentworld_envs.backends.sandbox.config import (
    Limits,
    LocalConfig,
    NamespaceConfig,
    SandboxConfig,
    sandbox_config,
)
from agentworld_envs.backends.sandbox.leases import sweep
from agentworld_envs.backends.sandbox.pool import Pool
from agentworld_envs.interface.sandbox import Bound, CommandResult, Process, Provider, Sandbox, Snapshot, Usability

__all__ = [
    "Bound",
    "CommandResult",
    "Limits",
    "LocalConfig",
    "NamespaceConfig",
    "Pool",
    "Process",
    "Provider",
    "Sandbox",
    "SandboxConfig",
    "Snapshot",
    "Usability",
    "sandbox_config",
    "sweep",
]
