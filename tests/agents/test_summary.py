"""The numbers of a rollout."""

from __future__ import annotations

import json

import pytest

from agentworld_envs.agents import EpisodeResult, RolloutSummary, wilson_interval
from agentworld_envs.interface import Usage


def episode(index: int, status: str = "valid", success: bool = False, failure: str | None = None) -> EpisodeResult:
    return EpisodeResult(
        index=index,
        task_id=f"t{index}",
        seed=index,
        status=status,  # type: ignore[arg-type]
        score=float(success),
        success=success,
        steps=4,
        total_reward=float(success),
        terminated=success,
        truncated=not success,
        failure=failure,
        usage={"simulator": Usage(prompt_tokens=10, completion_tokens=2)},
    )


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.27753),
        (10, 10, 0.72247, 1.0),
        (5, 10, 0.23659, 0.76341),
        (1, 1, 0.20655, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_wilson_interval_has_the_textbook_values(successes: int, n: int, low: float, high: float) -> None:
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=1e-4)


def test_failures_are_not_unsolved_tasks() -> None:
    summary = RolloutSummary(
        [
            episode(0, success=True),
            episode(1),
            episode(2, "invalid", failure="sandbox"),
            episode(3, "invalid", success=True, failure="sandbox"),
            episode(4, "agent_failure", failure="provider"),
        ],
        seconds=2.0,
        steps=20,
        requested=6,
    )
    assert (summary.n, summary.n_valid, summary.successes) == (5, 2, 1)
    assert summary.success_rate == 0.5
    assert summary.mean_score == 0.5
    assert summary.failures == {"sandbox": 2, "agent:provider": 1}
    assert summary.steps_per_s == 10.0
    assert summary.usage["simulator"].prompt_tokens == 50


def test_nothing_valid_is_no_zero() -> None:
    summary = RolloutSummary([episode(0, "invalid", failure="sandbox")], seconds=0.0, steps=0, requested=1)
    assert summary.success_rate is None
    assert summary.success_interval is None
    assert summary.mean_score is None
    assert summary.steps_per_s == 0.0


def test_to_dict_is_json() -> None:
    summary = RolloutSummary([episode(0, success=True)], seconds=1.0, steps=4, requested=1)
    data = json.loads(json.dumps(summary.to_dict()))
    assert data["episodes"][0]["return"] == 1.0
    assert data["episodes"][0]["reward_valid"] is True
    assert data["success_interval_95"] == pytest.approx([0.20655, 1.0], abs=1e-4)


def test_asdict_does_not_share_usage() -> None:
    one = episode(0)
    RolloutSummary([one, one], seconds=1.0, steps=8, requested=2).usage["simulator"].prompt_tokens += 1000
    assert one.usage["simulator"].prompt_tokens == 10
