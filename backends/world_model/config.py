"""`WorldModelConfig`: all settings of the world-model backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agentworld_envs.backends.world_model.cassette import CassetteConfig, CassetteEngine
from agentworld_envs.backends.world_model.context import ContextPolicy, Layout
from agentworld_envs.backends.world_model.engines import Engine, Sampling, build_engine, recommended_settings
from agentworld_envs.backends.world_model.validation import checked

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.backend import WorldModelBackend


class WorldModelConfig(BaseModel):
    """Settings of a world-model backend; `build` makes the backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    """`bundled:NAME_OR_PATH`, `openai:URL#MODEL`, `vllm:HUB_ID_OR_PATH`, `transformers:HUB_ID_OR_PATH` or
    `scripted:NAME`. Bundled models bring settings of their own (see `recommended_settings`), which hold where nothing
    else is said."""
    revision: str = ""
    """Which weights, where the model's name does not say it; part of every cassette key. A commit for a hub id."""
    engine_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the engine: fields of `OpenAIOptions`, `VLLMOptions` or `TransformersOptions`."""
    sampling: Sampling = Field(default_factory=Sampling)
    """How predictions are drawn."""
    cassette: CassetteConfig | None = None
    """Record of answers; also a string: `FILE`, `record:FILE`, `replay:FILE` or `replay-or-fail:FILE`."""
    max_retries: int = Field(default=2, ge=0)
    """How often an answer that is no prediction is asked for again, each time with a new seed."""
    deadline_s: float = Field(default=600.0, gt=0)
    """Seconds that one step of one episode may take, retries included."""
    context_policy: ContextPolicy = "fail"
    """What happens when the episode is longer than `context_tokens` allow: `fail`, or leave out the oldest turns."""
    context_tokens: int | None = Field(default=None, ge=1)
    """Context of the model in tokens, prompt and answer together; `None` leaves the limit to the engine."""
    prefill: bool = False
    """Begin the answer with the observation's tag. Models then do not think: faster, and worse for models that can."""
    tracked_state: bool = False
    """Tell the model, right before the action, what the episode has established so far (`Tracker.recall`). The layout
    has it as the current state of the last turn only, so that earlier turns stay the same for a prefix cache. Domains
    that are `told_by_turn` do so anyway."""
    state_characters: int | None = Field(default=None, ge=1)
    """Longest text of the tracked state; `None`: what the domain takes (`Domain.recall_characters`, usually 4,000)."""
    retry_contradictions: bool = False
    """Ask once more, with a new seed, when an answer contradicts what the episode has established. The second answer
    is taken as it is. Contradictions are on the transition's flags either way."""
    layout: Layout = "agentworld"
    """How the episode is told: `agentworld` has rules, history and suffix; `compact` is the tracked state and the
    action alone, in one message, for small models that were trained on it. Without `tracked_state`, `compact` tells
    what was so when the episode began."""
    suffix: bool = True
    """End the last message with the backend's own instruction. Off for prompts that bring theirs."""

    @model_validator(mode="before")
    @classmethod
    def _recommended_where_nothing_is_said(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("model"), str):
            return data
        settings = recommended_settings(data["model"])
        if not settings:
            return data
        given = data.get("sampling", {})
        if isinstance(given, Sampling):
            given = given.model_dump(exclude_unset=True)
        if isinstance(given, dict):
            data = {**data, "sampling": {**settings.get("sampling", {}), **given}}
        if data.get("retry_contradictions"):
            settings.pop("max_retries", None)
        return {**settings, **data}

    @field_validator("cassette", mode="before")
    @classmethod
    def _cassette_from_text(cls, value: object) -> object:
        return CassetteConfig.parse(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _context_is_possible(self) -> Self:
        if self.retry_contradictions and self.max_retries == 0:
            raise ValueError("retry_contradictions=True needs max_retries of at least 1, got 0")
        if self.layout == "compact" and self.context_policy == "drop_oldest":
            raise ValueError("context_policy='drop_oldest' is not for layout='compact', whose prompts have no history")
        if self.context_policy == "drop_oldest" and self.context_tokens is None:
            raise ValueError("context_policy='drop_oldest' needs context_tokens, the length of the model's context")
        if self.context_tokens is not None and self.context_tokens <= self.sampling.max_tokens:
            raise ValueError(
                f"context_tokens={self.context_tokens} leaves nothing for the prompt: it has to be greater than "
                f"sampling.max_tokens={self.sampling.max_tokens}"
            )
        return self

    @classmethod
    def of(cls, **fields: Any) -> Self:
        """Make a configuration from keyword arguments.

        Raises:
            ConfigError: unknown or impossible fields; says which and why.
        """
        return checked(cls, "world-model setting", fields)

    def engine(self) -> Engine:
        """The engine alone, with its cassette. Loads and contacts nothing.

        Raises:
            ConfigError: the model string, an option or the cassette file is wrong.
            MissingExtraError: the engine's package is not installed.
        """
        engine = build_engine(self.model, self.revision, self.engine_options)
        if self.cassette is not None:
            engine = CassetteEngine(engine, self.cassette)
        engine.check()
        engine.check_sampling(self.sampling)
        return engine

    def build(self) -> WorldModelBackend:
        """The backend. Raises as `engine` does."""
        from agentworld_envs.backends.world_model.backend import WorldModelBackend

        return WorldModelBackend(self.engine(), self)
