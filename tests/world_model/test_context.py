"""Episodes that are longer than the model's context."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from world_model.toy import ToyDomain, act, make_task

from agentworld_envs.backends.world_model import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    WorldModelBackend,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import wrap


class Characters(Engine):
    """One token per character, so that a prompt's length can be read off."""

    model = "characters"

    def __init__(self) -> None:
        self.requests: list[GenerationRequest] = []
        self.counted = 0

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        self.requests += requests
        return [Completion(wrap("The counter shows 1.")) for _ in requests]

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        self.counted += 1
        return sum(len(m.content) for m in messages)


def play(policy: str, turns: int, context_tokens: int | None) -> tuple[Characters, list[object]]:
    engine = Characters()
    config = WorldModelConfig.of(
        model="characters",
        sampling=Sampling(max_tokens=100),
        context_policy=policy,
        context_tokens=context_tokens,
        suffix=False,
    )
    backend = WorldModelBackend(engine, config)
    (session,) = backend.open(ToyDomain(), [make_task()], [0])
    return engine, [backend.step([session], [act(f"add {i}")])[0] for i in range(1, turns + 1)]


def test_without_a_limit_nothing_is_counted_or_dropped() -> None:
    engine, transitions = play("fail", 30, None)
    assert engine.counted == 0
    assert all(t.failure is None for t in transitions)
    assert len(engine.requests[-1].messages) == 2 + 2 * 29


def test_fail() -> None:
    _, transitions = play("fail", 30, 2000)
    assert transitions[0].failure is None
    assert transitions[-1].failure is not None
    assert transitions[-1].failure.kind == "context_overflow"
    assert "drop_oldest" in transitions[-1].failure.message


def test_drop_oldest() -> None:
    engine, transitions = play("drop_oldest", 30, 2000)
    assert all(t.failure is None for t in transitions)
    dropped = [t.flags["context_trimmed"] for t in transitions]
    assert dropped[0] == 0
    assert dropped == sorted(dropped)
    assert set(dropped) <= set(range(0, 30, 4)), "in steps, so that a prefix cache stays valid for some turns"
    for request in engine.requests:
        assert sum(len(m.content) for m in request.messages) <= 1900
        roles = [m.role for m in request.messages]
        assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"]
    system, marker, left_out, first, *_, last = engine.requests[-1].messages
    assert system == engine.requests[0].messages[0]
    assert marker.content.startswith(f"### Turns 1 to {dropped[-1]}\n**Current State:**\nThe counter shows 0.")
    assert "Left out" in left_out.content
    assert first.content.startswith(f"### Turn {dropped[-1] + 1}\n")
    assert last.content.startswith("### Turn 30\n")


def test_what_never_fits_fails() -> None:
    _, transitions = play("drop_oldest", 2, 300)
    assert transitions[0].failure is not None
    assert transitions[0].failure.kind == "context_overflow"


def test_short_prompts_are_not_counted() -> None:
    engine, _ = play("drop_oldest", 3, 100_000)
    assert engine.counted == 0


def test_a_rule_of_thumb_where_the_engine_cannot_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Characters, "count_tokens", lambda self, messages: None)
    engine, transitions = play("drop_oldest", 30, 600)
    assert all(t.failure is None for t in transitions)
    assert all(sum(len(m.content) for m in r.messages) // 4 <= 500 for r in engine.requests)
