"""The conformance kit over every registered id and every backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from agentworld_envs import ENV_IDS, AgentWorldEnv
from agentworld_envs.domains import load_domain
from agentworld_envs.testing import CHECKS, ID_CHECKS, CounterDomain, EnvFactory
from agentworld_envs.testing.play import play

ORACLE = "scripted:oracle"
SETTINGS: dict[str, dict[str, Any]] = {
    "real": {"backend": "real"},
    "real+faults": {"backend": "real", "control": "E3"},
    "world_model": {"backend": "world_model", "model": ORACLE},
    "world_model+faults": {"backend": "world_model", "model": ORACLE, "control": "E3"},
    "world_model+replay_reward": {"backend": "world_model", "model": ORACLE, "reward": "replay"},
    "shadow": {"backend": "shadow", "model": ORACLE},
    "shadow+shown_simulation": {"backend": "shadow:world_model", "model": ORACLE},
}
"""Keyword arguments of `gym.make` by name of the setting; two more need a file each."""
BACKENDS = (*SETTINGS, "world_model+cassette", "replay")
SEEDS = range(40)


@pytest.fixture(scope="session")
def backend_kwargs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], dict[str, Any]]:
    """Keyword arguments of `gym.make` for one id on one backend; recordings are made once."""
    recordings: dict[str, Path] = {}

    def kwargs_of(env_id: str, backend: str) -> dict[str, Any]:
        if backend in SETTINGS:
            return dict(SETTINGS[backend])
        if backend == "world_model+cassette":
            folder = tmp_path_factory.mktemp("cassettes")
            return {"backend": "world_model", "model": ORACLE, "cassette": str(folder / "c.sqlite")}
        if env_id not in recordings:
            recordings[env_id] = tmp_path_factory.mktemp("recordings") / "episodes.jsonl"
            with closing(gym.make(env_id, record=recordings[env_id]).unwrapped) as env:
                assert isinstance(env, AgentWorldEnv)
                for seed in SEEDS:
                    play(env, seed=seed, steps=30)
        return {"backend": f"replay:{recordings[env_id]}"}

    return kwargs_of


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("env_id", ENV_IDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_env(
    check: Callable[[EnvFactory], None],
    env_id: str,
    backend: str,
    backend_kwargs: Callable[[str, str], dict[str, Any]],
) -> None:
    kwargs = backend_kwargs(env_id, backend)

    def make(**more: object) -> AgentWorldEnv:
        env = gym.make(env_id, disable_env_checker=True, **{**kwargs, **more}).unwrapped
        assert isinstance(env, AgentWorldEnv)
        return env

    check(make)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("env_id", ENV_IDS)
@pytest.mark.parametrize("check", ID_CHECKS, ids=lambda check: check.__name__)
def test_id(
    check: Callable[[str, Mapping[str, Any]], None],
    env_id: str,
    backend: str,
    backend_kwargs: Callable[[str, str], dict[str, Any]],
) -> None:
    check(env_id, backend_kwargs(env_id, backend))


@pytest.mark.parametrize("backend", ["real", "world_model"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_third_party_domain(check: Callable[[EnvFactory], None], backend: str) -> None:
    def make(**kwargs: Any) -> AgentWorldEnv:
        model = "scripted:oracle" if backend == "world_model" else None
        return AgentWorldEnv(CounterDomain(), backend=backend, model=model, **kwargs)

    check(make)


@pytest.mark.parametrize("env_id", ENV_IDS)
@pytest.mark.parametrize("reward", ["verifier", "replay"])
def test_a_perfect_simulator_is_as_good_as_reality(env_id: str, reward: str) -> None:
    kwargs = {"backend": "world_model", "model": "scripted:oracle", "reward": reward}
    with (
        closing(gym.make(env_id).unwrapped) as real,
        closing(gym.make(env_id, **kwargs).unwrapped) as simulated,
    ):
        assert isinstance(real, AgentWorldEnv)
        if reward == "verifier" and not real.runner.domain.tracker_knows_all:
            pytest.skip("the tracker of this domain cannot follow everything; reward='replay' is checked")
        for seed in range(10):
            assert real.reset(seed=seed)[0] == simulated.reset(seed=seed)[0]
            task, domain = real.episode.task, real.runner.domain
            with closing(domain.world(task)) as world:
                world.reset()
                plan = domain.expert(task, world)
            for action in plan:
                expected, actual = real.step(action), simulated.step(action)
                assert expected[0] == actual[0]
                assert expected[2:4] == actual[2:4]
            assert actual[-1]["success"]
            assert actual[-1]["score"] == 1.0
            assert actual[-1]["source"] == "world_model"


@pytest.mark.parametrize("env_id", ENV_IDS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_default_model_of_a_domain(check: Callable[[EnvFactory], None], env_id: str) -> None:
    if load_domain(ENV_IDS[env_id]).default_model is None:
        pytest.skip("this domain has none")

    def make(**more: object) -> AgentWorldEnv:
        env = gym.make(env_id, disable_env_checker=True, **{"backend": "world_model", **more}).unwrapped
        assert isinstance(env, AgentWorldEnv)
        return env

    check(make)
