"""Rollouts: the same results whatever the number of slots, and failures kept apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain

from agentworld_envs import AgentWorldVectorEnv, ConfigError
from agentworld_envs.agents import (
    Agent,
    Decision,
    EpisodeResult,
    ExpertAgent,
    Info,
    RandomAgent,
    ReplayAgent,
    Rollout,
    RolloutSummary,
    build_agent,
    rollout,
)
from agentworld_envs.episode import Episode
from agentworld_envs.interface import Failure
from agentworld_envs.trajectories import read_trajectories


def play(agent: Agent, episodes: int, num_envs: int, **arguments: Any) -> RolloutSummary:
    return rollout({"domain": ToyDomain(), "num_envs": num_envs, **arguments}, agent, episodes, seed=3)


def outcome(summary: RolloutSummary) -> list[tuple[Any, ...]]:
    return [
        (e.index, e.task_id, e.seed, e.status, e.score, e.steps, e.total_reward, e.failure) for e in summary.episodes
    ]


@pytest.mark.parametrize("tasks", ["train", "broken", "fragile", "silent"])
@pytest.mark.parametrize("agent", ["expert", "random"])
def test_results_do_not_depend_on_the_number_of_slots(agent: str, tasks: str) -> None:
    results = [outcome(play(build_agent(agent), 12, slots, tasks=tasks)) for slots in (1, 5, 12, 20)]
    assert results[0] == results[1] == results[2] == results[3]
    assert [row[2] for row in results[0]] == list(range(3, 15))


def test_the_expert_solves_everything_and_returns_are_scores() -> None:
    summary = play(ExpertAgent(), 10, 4)
    assert summary.success_rate == 1.0
    assert all(e.total_reward == pytest.approx(e.score) and e.terminated for e in summary.episodes)
    assert summary.steps == sum(e.steps for e in summary.episodes)


def test_worlds_that_cannot_be_opened_are_reported_apart() -> None:
    summary = play(ExpertAgent(), 20, 3, tasks="broken")
    invalid = [e for e in summary.episodes if not e.reward_valid]
    assert 0 < len(invalid) < 20
    assert summary.failures == {"task": len(invalid)}
    assert all(e.steps == 0 and e.message == "This toy is broken." for e in invalid)
    assert summary.success_rate == 1.0


def test_failures_of_a_step_are_reported_apart() -> None:
    summary = play(ExpertAgent(), 20, 3, tasks="fragile")
    assert set(summary.failures) == {"sandbox"}
    assert summary.success_rate == 1.0
    assert summary.n_valid + summary.failures["sandbox"] == 20


class Failing(Agent):
    """Fails at its second step in every third episode."""

    name = "failing"

    def __init__(self) -> None:
        self.seeds: dict[int, int] = {}
        self.steps: dict[int, int] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self.seeds[slot], self.steps[slot] = episode.seed, 0

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        for slot in slots:
            self.steps[slot] += 1
        return [Failure("provider", "down", True) if self._fails(slot) else "wait" for slot in slots]

    def _fails(self, slot: int) -> bool:
        return self.seeds[slot] % 3 == 0 and self.steps[slot] == 2


@pytest.mark.parametrize("slots", [1, 4])
def test_an_agent_that_fails_is_neither_right_nor_wrong(slots: int, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    summary = play(Failing(), 9, slots, record=path)
    assert summary.failures == {"agent:provider": 3}
    assert summary.n_valid == 6
    assert [e.index for e in summary.episodes if e.status == "agent_failure"] == [0, 3, 6]
    # An abandoned episode is not stepped on while the others finish.
    assert [len(t.steps) for t in sorted(read_trajectories(path), key=lambda t: t.reset.seed)] == [1, 8, 8] * 3


def test_a_recording_holds_exactly_the_episodes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    play(RandomAgent(), 7, 20, record=path)
    trajectories = read_trajectories(path)
    assert sorted(t.reset.seed for t in trajectories) == list(range(3, 10))
    assert all(t.finished and t.close is not None for t in trajectories)


def test_a_recording_played_by_the_replay_agent_has_the_same_results(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    first = play(RandomAgent(), 7, 2, record=path)
    for backend in ("real", f"replay:{path}"):
        again = play(ReplayAgent(read_trajectories(path)), 7, 3, backend=backend)
        assert outcome(again) == outcome(first)


def test_the_replay_agent_fails_rather_than_invents(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    play(ExpertAgent(), 3, 1, record=path, max_steps=1)
    recorded = read_trajectories(path)
    assert set(play(ReplayAgent(recorded), 3, 1).failures) == {"agent:replay_divergence"}
    assert set(play(ReplayAgent([]), 3, 1).failures) == {"agent:replay_divergence"}


def test_progress_sees_every_episode_and_an_interrupt_leaves_a_summary() -> None:
    seen: list[EpisodeResult] = []

    def progress(result: EpisodeResult) -> None:
        seen.append(result)
        if len(seen) == 4:
            raise KeyboardInterrupt

    env = AgentWorldVectorEnv(ToyDomain(), 2, autoreset_mode="Disabled")
    run = Rollout(env, ExpertAgent(), 10, progress=progress)
    with pytest.raises(KeyboardInterrupt):
        run.run()
    env.close()
    summary = run.summary()
    assert (summary.n, summary.requested) == (4, 10)
    assert summary.seconds > 0


def test_an_environment_can_be_used_again() -> None:
    env = AgentWorldVectorEnv(ToyDomain(), 4, autoreset_mode="Disabled")
    first = rollout(env, ExpertAgent(), 6)
    assert outcome(rollout(env, ExpertAgent(), 6)) == outcome(first)
    assert outcome(rollout(env, ExpertAgent(), 2)) == outcome(first)[:2]
    env.close()


def test_wrong_arguments_say_what_is_expected() -> None:
    with pytest.raises(ConfigError, match="at least 1, got 0"):
        play(ExpertAgent(), 0, 1)
    env = AgentWorldVectorEnv(ToyDomain(), 1)
    with pytest.raises(ConfigError, match="autoreset_mode='Disabled'"):
        rollout(env, ExpertAgent(), 1)
    env.close()
    with pytest.raises(ConfigError, match="Did you mean 'expert'"):
        build_agent("exprt")
    for name in ("llm", "replay"):
        with pytest.raises(ConfigError, match="needs"):
            build_agent(name)


def test_the_random_agent_depends_on_its_seed_and_nothing_else() -> None:
    one, same, other = (outcome(play(RandomAgent(s), 10, 2)) for s in (0, 0, 1))
    assert one == same != other


def test_the_expert_goes_on_behind_its_plan() -> None:
    summary = play(ExpertAgent(), 5, 2, backend="world_model", model="scripted:nothing")
    assert summary.n_valid == 5
    assert all(e.steps == 8 and not e.success for e in summary.episodes)
