"""`Engine`: text in, text out, many at a time. Everything that can go wrong for one request stays on its completion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.interface import ConfigError, Failure, ProviderError, Session, Usage, classify

Role = Literal["system", "user", "assistant"]


class Sampling(BaseModel):
    """How text is drawn. The defaults are those of the Qwen-AgentWorld model card (temperature, top_p, top_k)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float = Field(default=0.6, ge=0)
    """0 is greedy decoding."""
    top_p: float = Field(default=0.95, gt=0, le=1)
    """Nucleus mass; 1 keeps every token."""
    top_k: int = Field(default=20, ge=0)
    """How many of the likeliest tokens are kept; 0 keeps every token. Not every server knows it."""
    max_tokens: int = Field(default=16384, ge=1)
    """Longest answer in tokens, thinking included. Reasoning models are cut inside their thinking below about 16k."""
    stop: tuple[str, ...] = ()
    """Strings that end the answer; they are not part of it. A closing tag is a bad choice for a model that thinks."""
    prefill: str = ""
    """Text that the assistant's turn begins with. It is part of the prompt, not of the answer."""
    adapter: str = ""
    """LoRA adapter that answers; `""` is the model itself, or the engine's default. Engine `vllm` knows those of its
    option `adapters`, servers those that they serve under a name of their own."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One answer that is wanted."""

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    seed: int = 0
    """Seed of the draw, in [0, 2**31), which every server accepts."""
    deadline_s: float = 600.0
    """Seconds from the call of `generate` in which the answer must be there, retries and queues included."""
    prompt_version: str = ""
    """Version of the wording behind the messages; part of every cassette key."""
    session: Session | None = field(default=None, repr=False, compare=False)
    """The episode that asks. Only scripted engines look at it; it is never sent or recorded."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer to one request, or the failure in its place."""

    text: str = ""
    """The answer without the reasoning, where the engine keeps them apart, and without the prefill."""
    reasoning: str = ""
    """The reasoning channel; empty when the engine has none (it may then be inside `text`)."""
    finish_reason: str = "stop"
    """`stop`, `length`, or what else the engine says."""
    usage: Usage = field(default_factory=Usage)
    failure: Failure | None = None
    """Set when there is no answer; the texts are then undefined."""
    recorded: Usage | None = None
    """For an answer from a cassette: what it cost when it was recorded. `usage` has only what was spent now."""


class Engine(ABC):
    """A source of completions. Engines open lazily, at the first `generate`, and again when used after `close`."""

    model: str
    """Identity of the model, part of every cassette key. Known without loading or contacting anything."""
    revision: str = ""
    """Which weights and settings, where the model's name does not say it all; part of every cassette key."""

    @abstractmethod
    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        """Answer all requests together: same length, same order. A request never raises: see `Completion.failure`."""

    def answer(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        """`generate`, also of an engine that breaks its contract: that is a failure of every request, not an escape."""
        try:
            completions = self.generate(requests)
            if len(completions) != len(requests):
                raise ProviderError(f"The engine gave {len(completions)} answers to {len(requests)} requests.")
        except Exception as error:  # noqa: BLE001 - a broken engine fails the wave, not the program
            return [Completion(failure=classify(error)) for _ in requests]
        return completions

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """Length of the rendered prompt in tokens, `None` when this engine cannot tell."""
        return None

    def check(self) -> None:  # noqa: B027 - most engines always can
        """Find out, without loading or contacting anything, that this engine cannot work here.

        Raises:
            MissingExtraError: a package is not installed.
            ConfigError: a local file is not there.
        """

    def check_sampling(self, sampling: Sampling) -> None:
        """Find out early that this engine cannot sample like that.

        Raises:
            ConfigError: an adapter that it does not have.
        """
        if sampling.adapter:
            raise ConfigError(f"{self.model} has no adapters, got sampling.adapter={sampling.adapter!r}.")

    def forget(self, sessions: Sequence[Session]) -> None:  # noqa: B027 - most engines know of none
        """Release what is kept for episodes that are over."""

    def close(self) -> None:  # noqa: B027 - most engines hold nothing
        """Release connections, threads and weights. Idempotent."""

    def describe(self) -> dict[str, Any]:
        """Model and revision. JSON, no secrets."""
        return {"model": self.model, "revision": self.revision}
