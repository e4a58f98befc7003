"""Agents, and the function that lets them play."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.agents.comparison import Difference, compare, reexecute
from agentworld_envs.agents.expert import ExpertAgent
from agentworld_envs.agents.faults import FaultCount, count_faults, recorded_faults
from agentworld_envs.agents.llm import LLMAgent
from agentworld_envs.agents.noisy import NoisyExpert
from agentworld_envs.agents.random import RandomAgent
from agentworld_envs.agents.replay import ReplayAgent
from agentworld_envs.agents.rollout import Progress, Rollout, rollout
from agentworld_envs.agents.searcher import VISITS, Searcher
from agentworld_envs.agents.summary import EpisodeResult, RolloutSummary, wilson_interval
from agentworld_envs.backends.world_model.engines import Engine, Sampling
from agentworld_envs.interface import ConfigError, unknown_name
from agentworld_envs.trajectories import Trajectory

AGENTS: tuple[str, ...] = (ExpertAgent.name, LLMAgent.name, RandomAgent.name, ReplayAgent.name, Searcher.name)
"""Names that `build_agent` knows."""


def build_agent(
    name: str,
    *,
    model: str | Engine | None = None,
    sampling: Sampling | None = None,
    seed: int = 0,
    trajectories: Sequence[Trajectory] | None = None,
    visits: int = VISITS,
    temperature: float = 0.0,
) -> Agent:
    """An agent by name. Loads no model yet.

    Args:
        name: `expert`, `llm`, `random`, `replay` or `searcher`.
        model: for `llm`, a model string or an engine.
        sampling: for `llm`, temperature, tokens and so on; see `LLMAgent`.
        seed: for `llm`, `random` and `searcher` (>= 0).
        trajectories: for `replay`, what it plays.
        visits: for `searcher`, most pages that it opens (>= 0).
        temperature: for `searcher`, how much it leaves to chance (>= 0).

    Raises:
        ConfigError: no such agent, or it lacks what it needs.
    """
    if name == ExpertAgent.name:
        return ExpertAgent()
    if name == RandomAgent.name:
        return RandomAgent(seed)
    if name == LLMAgent.name:
        if model is None:
            raise ConfigError(
                "The agent 'llm' needs a model, e.g. 'openai:http://127.0.0.1:8000/v1#MODEL' or 'transformers:PATH'."
            )
        return LLMAgent(model, sampling=sampling, seed=seed)
    if name == ReplayAgent.name:
        if trajectories is None:
            raise ConfigError("The agent 'replay' needs trajectories, from read_trajectories(FILE).")
        return ReplayAgent(trajectories)
    if name == Searcher.name:
        return Searcher(visits, temperature=temperature, seed=seed)
    raise unknown_name("agent", name, AGENTS)


__all__ = [
    "AGENTS",
    "Agent",
    "Decision",
    "Difference",
    "EpisodeResult",
    "ExpertAgent",
    "FaultCount",
    "Info",
    "LLMAgent",
    "NoisyExpert",
    "Progress",
    "RandomAgent",
    "ReplayAgent",
    "Rollout",
    "RolloutSummary",
    "Searcher",
    "build_agent",
    "compare",
    "count_faults",
    "recorded_faults",
    "reexecute",
    "rollout",
    "wilson_interval",
]
