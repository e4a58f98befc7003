"""The ids of this package in Gymnasium's registry."""

from __future__ import annotations

import gymnasium as gym

from agentworld_envs.interface import unknown_name

NAMESPACE = "AgentWorld"
ENV_IDS: dict[str, str] = {
    "AgentWorld/Search-v0": "search",
    "AgentWorld/Terminal-v0": "terminal",
    "AgentWorld/TextWorld-v0": "text_world",
}
"""Id -> name of the domain."""


def register_all() -> None:
    """Register every id. Called once, when the package is imported."""
    for env_id, domain in ENV_IDS.items():
        gym.register(
            id=env_id,
            entry_point="agentworld_envs.env:AgentWorldEnv",
            vector_entry_point="agentworld_envs.vector:AgentWorldVectorEnv",
            kwargs={"domain": domain},
        )


def resolve_id(name: str) -> str:
    """The full id for what a user typed: `AgentWorld/TextWorld-v0`, `TextWorld-v0`, `TextWorld` or `text_world`.

    Raises:
        ConfigError: no such id; names the nearest.
    """
    for env_id, domain in ENV_IDS.items():
        short = env_id.partition("/")[2]
        if name in (env_id, short, short.partition("-")[0], domain, f"agentworld_envs:{env_id}"):
            return env_id
    raise unknown_name("environment id", name, [*ENV_IDS, *(i.partition("/")[2] for i in ENV_IDS)])
