"""Recordings survive kills, corruption and sharing; what is whole in them is read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from agentworld_envs import AgentWorldEnv, ConfigError
from agentworld_envs.backends.replay import ReplayConfig
from agentworld_envs.testing import CounterDomain
from agentworld_envs.trajectories import read_trajectories

ENDLESS = """
import sys
from agentworld_envs import AgentWorldEnv
from agentworld_envs.testing import CounterDomain
env = AgentWorldEnv(CounterDomain(), record=sys.argv[1], max_steps=5)
while True:
    env.reset(options={"task_id": "count-20"})
    for _ in range(5):
        env.step("add 1")
"""


def record(path: Path, episodes: int = 2) -> None:
    with closing(AgentWorldEnv(CounterDomain(), record=path)) as env:
        for seed in range(episodes):
            env.reset(seed=seed, options={"task_id": f"count-{seed + 2}"})
            env.step("nonsense")
            for _ in range(seed + 2):
                env.step("<think>up</think>add 1")


def test_everything_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "t.jsonl"
    record(path)
    first, second = read_trajectories(path)
    assert first.reset.task.id == "count-2"
    assert (first.reset.seed, second.reset.seed) == (0, 1)
    assert [step.command for step in first.steps] == ["nonsense", "add 1", "add 1"]
    assert [step.tool for step in first.steps] == ["", "command", "command"]
    assert first.steps[1].action == "<think>up</think>add 1"
    assert [step.reward for step in first.steps] == [0.0, 0.5, 0.5]
    assert first.finished
    assert first.success
    assert first.reward_valid
    assert first.close is not None
    assert first.steps[1].usage["world"]["seconds"] > 0
    assert "instructions" in first.reset.model_dump()


def test_a_kill_loses_at_most_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)])
    deadline = time.monotonic() + 30
    while (not path.exists() or path.stat().st_size < 200_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    trajectories = read_trajectories(path)
    assert len(trajectories) > 10
    assert all(trajectory.finished for trajectory in trajectories[:-1])
    # The next episode is opened before the last one is closed.
    assert all(trajectory.close for trajectory in trajectories[:-2])


def test_a_torn_last_line_is_dropped_and_cannot_swallow_the_next(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "t.jsonl"
    record(path, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    [torn] = read_trajectories(path)
    assert len(torn.steps) == 3
    assert torn.close is None
    assert f"{path}, line 5: the last line is torn" in caplog.text
    record(path, 1)
    assert [len(t.steps) for t in read_trajectories(path)] == [3, 3]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (b"\xff\xfe garbage", "line 3: expected one JSON object"),
        (b"[" * 100_000, "line 3: expected one JSON object"),
        (b'{"type": "stepp"}', "line 3: expected an object of type reset, fork, step, close, got 'stepp'"),
        (b'{"type": "step", "episode": "x", "step": "one"}', "line 3: expected a step line, but step"),
    ],
)
def test_a_corrupt_line_costs_its_episode_only_what_is_behind_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes, words: str
) -> None:
    path = tmp_path / "t.jsonl"
    record(path)
    lines = path.read_bytes().splitlines()
    lines[2] = damage
    path.write_bytes(b"\n".join(lines) + b"\n")
    first, second = read_trajectories(path)
    assert words in caplog.text
    assert "expected step 2 of episode" in caplog.text
    assert len(first.steps) == 1
    assert second.success


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with pytest.raises(ConfigError, match="Cannot read the trajectory file"):
        read_trajectories(path)
    path.write_bytes(os.urandom(1_000).replace(b"\n", b"") + b"\n")
    with pytest.raises(ConfigError, match=r"holds no episode\. Line 1: expected one JSON"):
        read_trajectories(path)
    path.write_text('{"type": "reset", "version": 99, "episode": "x"}\n')
    with pytest.raises(ConfigError, match="schema version 99"):
        read_trajectories(path)
    path.write_text("")
    with pytest.raises(ConfigError, match="holds no episode"):
        AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")
    with pytest.raises(ConfigError, match="Cannot record"):
        AgentWorldEnv(CounterDomain(), record=tmp_path)


def test_forks_and_snapshots_are_episodes_that_continue_another(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldEnv(CounterDomain(), record=path)) as env:
        env.reset(seed=0, options={"task_id": "count-5"})
        env.step("add 2")
        with closing(env.fork()) as twin:
            twin.step("add 3")
        with closing(env.snapshot()) as snapshot:
            env.step("add 1")
            env.restore(snapshot)
            env.step("add 2")
    commands = [[step.command for step in t.steps] for t in read_trajectories(path)]
    assert commands == [["add 2", "add 1"], ["add 2", "add 3"], ["add 2", "add 2"]]


def test_two_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    processes = [subprocess.Popen([sys.executable, "-c", ENDLESS, str(path)]) for _ in range(2)]
    deadline = time.monotonic() + 30
    while (not path.exists() or path.stat().st_size < 400_000) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in processes:
        process.kill()
        process.wait()
    trajectories = read_trajectories(path)
    assert sum(not t.finished for t in trajectories) <= 2


def test_odd_actions_stay_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    odd = ["a\u2028b\x85c\nd", "\ud800", "\x00", "🧪", "x" * 100_000]
    with closing(AgentWorldEnv(CounterDomain(), record=path)) as env:
        env.reset(seed=0)
        for action in odd:
            env.step(action)
    [trajectory] = read_trajectories(path)
    assert [step.action for step in trajectory.steps[:4]] == odd[:4]
    assert len(trajectory.steps[4].action) < 40_000
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_replay_ends_with_a_failure_where_the_actions_differ(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    record(path)
    with closing(AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")) as env:
        env.reset(seed=1)
        assert env.step("add 1")[2:4] == (False, False)
        *_, truncated, info = env.step("add 2")
        assert truncated
        assert info["failure"].kind == "replay_divergence"
        assert "Expected the recorded action 'add 1'" in info["failure"].message
        assert not info["reward_valid"]
        env.reset(options={"task_id": "count-2"})
        assert env.step("add 1")[1] == 0.5
    with closing(AgentWorldEnv(CounterDomain(), backend=ReplayConfig(path=path, divergence="ignore"))) as env:
        env.reset(options={"task_id": "count-2"})
        env.step("add 7")
        assert env.step("give up")[1:3] == (0.5, True)


def test_replay_of_an_unfinished_recording_says_where_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldEnv(CounterDomain(), record=path)) as env:
        env.reset(seed=0, options={"task_id": "count-9"})
        env.step("add 1")
    with closing(AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")) as env:
        env.reset(seed=0)
        env.step("add 1")
        info = env.step("add 1")[-1]
        assert "ends after 1 steps" in info["failure"].message
