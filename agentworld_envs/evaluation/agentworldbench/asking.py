"""`ask_all`: many questions to one engine, in waves, each answer on disk before the next wave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.backends.world_model.engines import (
    Completion,
    Engine,
    GenerationRequest,
    Sampling,
    build_engine,
)
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.evaluation.agentworldbench.journal import Journal

Progress = Callable[[int, int], None]
"""Called with the number of results that are there, and of all."""


class ModelConfig(BaseModel):
    """A model that answers the questions of one step."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    """Model string, as in `WorldModelConfig.model`."""
    revision: str = ""
    """Which weights, where the model's name does not say it."""
    engine_options: dict[str, Any] = Field(default_factory=dict)
    """Options of the engine."""
    sampling: Sampling = Field(default_factory=lambda: Sampling(max_tokens=32_768))
    """How answers are drawn; temperature 0.6 and 32,768 tokens as in the official evaluator."""
    seed: int = Field(default=0, ge=0)
    """Seed of the run; each question's is made of it and of the row."""
    concurrency: int = Field(default=64, ge=1)
    """Questions in one wave. It changes speed, never what is asked."""
    max_retries: int = Field(default=3, ge=0)
    """How often a question is asked again, after a failure that may pass or an answer that is unreadable."""
    deadline_s: float = Field(default=1800.0, gt=0)
    """Seconds for one answer, queues and the engine's own retries included."""

    @classmethod
    def of(cls, **fields: Any) -> ModelConfig:
        """Make a configuration from keyword arguments.

        Raises:
            ConfigError: unknown or impossible fields; says which and why.
        """
        return checked(cls, "model setting", fields)

    def engine(self) -> Engine:
        """The engine. Loads and contacts nothing.

        Raises:
            ConfigError, MissingExtraError: as `build_engine`.
        """
        engine = build_engine(self.model, self.revision, self.engine_options)
        engine.check()
        return engine

    def header(self, engine: Engine, step: str, **more: Any) -> dict[str, Any]:
        """What the results of a step depend on, for its journal."""
        sampling = self.sampling.model_dump(mode="json")
        return {"step": step, **engine.describe(), "sampling": sampling, "seed": self.seed, **more}


class Asked(Protocol):
    """One question with a place in the journal."""

    @property
    def key(self) -> str: ...

    def request(self, attempt: int) -> GenerationRequest:
        """What is asked at this attempt (0-based); only the seed may differ."""

    def line(self, completion: Completion, attempts: int) -> dict[str, Any]:
        """The result as a line, without key."""

    def worth_retrying(self, completion: Completion) -> bool:
        """Whether another try may bring a better answer."""


def ask_all(
    engine: Engine,
    journal: Journal,
    questions: Sequence[Asked],
    done: Callable[[Asked, Mapping[str, Any]], bool],
    config: ModelConfig,
    progress: Progress | None = None,
) -> None:
    """Ask what is not done yet.

    Args:
        engine: answers. journal: where results are, and go.
        questions: all of them, in order. Neighbours share a prefix when they are of one trajectory.
        done: whether an earlier line is a result; others are asked again.
        config: waves, retries, deadlines.
        progress: called after every wave, and once at the start.
    """
    results = journal.results
    open_ = [q for q in questions if q.key not in results or not done(q, results[q.key])]
    finished = len(questions) - len(open_)
    if progress is not None:
        progress(finished, len(questions))
    for start in range(0, len(open_), config.concurrency):
        wave = open_[start : start + config.concurrency]
        journal.append(_wave(engine, wave, config))
        finished += len(wave)
        if progress is not None:
            progress(finished, len(questions))


def _wave(engine: Engine, wave: Sequence[Asked], config: ModelConfig) -> list[dict[str, Any]]:
    completions: dict[int, Completion] = {}
    attempts = [0] * len(wave)
    left = list(range(len(wave)))
    for attempt in range(config.max_retries + 1):
        requests = [replace(wave[i].request(attempt), deadline_s=config.deadline_s) for i in left]
        for i, completion in zip(left, engine.answer(requests), strict=True):
            completions[i] = completion
            attempts[i] += 1
        left = [i for i in left if wave[i].worth_retrying(completions[i])]
        if not left:
            break
    return [
        {"key": asked.key, **asked.line(completions[i], attempts[i]), "attempts": attempts[i]}
        for i, asked in enumerate(wave)
    ]


def completion_line(completion: Completion) -> dict[str, Any]:
    """A completion as JSON: texts, finish reason, usage without zeros, failure."""
    failure = completion.failure
    return {
        "text": "" if failure else completion.text,
        "reasoning": "" if failure else completion.reasoning,
        "finish_reason": completion.finish_reason if failure is None else "",
        "usage": {name: value for name, value in asdict(completion.usage).items() if value},
        "failure": None if failure is None else failure._asdict(),
    }
