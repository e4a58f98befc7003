"""Reading an episode at a time: the same episodes as reading all of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from agents.toy import ToyDomain
from training.support import a_task, played

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv
from agentworld_envs.agents import RandomAgent, Rollout
from agentworld_envs.interface import ConfigError
from agentworld_envs.trajectories import read_trajectories, scan_trajectories


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "t.jsonl"
    env = AgentWorldVectorEnv(ToyDomain(), 5, record=path, autoreset_mode="Disabled")
    with closing(env):
        Rollout(env, RandomAgent(), 17).run()
    return path


def test_the_same_episodes(recording: Path) -> None:
    expected = {trajectory.episode: trajectory for trajectory in read_trajectories(recording)}
    scanned = list(scan_trajectories(recording))
    assert {trajectory.episode for trajectory, _ in scanned} == set(expected)
    for trajectory, located in scanned:
        assert trajectory == located.load() == expected[trajectory.episode]


def test_damage_is_named_and_the_rest_is_read(recording: Path) -> None:
    lines = recording.read_bytes().split(b"\n")
    lines[7] = b'{"type":"step","episode":"nobody"'
    lines.insert(9, b"")
    recording.write_bytes(b"\n".join(lines[:-20]) + b'\n{"type":"st')
    problems: list[str] = []
    expected_problems: list[str] = []
    expected = {trajectory.episode: trajectory for trajectory in read_trajectories(recording, expected_problems)}
    scanned = list(scan_trajectories(recording, problems))
    assert len(problems) == len(expected_problems) > 1
    assert {trajectory.episode: located.load() for trajectory, located in scanned} == expected


def test_forks_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldEnv(ToyDomain(), record=path)) as env:
        env.reset(options={"task": a_task()})
        env.step("up")
        with closing(env.fork()) as twin:
            twin.step("down")
    problems: list[str] = []
    assert len(list(scan_trajectories(path, problems))) == 1
    assert "fork" in problems[0]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    played(ToyDomain(), ["up", "down"], path, task=a_task())
    ((_, located),) = scan_trajectories(path)
    path.write_bytes(b"\n" + path.read_bytes())
    with pytest.raises(ConfigError, match="was changed"):
        located.load()
    path.unlink()
    with pytest.raises(ConfigError, match="Cannot read"):
        located.load()
    with pytest.raises(ConfigError, match="Cannot read"):
        list(scan_trajectories(path))
