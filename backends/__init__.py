"""Where transitions come from: real worlds, world models, recordings."""

from agentworld_envs.backends.registry import BACKENDS, BackendConfig, build_backend

__all__ = ["BACKENDS", "BackendConfig", "build_backend"]
