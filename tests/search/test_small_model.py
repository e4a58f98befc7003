"""Whole episodes of search on a real, small language model: on `world_model` and on `shadow`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import pytest

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.shadow import ShadowConfig, ShadowSession
from agentworld_envs.backends.world_model import (
    GenerationRequest,
    Message,
    Sampling,
    WorldModelConfig,
    build_engine,
)
from agentworld_envs.domains.search.reading import page_title, read_results
from agentworld_envs.testing.play import expert_plan

PATH = os.environ.get("AGENTWORLD_SMOLLM2", "")
REQUIRED = "smollm2" in os.environ.get("AGENTWORLD_REQUIRE", "")
pytestmark = pytest.mark.skipif(
    not REQUIRED and (not PATH or find_spec("torch") is None), reason="AGENTWORLD_SMOLLM2 does not point at a model"
)
TASKS = "train@1:tiny"


@pytest.fixture(scope="module")
def config() -> Iterator[WorldModelConfig]:
    """One copy of the model for all tests. It neither opens nor closes the observation's tag by itself, so the answer
    is begun for it, with what code is certain of, and ends at a blank line."""
    assert PATH, "set AGENTWORLD_SMOLLM2 to the folder or .gguf file of SmolLM2-135M-Instruct"
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # on a busy machine torch's threads wait for each other far longer than they work
    engine = build_engine(f"transformers:{PATH}")
    first = GenerationRequest((Message("user", "Hello"),), Sampling(max_tokens=1))
    assert engine.generate([first])[0].failure is None, "loaded here, and kept for all environments"
    sampling = Sampling(temperature=0.3, max_tokens=48, stop=("\n\n",))
    yield WorldModelConfig.of(
        model=engine.model,
        prefill=True,
        suffix=False,
        tracked_state=True,
        state_characters=600,
        sampling=sampling,
        max_retries=1,
        deadline_s=600,
    )
    engine.close()
    torch.set_num_threads(threads)


def make(backend: Any) -> AgentWorldEnv:
    env = gym.make("AgentWorld/Search-v0", tasks=TASKS, backend=backend, disable_env_checker=True).unwrapped
    assert isinstance(env, AgentWorldEnv)
    return env


def test_an_episode_on_a_world_model(config: WorldModelConfig) -> None:
    with closing(make(config)) as env:
        env.reset(seed=0)
        search, visit, answer = expert_plan(env)
        found, reward, terminated, truncated, info = env.step(search)
        if info["failure"] is not None:  # 48 tokens without a blank line, twice
            assert info["failure"].kind == "simulator_malformed"
            assert not info["reward_valid"]
            return
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["source"] == "world_model"
        results = read_results(found, "qwen")
        assert results
        page, *_, info = env.step(visit)
        assert info["failure"] is None
        assert page_title(page) == results[0].title
        spent = env.ledger.total("simulator").prompt_tokens
        assert spent > 500
        assert env.step(search)[0] == found, "what was shown stays"
        assert env.step(visit)[0] == page
        assert env.step('{"name": "dict_memory", "arguments": {"operation": "add", "dict": {"a": 1}}}')[0] == (
            "Successfully added items of [a] to memory."
        )
        assert env.ledger.total("simulator").prompt_tokens == spent, "and is not asked for again"
        with closing(env.fork()) as twin:
            _, reward, terminated, _, info = twin.step("<answer>Nobody knows</answer>")
            assert (reward, terminated, info["success"]) == (0.0, True, False)
        _, reward, terminated, _, info = env.step(answer)
        assert (reward, terminated, info["success"]) == (1.0, True, True)


def test_an_episode_on_shadow(config: WorldModelConfig) -> None:
    with closing(make("real")) as real, closing(make(ShadowConfig(world_model=config))) as env:
        assert env.reset(seed=0)[0] == real.reset(seed=0)[0]
        for action in expert_plan(real):
            expected, actual = real.step(action), env.step(action)
            assert actual[:4] == expected[:4]
        assert actual[4]["success"]
        session = env.episode.session
        assert isinstance(session, ShadowSession)
        assert len(session.records) == 3
        for record in session.records:
            assert record.real is not None
            assert record.simulated is not None
            assert record.simulated.failure is None or record.simulated.failure.kind == "simulator_malformed"
        last = session.records[-1]
        assert last.simulated is not None
        assert last.simulated.observation == last.real.observation  # type: ignore[union-attr]
        assert last.simulated.verdict == last.real.verdict  # type: ignore[union-attr]
