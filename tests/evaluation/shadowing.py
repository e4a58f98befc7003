"""Simulators that err in a known way, and environments that shadow them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.real import RealBackend
from agentworld_envs.backends.shadow import ShadowBackend, ShadowConfig, ShadowSession, StepRecord
from agentworld_envs.backends.shadow.backend import ShownSimulation
from agentworld_envs.backends.world_model import (
    Completion,
    GenerationRequest,
    ScriptedEngine,
    WorldModelBackend,
    WorldModelConfig,
    WorldModelSession,
)
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.backends.world_model.engines.scripted import SCRIPTS
from agentworld_envs.interface import Failure

Change = Callable[[str, int, str], "str | Failure"]
"""(true observation, number of the turn, command) -> what the simulator says."""


class Erring(ScriptedEngine):
    """The real world, redone from the simulated history's actions, with some observations changed."""

    def __init__(self, change: Change) -> None:
        super().__init__(self._say, "erring")
        self.change = change
        self.batches: list[int] = []
        """Requests of each `generate`."""
        self.prompts: list[str] = []

    def generate(self, requests: Any) -> list[Completion]:
        self.batches.append(len(requests))
        return super().generate(requests)

    def _say(self, request: GenerationRequest) -> str | Completion | Failure:
        session = request.session
        assert isinstance(session, WorldModelSession)
        self.prompts.append("\n".join(message.content for message in request.messages))
        true = SCRIPTS["oracle"](request)
        assert isinstance(true, str)
        inner = true.partition("<predicted_observation>\n")[2].rpartition("\n</predicted_observation>")[0]
        said = self.change(inner, len(session.actions), session.actions[-1].command)
        return said if isinstance(said, Failure) else wrap(said)


def shadow(change: Change, *, show: str = "real", forced: bool | None = None) -> tuple[ShadowBackend, Erring]:
    """A shadow backend on an erring simulator, and the simulator."""
    engine = Erring(change)
    kind = ShadowBackend if show == "real" else ShownSimulation
    config = WorldModelConfig(model="scripted:oracle", max_retries=0)
    scorer = ShadowConfig(model="scripted:oracle").load_scorer()
    forced = show == "real" if forced is None else forced
    return kind(RealBackend(), WorldModelBackend(engine, config), forced=forced, scorer=scorer), engine


def session_of(env: AgentWorldEnv) -> ShadowSession:
    session = env.episode.session
    assert isinstance(session, ShadowSession)
    return session


def records_of(env: AgentWorldEnv) -> list[StepRecord]:
    return session_of(env).records


def unchanged(true: str, turn: int, command: str) -> str:
    return true
