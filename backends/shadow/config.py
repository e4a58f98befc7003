"""`ShadowConfig`: all settings of the shadow backend."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from agentworld_envs.backends.real import RealConfig
from agentworld_envs.backends.shadow.record import Side
from agentworld_envs.backends.world_model import CassetteConfig, WorldModelConfig
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.interface import ConfigError

if TYPE_CHECKING:
    from agentworld_envs.backends.shadow.backend import ShadowBackend
    from agentworld_envs.backends.shadow.pair import Scorer

Mode = Literal["teacher_forced", "free_running"]
"""What the simulator's history holds: the real observations, or its own."""


class ShadowConfig(BaseModel):
    """Settings of a shadow backend; `build` makes the backend.

    `backend="shadow"` and `backend="shadow:world_model"` (which side is shown) with `model` and `cassette` of
    `gym.make` are short for `ShadowConfig(model=..., cassette=..., show=...)`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str | None = None
    """The simulator's model string. Give this or `world_model`."""
    cassette: CassetteConfig | str | None = None
    """Record of the model's answers; only with `model`."""
    world_model: WorldModelConfig | None = None
    """All settings of the simulator."""
    show: Side = "real"
    """Whose observations, verdicts and commands the agent gets."""
    mode: Mode | None = None
    """Default: `teacher_forced`, and `free_running` when the simulated side is shown, which is the only way then."""
    scorer: str = "agentworld_envs.evaluation.step_scores:score_step"
    """`module:function` that scores a pair of observations, see `Scorer`; empty for none."""

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if (self.model is None) is (self.world_model is None):
            raise ValueError("give the simulator either as model='...' or as world_model=WorldModelConfig(...)")
        if self.cassette is not None and self.world_model is not None:
            raise ValueError("give the cassette to world_model=WorldModelConfig(cassette=...)")
        if self.show == "world_model" and self.mode == "teacher_forced":
            raise ValueError(
                "show='world_model' cannot be teacher_forced: the simulator goes on from what it showed. "
                "Use mode='free_running'"
            )
        return self

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Make a configuration from keyword arguments.

        Raises:
            ConfigError: unknown or impossible fields; says which and why.
        """
        return checked(cls, "shadow setting", fields)

    @property
    def forced(self) -> bool:
        """Whether the simulator's history holds the real observations."""
        mode = self.mode or ("free_running" if self.show == "world_model" else "teacher_forced")
        return mode == "teacher_forced"

    def simulator(self) -> WorldModelConfig:
        """Settings of the simulated side."""
        if self.world_model is not None:
            return self.world_model
        return WorldModelConfig.of(model=self.model, cassette=self.cassette)

    def load_scorer(self) -> Scorer | None:
        """The scorer.

        Raises:
            ConfigError: there is no such function.
        """
        if not self.scorer:
            return None
        module, _, name = self.scorer.partition(":")
        try:
            scorer: Scorer = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"Expected scorer to be 'module:function', got {self.scorer!r}: {error}.") from error
        return scorer

    def build(self) -> ShadowBackend:
        """The backend. Loads and contacts nothing.

        Raises:
            ConfigError: the model string, an option, the cassette or the scorer is wrong.
            MissingExtraError: the engine's package is not installed.
        """
        from agentworld_envs.backends.shadow.backend import ShadowBackend, ShownSimulation

        kind = ShadowBackend if self.show == "real" else ShownSimulation
        scorer = self.load_scorer()
        return kind(RealConfig().build(), self.simulator().build(), forced=self.forced, scorer=scorer)
