"""Failure is not a reward: whatever the machinery does, no number comes out of it that could be learned from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv, Failure, Task
from agentworld_envs.backends.real import RealBackend
from agentworld_envs.interface import (
    Action,
    Domain,
    EpisodeView,
    Judgement,
    ProviderTimeout,
    RewardModel,
    SandboxError,
    Session,
    TaskError,
    Transition,
    Verdict,
    World,
    classify,
)
from agentworld_envs.testing import CounterDomain
from agentworld_envs.testing.counter import CounterWorld


class FailingWorld(CounterWorld):
    """Fails at one step, or at reset."""

    def __init__(self, task: Task, step: int, error: Exception) -> None:
        super().__init__(task)
        self.step, self.error, self.steps = step, error, 0

    def reset(self) -> str:
        if self.step == 0:
            raise self.error
        return super().reset()

    def act(self, action: Action) -> str:
        self.steps += 1
        if self.steps == self.step:
            raise self.error
        return super().act(action)


class FailingDomain(CounterDomain):
    """Counter in which the worlds of some targets fail."""

    def __init__(self, step: int, error: Exception, targets: Sequence[int] = ()) -> None:
        self.step, self.error, self.targets = step, error, targets

    def world(self, task: Task) -> World:
        if not self.targets or task.verifier["target"] in self.targets:
            return FailingWorld(task, self.step, self.error)
        return CounterWorld(task)


def assert_failed(result: tuple[Any, ...], kind: str) -> None:
    _, reward, terminated, truncated, info = result
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["reward_valid"] is False
    assert isinstance(info["failure"], Failure)
    assert info["failure"].kind == kind
    assert info["failure"].message


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (SandboxError("gone"), "sandbox", True),
        (ProviderTimeout("slow"), "provider_timeout", True),
        (TaskError("broken"), "task", False),
        (TimeoutError(), "timeout", True),
        (KeyError("x"), "internal", False),
    ],
)
def test_errors_are_classified_in_one_place(error: Exception, kind: str, retryable: bool) -> None:
    failure = classify(error)
    assert (failure.kind, failure.retryable) == (kind, retryable)
    with closing(AgentWorldEnv(FailingDomain(2, error))) as env:
        env.reset(options={"task_id": "count-20"})
        assert env.step("add 1")[1] > 0
        result = env.step("add 1")
        assert_failed(result, kind)
        again = env.step("add 1")
        assert_failed(again, kind)
        assert again[0] == result[0]


def test_a_world_that_cannot_be_opened_is_truncated_at_its_first_step() -> None:
    with closing(AgentWorldEnv(FailingDomain(0, SandboxError("no machine")))) as env:
        _, info = env.reset(seed=0)
        assert info["failure"].kind == "sandbox"
        assert info["reward_valid"] is False
        assert_failed(env.step("add 1"), "sandbox")
        with closing(env.fork()) as twin:
            assert_failed(twin.step("add 1"), "sandbox")


def test_the_other_slots_of_a_batch_go_on() -> None:
    domain = FailingDomain(1, SandboxError("gone"), targets=[2])
    with closing(AgentWorldVectorEnv(domain, 3, autoreset_mode="Disabled")) as env:
        env.reset(options={"task_id": ["count-1", "count-2", "count-3"]})
        _, rewards, terminations, truncations, infos = env.step(["add 1"] * 3)
        assert rewards.tolist() == pytest.approx([1.0, 0.0, 1 / 3])
        assert terminations.tolist() == [True, False, False]
        assert truncations.tolist() == [False, True, False]
        assert infos["reward_valid"].tolist() == [True, False, True]
        assert [f and f.kind for f in infos["failure"]] == [None, "sandbox", None]


def test_stock_vector_envs_can_merge_a_failure() -> None:
    domain = FailingDomain(1, SandboxError("gone"), targets=[2])
    makers = [lambda: AgentWorldEnv(domain)] * 2
    with closing(gym.vector.SyncVectorEnv(makers)) as env:
        env.reset(seed=[0, 0])
        for slot, target in enumerate((1, 2)):
            env.envs[slot].reset(options={"task_id": f"count-{target}"})
        *_, infos = env.step(["add 1"] * 2)
        assert infos["failure"][0] is None
        assert infos["failure"][1].kind == "sandbox"


class BrokenBackend(RealBackend):
    """Breaks the contract of `Backend.step`."""

    def __init__(self, answer: Callable[[Sequence[Session]], list[Transition]]) -> None:
        self.answer = answer

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        return self.answer(sessions)


def raising(sessions: Sequence[Session]) -> list[Transition]:
    raise RuntimeError("no transitions today")


@pytest.mark.parametrize("answer", [raising, lambda sessions: []])
def test_a_backend_that_breaks_its_contract_fails_the_step(answer: Any) -> None:
    with closing(AgentWorldEnv(CounterDomain(), backend=BrokenBackend(answer))) as env:
        env.reset(seed=0)
        assert_failed(env.step("add 1"), "internal")


class OddReward(RewardModel):
    """Raises or scores nonsense for one target."""

    name = "odd"

    def __init__(self, score: float | None, target: int) -> None:
        self.score, self.target = score, target

    def step(self, episodes: Sequence[EpisodeView]) -> list[Judgement]:
        judgements = []
        for view in episodes:
            if view.session.task.verifier["target"] == self.target:
                if self.score is None:
                    raise RuntimeError("the judge is ill")
                judgements.append(Judgement(Verdict(self.score, True, True)))
            else:
                judgements.append(Judgement(view.session.verdict()))
        return judgements


@pytest.mark.parametrize("score", [None, float("nan"), -0.5, 1.5, float("inf")])
def test_a_reward_that_cannot_be_is_a_failure_of_that_slot_alone(score: float | None) -> None:
    with closing(AgentWorldVectorEnv(CounterDomain(), 2, reward=OddReward(score, 2), autoreset_mode="Disabled")) as env:
        env.reset(options={"task_id": ["count-1", "count-2"]})
        _, rewards, terminations, truncations, infos = env.step(["add 1"] * 2)
        assert rewards.tolist() == [1.0, 0.0]
        assert terminations.tolist() == [True, False]
        assert truncations.tolist() == [False, True]
        assert infos["reward_valid"].tolist() == [True, False]
        assert infos["failure"][1].kind == ("internal" if score is None else "judge")


def test_replay_reward_is_what_reality_says() -> None:
    liar: Any = {"backend": "world_model", "model": "scripted:liar", "reward": "replay", "max_steps": 2}
    with closing(AgentWorldEnv(CounterDomain(), **liar)) as env:
        env.reset(options={"task_id": "count-5"})
        env.step("add 1")
        result = env.step("add 4")  # whatever the simulator claimed: in the real world this reaches 5
        if result[-1]["reward_valid"]:
            assert result[1] == 1.0
            assert result[-1]["success"]


def test_replay_reward_that_cannot_re_execute_is_not_a_zero() -> None:
    broken = FailingDomain(0, SandboxError("no machine"))
    oracle = CounterDomain()
    assert isinstance(oracle, Domain)
    with closing(
        AgentWorldEnv(broken, backend="world_model", model="scripted:echo", reward="replay", max_steps=1)
    ) as env:
        env.reset(options={"task_id": "count-5"})
        result = env.step("add 1")
        assert result[3] is True
        assert result[-1]["reward_valid"] is False
        assert result[1] == 0.0


def test_the_ledger_bills_each_line_apart() -> None:
    with closing(AgentWorldEnv(CounterDomain(), reward="replay", max_steps=2)) as env:
        env.reset(seed=0)
        env.step("look")
        env.step("look")
        assert [entry.line for entry in env.ledger] == ["world", "world", "world", "judge"]
        assert [entry.step for entry in env.ledger] == [0, 1, 2, 2]
        assert env.ledger.total().seconds >= env.ledger.total("judge").seconds > 0


def test_rewards_are_python_floats_and_vector_rewards_float64() -> None:
    with closing(AgentWorldEnv(CounterDomain())) as env:
        env.reset(seed=0)
        assert type(env.step("add 1")[1]) is float
    with closing(AgentWorldVectorEnv(CounterDomain(), 2)) as vec:
        vec.reset(seed=0)
        assert vec.step(["look", "look"])[1].dtype == np.float64
