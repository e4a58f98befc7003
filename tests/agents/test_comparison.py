"""Re-executing recordings."""

from __future__ import annotations

from pathlib import Path

from agents.toy import ToyDomain

from agentworld_envs import AgentWorldEnv
from agentworld_envs.agents import ExpertAgent, RandomAgent, compare, reexecute, rollout
from agentworld_envs.trajectories import Trajectory, read_trajectories


def record(path: Path, **arguments: object) -> list[Trajectory]:
    rollout({"domain": ToyDomain(), "num_envs": 2, "record": path, **arguments}, RandomAgent(), 4)
    return read_trajectories(path)


def test_identical_on_replay_and_real(tmp_path: Path) -> None:
    for trajectory in record(tmp_path / "t.jsonl"):
        for backend in ("replay", "real"):
            assert reexecute(trajectory, backend, ToyDomain()) is None


def test_failures_and_broken_worlds_replay_too(tmp_path: Path) -> None:
    for tasks in ("fragile", "broken"):
        path = tmp_path / f"{tasks}.jsonl"
        rollout({"domain": ToyDomain(), "tasks": tasks, "record": path}, ExpertAgent(), 8)
        trajectories = read_trajectories(path)
        assert not all(t.reward_valid for t in trajectories)
        assert [reexecute(t, "replay", ToyDomain()) for t in trajectories] == [None] * 8


def test_the_first_difference_is_named(tmp_path: Path) -> None:
    trajectory = record(tmp_path / "t.jsonl")[0]
    trajectory.steps[1] = trajectory.steps[1].model_copy(update={"observation": "The counter is 99."})
    found = reexecute(trajectory, "real", ToyDomain())
    assert found is not None
    assert (found.step, found.field, found.recorded) == (2, "observation", "The counter is 99.")
    assert "step 2, observation: recorded 'The counter is 99.', got" in str(found)


def test_a_simulated_episode_differs_from_the_real_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for trajectory in record(path, backend="world_model", model="scripted:nothing"):
        assert reexecute(trajectory, "replay", ToyDomain()) is None
        found = reexecute(trajectory, "real", ToyDomain())
        assert found is not None
        assert found.step in (0, 1)  # commands are known to the real world only


def test_every_branch_of_a_fork_is_compared_with_itself(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    env = AgentWorldEnv(ToyDomain(), record=path)
    env.reset(seed=4)
    env.step("wait")
    twin = env.fork()
    env.step("up")
    twin.step("down")
    twin.close()
    env.close()
    trajectories = read_trajectories(path)
    assert [[s.action for s in t.steps] for t in trajectories] == [["wait", "up"], ["wait", "down"]]
    assert [reexecute(t, "replay", ToyDomain()) for t in trajectories] == [None, None]


def test_compare_two_recordings(tmp_path: Path) -> None:
    one, two = record(tmp_path / "1.jsonl"), record(tmp_path / "2.jsonl")
    assert [compare(a, b) for a, b in zip(one, two, strict=True)] == [None] * 4
    two[0].steps.pop()
    found = compare(one[0], two[0])
    assert found is not None
    assert found.field == "steps"
    found = compare(one[0], one[1])
    assert found is not None
    assert found.step == 0
