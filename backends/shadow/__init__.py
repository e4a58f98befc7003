"""A real and a simulated episode in lock-step on the same actions: one is shown, both are recorded."""

from agentworld_envs.backends.shadow.backend import ShadowBackend
from agentworld_envs.backends.shadow.config import Mode, ShadowConfig
from agentworld_envs.backends.shadow.record import Half, Outcome, Parting, Side, StepRecord
from agentworld_envs.backends.shadow.session import ShadowSession

__all__ = [
    "Half",
    "Mode",
    "Outcome",
    "Parting",
    "ShadowBackend",
    "ShadowConfig",
    "ShadowSession",
    "Side",
    "StepRecord",
]
