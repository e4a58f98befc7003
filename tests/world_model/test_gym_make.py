"""Everything that a model server may do wrong, seen from `gym.make_vec`: that slot fails, the others go on."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
from aiohttp import web
from world_model.server import Stub, completion, error, serving

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.world_model import Sampling, WorldModelConfig

ENV_ID = "AgentWorld/TextWorld-v0"
GOOD = "<predicted_observation>\nNothing happens.\n</predicted_observation>"
TROUBLES: dict[str, tuple[str, bool]] = {
    "go to bed 1": ("provider_overloaded", True),
    "go to bed 2": ("provider_overloaded", True),
    "go to bed 3": ("provider_timeout", True),
    "go to bed 4": ("simulator_malformed", True),
    "go to bed 5": ("simulator_malformed", True),
    "go to bed 6": ("simulator_malformed", True),
    "go to bed 7": ("context_overflow", False),
    "go to bed 8": ("provider_rejected", False),
    "go to bed 9": ("provider", True),
}
"""What the server below does to an action, as a failure: kind, retryable."""


async def troubled(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
    action = body["messages"][-1]["content"]
    number = next((command[-1] for command in TROUBLES if command in action), "")
    if number == "3":
        await asyncio.sleep(60)
    return {
        "1": lambda: error(429, None, Retry_After="0"),
        "2": lambda: error(503),
        "4": lambda: completion("The task is done. reward: 1.0"),
        "5": lambda: completion(""),
        "6": lambda: completion("<predicted_observation>\nYou arr", finish_reason="length"),
        "7": lambda: error(400, {"error": {"message": "maximum context length is 4096 tokens", "code": 400}}),
        "8": lambda: error(401),
        "9": lambda: web.Response(text="<html>it works!</html>"),
    }.get(number, lambda: completion(GOOD))()


def test_each_trouble_is_a_typed_failure_of_its_slot() -> None:
    commands = [*TROUBLES, "inventory"]
    with serving(troubled) as stub:
        config = WorldModelConfig(
            model=stub.model,
            deadline_s=2,
            sampling=Sampling(max_tokens=100),
            engine_options={"retries": 2, "backoff_s": 0.01},
        )
        with closing(gym.make_vec(ENV_ID, num_envs=len(commands), backend=config, autoreset_mode="Disabled")) as env:
            env.reset(seed=0)
            _, rewards, terminations, truncations, infos = env.step(commands)
            assert [(f.kind, f.retryable) for f in infos["failure"][:-1]] == list(TROUBLES.values())
            assert infos["failure"][-1] is None
            assert not rewards.any()
            assert not terminations.any()
            assert truncations.tolist() == [True] * len(TROUBLES) + [False]
            assert infos["reward_valid"].tolist() == [False] * len(TROUBLES) + [True]
            assert all(failure.message for failure in infos["failure"][:-1])
            again = env.step(["inventory"] * len(commands))
            assert again[0][-1] == "Nothing happens."
            assert again[3].tolist() == truncations.tolist()


def test_nobody_listens_and_the_environment_lives_on() -> None:
    config = WorldModelConfig(model="openai:http://127.0.0.1:9/v1#x", engine_options={"retries": 1, "backoff_s": 0.01})
    with closing(gym.make(ENV_ID, backend=config)) as env:
        for _ in range(2):
            env.reset(seed=0)
            _, reward, terminated, truncated, info = env.step("inventory")
            assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)
            assert info["failure"].kind == "provider"
            assert "127.0.0.1:9" in info["failure"].message


def test_a_cassette_replays_the_same_bytes_with_the_server_gone(tmp_path: Path) -> None:
    cassette, actions = tmp_path / "answers.sqlite", ["inventory", "look", "go to bed 1", "look", "help"]

    async def counting(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        return completion(f"<predicted_observation>\nanswer {len(stub.bodies)}\n</predicted_observation>")

    def episodes(model: str, cassette: str) -> list[Any]:
        env = gym.make(ENV_ID, backend="world_model", model=model, cassette=cassette).unwrapped
        assert isinstance(env, AgentWorldEnv)
        with closing(env):
            transcript: list[Any] = []
            for seed in (1, 2):
                transcript.append(env.reset(seed=seed))
                transcript += [env.step(action) for action in actions]
            return transcript

    with serving(counting) as stub:
        recorded = episodes(stub.model, f"record:{cassette}")
        asked, model = len(stub.bodies), stub.model
    assert asked == 2 * len(actions)
    assert repr(episodes(model, f"replay-or-fail:{cassette}")) == repr(recorded)
    assert repr(episodes(model, str(cassette))) == repr(recorded)


def test_a_cassette_that_lacks_an_answer_fails_or_asks(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with serving() as stub:
        for cassette, action, kind in (
            (f"record:{path}", "look", None),
            (f"replay-or-fail:{path}", "look", None),
            (f"replay-or-fail:{path}", "inventory", "cassette_miss"),
            (str(path), "inventory", None),
            (f"replay-or-fail:{path}", "inventory", None),
        ):
            with closing(gym.make(ENV_ID, backend="world_model", model=stub.model, cassette=cassette)) as env:
                env.reset(seed=1)
                failure = env.step(action)[-1]["failure"]
                assert (failure and failure.kind) == kind
        assert len(stub.bodies) == 2
