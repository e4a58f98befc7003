"""Configuration errors raise at construction, with what was expected and the nearest names."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import agentworld_envs
from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv, ConfigError, Task, TaskList
from agentworld_envs.backends.real import RealBackend, RealConfig
from agentworld_envs.testing import CounterDomain


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"backend": "reel"}, "Unknown backend 'reel'. Did you mean 'real'"),
        ({"backend": "world-model"}, "Did you mean 'world_model'"),
        ({"backend": "real:x"}, "takes no argument"),
        ({"backend": 5}, "Expected backend to be a name"),
        ({"backend": RealConfig}, "Expected backend to be a name"),
        ({"backend": "world_model"}, "needs a model"),
        ({"backend": "world_model", "model": "opnai:http://x#y"}, "openai"),
        ({"backend": "world_model", "model": "openai:no-model"}, "openai:"),
        ({"backend": "replay"}, "replay:FILE"),
        ({"backend": "replay:/no/such/file.jsonl"}, "Cannot read the trajectory file"),
        ({"tasks": "al"}, "Unknown task set 'al'. Did you mean 'all'"),
        ({"tasks": 5}, "Expected tasks to be a name"),
        ({"reward": "verifyer"}, "Did you mean 'verifier'"),
        ({"reward": None}, "Expected reward to be a name"),
        ({"max_steps": 0}, "at least 1"),
        ({"max_steps": "10"}, "at least 1"),
        ({"max_steps": 2.5}, "at least 1"),
        ({"tasks": ["count-1"]}, "list of tasks"),
        ({"backend": "world_model", "model": "scripted:echo", "cassette": "recrod:x"}, "Did you mean 'record'"),
        ({"render_mode": "rgb_array"}, "render_mode"),
    ],
)
def test_errors_name_the_way_out(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        AgentWorldEnv(CounterDomain(), **kwargs)
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        AgentWorldVectorEnv(CounterDomain(), 2, **kwargs)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task_id": "count-21"}, "Did you mean 'count-2"),
        ({"taskid": "count-2"}, "Unknown reset option 'taskid'. Did you mean 'task_id'"),
        ({"task": {"id": "x"}}, "not a valid task: domain"),
        ({"task": Task(id="x", domain="other", instruction="")}, "domain 'counter', got one of 'other'"),
    ],
)
def test_reset_options(options: dict[str, Any], words: str) -> None:
    with closing(AgentWorldEnv(CounterDomain())) as env, pytest.raises(ConfigError, match=words):
        env.reset(options=options)
    with closing(AgentWorldVectorEnv(CounterDomain(), 2)) as vec, pytest.raises(ConfigError, match=words):
        vec.reset(options=options)


def test_a_given_task_is_played() -> None:
    task = CounterDomain.task(3)
    with closing(AgentWorldEnv(CounterDomain())) as env:
        for given in (task, task.model_dump(mode="json")):
            _, info = env.reset(options={"task": given})
            assert info["task_id"] == "count-3"
    for tasks in (TaskList([task]), [task]):
        with closing(AgentWorldEnv(CounterDomain(), tasks=tasks)) as env:
            assert {env.reset(seed=seed)[1]["task_id"] for seed in range(5)} == {"count-3"}


def test_seeds() -> None:
    with closing(AgentWorldEnv(CounterDomain())) as env:
        assert env.reset(seed=np.int64(3))[1]["seed"] == 3  # type: ignore[arg-type]
        with pytest.raises(gym.error.Error):
            env.reset(seed=-1)
        with pytest.raises(TypeError):
            env.reset(seed=1.5)  # type: ignore[arg-type]


def test_order_of_calls() -> None:
    env = AgentWorldEnv(CounterDomain())
    for call in (lambda: env.step("look"), env.fork, env.snapshot, lambda: env.ledger):
        with pytest.raises(ConfigError, match="call reset"):
            call()
    env.close()
    with pytest.raises(ConfigError, match="closed"):
        env.reset()


def test_snapshots_belong_to_their_family() -> None:
    with closing(AgentWorldEnv(CounterDomain())) as env, closing(AgentWorldEnv(CounterDomain())) as stranger:
        env.reset(seed=0)
        snapshot = env.snapshot()
        with closing(env.fork()) as twin:
            twin.restore(snapshot)
        with pytest.raises(ConfigError, match="another environment"):
            stranger.restore(snapshot)
        snapshot.close()
        snapshot.close()
        with pytest.raises(ConfigError, match="closed"):
            env.restore(snapshot)


def test_a_given_backend_stays_its_owners() -> None:
    class Counting(RealBackend):
        shutdowns = 0

        def shutdown(self) -> None:
            self.shutdowns += 1

    backend = Counting()
    AgentWorldEnv(CounterDomain(), backend=backend).close()
    assert backend.shutdowns == 0


def test_ids_resolve_and_unknown_ones_name_the_nearest() -> None:
    for name in ("AgentWorld/TextWorld-v0", "TextWorld-v0", "TextWorld", "text_world"):
        assert agentworld_envs.resolve_id(name) == "AgentWorld/TextWorld-v0"
    with pytest.raises(ConfigError, match="Did you mean 'AgentWorld/TextWorld-v0'"):
        agentworld_envs.resolve_id("AgentWorld/TextWrld-v0")
    with pytest.raises(gym.error.NameNotFound, match="TextWorld"):
        gym.make("AgentWorld/TextWrld-v0")


def test_a_step_limit_that_the_environment_does_not_know_is_told(caplog: pytest.LogCaptureFixture) -> None:
    kwargs: dict[str, Any] = {"backend": "world_model", "model": "scripted:nothing", "reward": "replay"}
    for limit, warned in (({"max_steps": 2}, False), ({"max_episode_steps": 2}, True)):
        with closing(gym.make("AgentWorld/TextWorld-v0", **limit, **kwargs)) as env:
            for seed in range(3):
                env.reset(seed=seed)
                assert [env.step("look")[3] for _ in range(2)] == [False, True]
        assert caplog.text.count("Limit episodes with max_steps") == warned


def test_the_step_limit_of_make_and_make_vec() -> None:
    env = gym.make("AgentWorld/TextWorld-v0", max_episode_steps=2)
    env.reset(seed=0)
    assert [env.step("look")[3] for _ in range(2)] == [False, True]
    env.close()
    with closing(AgentWorldVectorEnv(CounterDomain(), 1, max_steps=9, max_episode_steps=2)) as vec:
        vec.reset(seed=0)
        assert [bool(vec.step(["look"])[3][0]) for _ in range(2)] == [False, True]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"seed": [1, 2, 3]}, "Expected 2 seeds"),
        ({"options": {"reset_mask": [True, False]}}, "bool array of shape"),
        ({"options": {"reset_mask": np.array([True])}}, "bool array of shape"),
        ({"options": {"reset_mask": np.array([False, False])}}, "at least one slot"),
        ({"options": {"reset_mask": np.array([True, False])}}, "first reset"),
        ({"options": {"task_id": ["count-1"]}}, "to have 2 entries"),
    ],
)
def test_vector_resets(kwargs: dict[str, Any], words: str) -> None:
    with closing(AgentWorldVectorEnv(CounterDomain(), 2)) as env, pytest.raises(ConfigError, match=words):
        env.reset(**kwargs)


def test_vector_misuse() -> None:
    with pytest.raises(ConfigError, match="num_envs"):
        AgentWorldVectorEnv(CounterDomain(), 0)
    with pytest.raises(ConfigError, match="NextStep"):
        AgentWorldVectorEnv(CounterDomain(), 1, autoreset_mode="NextStp")
    env = AgentWorldVectorEnv(CounterDomain(), 2)
    with pytest.raises(ConfigError, match="reset"):
        env.step(["look", "look"])
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="Expected 2 actions"):
        env.step(["look"])
    for actions in ("ab", None):
        with pytest.raises(ConfigError, match="sequence of 2 actions"):
            env.step(actions)  # type: ignore[arg-type]
    AgentWorldVectorEnv(CounterDomain(), 2, autoreset_mode="SAME_STEP").close()
    env.close()
    env.close()


def test_ended_slots_wait_when_autoreset_is_disabled(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldVectorEnv(CounterDomain(), 2, autoreset_mode="Disabled", record=path)) as env:
        env.reset(seed=0, options={"task_id": ["count-1", "count-3"]})
        first = env.step(["add 1", "add 1"])
        second = env.step(["add 1", "add 1"])
        assert first[2].tolist() == second[2].tolist() == [True, False]
        assert second[1].tolist() == pytest.approx([0.0, 1 / 3])
        assert first[0][0] == second[0][0]
    lines = path.read_text().splitlines()
    assert sum('"type":"step"' in line for line in lines) == 3


def test_human_rendering_writes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(AgentWorldEnv(CounterDomain(), render_mode="human")) as env:
        env.reset(seed=0, options={"task_id": "count-3"})
        env.step("add 1")
        assert env.render() is None
    assert capsys.readouterr().out == "The counter shows 0. Make it show 3.\n> add 1\nThe counter shows 1.\n"
    with closing(AgentWorldVectorEnv(CounterDomain(), 1, render_mode="human")) as vec:
        vec.reset(seed=0)
        vec.step(["add 1"])
    assert "[0] > add 1" in capsys.readouterr().out
