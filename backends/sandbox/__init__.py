"""Isolated machines for real episodes: a small interface, a guest agent, and what makes the machines."""

from agentworld_envs.backends.sandbox.config import (
    DockerConfig,
    Limits,
    LocalConfig,
    NamespaceConfig,
    SandboxConfig,
    SandboxSettings,
    sandbox_config,
)
from agentworld_envs.backends.sandbox.leases import sweep
from agentworld_envs.backends.sandbox.machines import SharedMachines
from agentworld_envs.backends.sandbox.pool import Pool
from agentworld_envs.interface.machines import Provider
from agentworld_envs.interface.sandbox import Sandbox, Snapshot
from agentworld_envs.interface.sandbox_facts import Bound, CommandResult, Process, Usability

__all__ = [
    "Bound",
    "CommandResult",
    "DockerConfig",
    "Limits",
    "LocalConfig",
    "NamespaceConfig",
    "Pool",
    "Process",
    "Provider",
    "Sandbox",
    "SandboxConfig",
    "SandboxSettings",
    "SharedMachines",
    "Snapshot",
    "Usability",
    "sandbox_config",
    "sweep",
]
