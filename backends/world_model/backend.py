"""`WorldModelBackend`: the next observation is what a language model says it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from agentworld_envs.backends.world_model.codec import COMPACT_VERSION, PREFILL
from agentworld_envs.backends.world_model.config import WorldModelConfig
from agentworld_envs.backends.world_model.context import Prompt, build_prompt
from agentworld_envs.backends.world_model.engines import Engine
from agentworld_envs.backends.world_model.prompts import CONTROL_VERSION, SUFFIX, SUFFIX_VERSION
from agentworld_envs.backends.world_model.session import WorldModelSession
from agentworld_envs.backends.world_model.slot import Slot
from agentworld_envs.interface import (
    Action,
    Backend,
    ConfigError,
    Domain,
    Failure,
    Session,
    Task,
    Transition,
    classify,
)


class WorldModelBackend(Backend):
    """Imagines episodes of any domain: one batched generation per vector step.

    An answer that is no prediction (no tag, an unclosed tag, cut at `max_tokens`, empty) is asked for again with a new
    seed, together with the other such slots of the step, at most `max_retries` times. Then, and whenever the engine
    fails, the failure is on the transition of that slot alone.
    """

    name = "world_model"
    source = "world_model"

    def __init__(self, engine: Engine, config: WorldModelConfig) -> None:
        """Args: engine: answers; closed by `shutdown`. config: everything but the engine is taken from it."""
        self.engine = engine
        self.config = config
        sampling = config.sampling
        if config.prefill and not sampling.prefill:
            sampling = sampling.model_copy(update={"prefill": PREFILL})
        self._sampling = sampling
        self._suffix = SUFFIX if config.suffix and config.layout == "agentworld" else ""
        self._budget = None if config.context_tokens is None else config.context_tokens - sampling.max_tokens

    @property
    def takes_instructions(self) -> bool:  # type: ignore[override]
        """The compact layout has no place for them."""
        return self.config.layout == "agentworld"

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        """Start one session per task. Asks no model: the first observation is the domain's own."""
        return [WorldModelSession(domain, task, seed) for task, seed in zip(tasks, seeds, strict=True)]

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        """Predict one observation per session, in one `generate` and at most `max_retries` smaller ones."""
        end = time.monotonic() + self.config.deadline_s
        slots = [Slot(_ours(session), action) for session, action in zip(sessions, actions, strict=True)]
        try:
            for slot in slots:
                self._prepare(slot)
            for attempt in range(self.config.max_retries + 1):
                wave = [slot for slot in slots if slot.transition is None]
                left = end - time.monotonic()
                if not wave or (attempt and left <= 0):
                    break
                self._ask(wave, attempt, left)
        finally:
            for slot in slots:
                slot.session.pending = None
                slot.session.instruct()
        return [_finished(slot) for slot in slots]

    def _prepare(self, slot: Slot) -> None:
        session = slot.session
        if session.failure is not None:
            slot.fail(session.failure)
            return
        if session.closed:
            slot.fail(Failure("internal", "This episode is closed; open a new one.", False))
            return
        try:
            slot.know()
            if slot.transition is not None:
                return
            slot.prompt = self.prompt(session, slot.action)
            if self._sampling.prefill:
                slot.set_frame()
        except Exception as error:  # noqa: BLE001 - an episode that cannot be put into words is its own slot's failure
            slot.fail(classify(error))
        else:
            session.pending = slot.action

    def _ask(self, wave: Sequence[Slot], attempt: int, deadline_s: float) -> None:
        requests = [
            slot.request(self._sampling, self._prompt_version(slot.session), attempt, deadline_s) for slot in wave
        ]
        for slot, completion in zip(wave, self.engine.answer(requests), strict=True):
            slot.take(completion, self._sampling.prefill, retry_contradiction=self.config.retry_contradictions)

    def prompt(self, session: WorldModelSession, action: Action) -> Prompt:
        """The messages that ask the model what comes of `action`. Training data is made of the same.

        Raises:
            ContextOverflow: they are longer than the configuration allows.
        """
        return build_prompt(
            session,
            action,
            suffix=self._suffix,
            state=self._state(session, action),
            layout=self.config.layout,
            budget=self._budget,
            policy=self.config.context_policy,
            count_tokens=self.engine.count_tokens,
        )

    def _state(self, session: WorldModelSession, action: Action) -> str:
        tracker = session.tracker
        if not self.config.tracked_state and not session.domain.told_by_turn:
            tracker = session.beginning if self.config.layout == "compact" else None
        limit = self.config.state_characters or session.domain.recall_characters
        return "" if tracker is None else tracker.recall(action, limit)

    @property
    def _wording(self) -> str:
        if self.config.layout == "compact":
            return COMPACT_VERSION
        return SUFFIX_VERSION if self._suffix else "no-suffix"

    def _prompt_version(self, session: WorldModelSession) -> str:
        version = f"{session.spec.prompt_version}+{self._wording}"
        return f"{version}+{CONTROL_VERSION}" if session.instructed else version

    def fork(self, session: Session) -> Session:
        """An independent session in the same state; asks no model."""
        return _ours(session).fork()

    def close(self, sessions: Sequence[Session]) -> None:
        for session in sessions:
            _ours(session).closed = True
        self.engine.forget(sessions)

    def shutdown(self) -> None:
        self.engine.close()

    def describe(self) -> dict[str, Any]:
        """Model, revision, sampling and prompt. A domain's own prompt version is on `session.spec`."""
        config = self.config
        return {
            "name": self.name,
            **self.engine.describe(),
            "sampling": self._sampling.model_dump(mode="json"),
            "prompt_version": self._wording,
            "max_retries": config.max_retries,
            "context_policy": config.context_policy,
            "context_tokens": config.context_tokens,
            "layout": config.layout,
            "tracked_state": config.tracked_state,
            "retry_contradictions": config.retry_contradictions,
        }


def _ours(session: Session) -> WorldModelSession:
    if not isinstance(session, WorldModelSession):
        raise ConfigError(f"Expected a session of the world_model backend, got a {type(session).__name__}.")
    return session


def _finished(slot: Slot) -> Transition:
    if slot.transition is None:
        slot.give_up()
    assert slot.transition is not None
    return slot.transition
