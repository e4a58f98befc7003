"""The contracts between domains, backends and the environment. Imports nothing heavy and nothing of the other parts."""

from agentworld_envs.interface.action import Action
from agentworld_envs.interface.backend import Backend, Session
from agentworld_envs.interface.domain import Domain, Evidence, SimulationSpec, Tracker, World
from agentworld_envs.interface.errors import (
    AgentWorldError,
    CassetteMiss,
    ConfigError,
    ContextOverflow,
    Failed,
    Failure,
    JudgeError,
    MalformedPrediction,
    MissingExtraError,
    ProviderError,
    ProviderOverloaded,
    ProviderRejected,
    ProviderTimeout,
    ReplayDivergence,
    SandboxError,
    SimulatorError,
    TaskError,
    classify,
    unknown_name,
)
from agentworld_envs.interface.reward import EpisodeView, Judgement, RewardModel
from agentworld_envs.interface.task import Task, TaskList, TaskSource
from agentworld_envs.interface.transition import Source, Transition, Usage, Verdict

__all__ = [
    "Action",
    "AgentWorldError",
    "Backend",
    "CassetteMiss",
    "ConfigError",
    "ContextOverflow",
    "Domain",
    "EpisodeView",
    "Evidence",
    "Failed",
    "Failure",
    "JudgeError",
    "Judgement",
    "MalformedPrediction",
    "MissingExtraError",
    "ProviderError",
    "ProviderOverloaded",
    "ProviderRejected",
    "ProviderTimeout",
    "ReplayDivergence",
    "RewardModel",
    "SandboxError",
    "Session",
    "SimulationSpec",
    "SimulatorError",
    "Source",
    "Task",
    "TaskError",
    "TaskList",
    "TaskSource",
    "Tracker",
    "Transition",
    "Usage",
    "Verdict",
    "World",
    "classify",
    "unknown_name",
]
