"""Faults and simulation instructions around any backend that steps episodes."""

from agentworld_envs.backends.control.backend import ControlledBackend, control_backend

__all__ = ["ControlledBackend", "control_backend"]
