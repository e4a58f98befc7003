"""Gymnasium environments for language agents, backed by a real world or by a language world model.

    import gymnasium as gym, agentworld_envs
    env = gym.make("AgentWorld/TextWorld-v0", backend="real")

Importing this package registers the ids. In worker processes use `gym.make("agentworld_envs:AgentWorld/...")`.
"""

from agentworld_envs.env import AgentWorldEnv, Snapshot
from agentworld_envs.interface import (
    AgentWorldError,
    ConfigError,
    Failure,
    Task,
    TaskList,
    TaskSource,
)
from agentworld_envs.ledger import Ledger
from agentworld_envs.registration import ENV_IDS, register_all, resolve_id
from agentworld_envs.spaces import AnyText
from agentworld_envs.vector import AgentWorldVectorEnv

__version__ = "0.1.0"

__all__ = [
    "ENV_IDS",
    "AgentWorldEnv",
    "AgentWorldError",
    "AgentWorldVectorEnv",
    "AnyText",
    "ConfigError",
    "Failure",
    "Ledger",
    "Snapshot",
    "Task",
    "TaskList",
    "TaskSource",
    "__version__",
    "resolve_id",
]

register_all()
