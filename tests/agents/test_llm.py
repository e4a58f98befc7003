"""The language-model agent, on scripted engines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from agents.toy import ToyDomain

from agentworld_envs import ConfigError
from agentworld_envs.agents import LLMAgent, RolloutSummary, rollout
from agentworld_envs.backends.world_model import Completion, Engine, GenerationRequest, ScriptedEngine
from agentworld_envs.interface import Failure


class Spy(Engine):
    """Counts calls and keeps requests; answers `text`."""

    model = "spy"

    def __init__(self, text: str = "<think>hm</think><action>up</action>") -> None:
        self.text = text
        self.waves: list[list[GenerationRequest]] = []
        self.closed = False

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        self.waves.append(list(requests))
        return [Completion(self.text) for _ in requests]

    def close(self) -> None:
        self.closed = True


def play(agent: LLMAgent, episodes: int = 4, num_envs: int = 4, max_steps: int | None = None) -> RolloutSummary:
    return rollout({"domain": ToyDomain(), "num_envs": num_envs, "max_steps": max_steps}, agent, episodes)


def test_one_batched_generation_per_step_and_tokens_on_the_agents_line() -> None:
    spy = ScriptedEngine(lambda request: "<action>up</action>")
    summary = play(LLMAgent(spy))
    assert summary.success_rate == 1.0
    assert summary.usage["agent"].completion_tokens > 0
    engine = Spy()
    play(LLMAgent(engine))
    assert len(engine.waves[0]) == 4
    assert len(engine.waves) == max(e.steps for e in summary.episodes)


def test_messages_alternate_and_hold_rules_task_and_history_without_thoughts() -> None:
    engine = Spy("<think>hm</think><action>wait</action>")
    play(LLMAgent(engine), 1, 1, max_steps=3)
    messages = engine.waves[-1][0].messages
    assert [m.role for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "Commands: up, down, wait." in messages[0].content
    assert "<action>" in messages[0].content
    assert "Count to" in messages[1].content
    assert messages[2].content == "<action>wait</action>"
    assert messages[3].content == "The counter is 0."


def test_history_is_bounded_and_keeps_the_task() -> None:
    engine = Spy("wait")
    play(LLMAgent(engine, max_turns=2), 1, 1, max_steps=6)
    messages = engine.waves[-1][0].messages
    assert len(messages) == 2 + 4
    assert "Count to" in messages[1].content
    assert "3 earlier turns" in messages[1].content


def test_seeds_differ_by_step_and_episode_and_repeat() -> None:
    def seeds(agent_seed: int) -> list[list[int]]:
        engine = Spy("wait")
        play(LLMAgent(engine, seed=agent_seed), 2, 2, max_steps=3)
        return [[request.seed for request in wave] for wave in engine.waves]

    assert seeds(0) == seeds(0) != seeds(1)
    flat = [seed for wave in seeds(0) for seed in wave]
    assert len(set(flat)) == len(flat)


def test_results_do_not_depend_on_the_number_of_slots() -> None:
    def odd(request: GenerationRequest) -> str:
        return "up" if request.seed % 2 else "down"

    one, many = (play(LLMAgent(ScriptedEngine(odd)), 6, slots) for slots in (1, 5))
    assert [(e.score, e.steps) for e in one.episodes] == [(e.score, e.steps) for e in many.episodes]


def test_a_failed_completion_is_an_agent_failure() -> None:
    def failing(request: GenerationRequest) -> str | Failure:
        return Failure("provider_timeout", "late", True) if len(request.messages) > 2 else "wait"

    summary = play(LLMAgent(ScriptedEngine(failing)))
    assert summary.failures == {"agent:provider_timeout": 4}
    assert summary.success_rate is None
    assert all(not e.reward_valid and e.steps == 1 for e in summary.episodes)


def test_an_engine_that_raises_fails_the_slots_not_the_run() -> None:
    class Broken(Spy):
        def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
            raise RuntimeError("boom")

    class Short(Spy):
        def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
            return []

    assert play(LLMAgent(Broken())).failures == {"agent:internal": 4}
    assert play(LLMAgent(Short())).failures == {"agent:provider": 4}


def test_a_given_engine_stays_open() -> None:
    engine = Spy()
    LLMAgent(engine).close()
    assert not engine.closed


def test_wrong_arguments() -> None:
    with pytest.raises(ConfigError, match="max_turns"):
        LLMAgent(Spy(), max_turns=-1)
    with pytest.raises(ConfigError, match="Did you mean 'openai'"):
        LLMAgent("opnai:x")
