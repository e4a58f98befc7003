"""Episodes that a language world model imagines, in the wire layout of Qwen-AgentWorld."""

from agentworld_envs.backends.world_model.backend import WorldModelBackend
from agentworld_envs.backends.world_model.cassette import CassetteConfig, CassetteEngine
from agentworld_envs.backends.world_model.config import WorldModelConfig
from agentworld_envs.backends.world_model.engines import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    ScriptedEngine,
    build_engine,
)
from agentworld_envs.backends.world_model.session import WorldModelSession

__all__ = [
    "CassetteConfig",
    "CassetteEngine",
    "Completion",
    "Engine",
    "GenerationRequest",
    "Message",
    "Sampling",
    "ScriptedEngine",
    "WorldModelBackend",
    "WorldModelConfig",
    "WorldModelSession",
    "build_engine",
]
