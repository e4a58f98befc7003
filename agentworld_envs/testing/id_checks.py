"""Checks of a registered id: across processes, in Gymnasium's vector environments, and in recordings."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.testing.play import assert_same, play, random_actions
from agentworld_envs.vector import AgentWorldVectorEnv

NUM_ENVS = 3

_CHILD = """
import json, sys
from contextlib import closing
import gymnasium as gym
from agentworld_envs.testing import play
env_id, kwargs = sys.argv[1], json.loads(sys.argv[2])
with closing(gym.make("agentworld_envs:" + env_id, disable_env_checker=True, **kwargs)) as env:
    print(json.dumps([list(result) for result in play(env.unwrapped, seed=23, steps=20)]))
"""


def _make(env_id: str, kwargs: Mapping[str, Any]) -> gym.Env[str, str]:
    return gym.make(f"agentworld_envs:{env_id}", disable_env_checker=True, **kwargs)


def _unwrapped(env_id: str, kwargs: Mapping[str, Any]) -> AgentWorldEnv:
    env = _make(env_id, kwargs).unwrapped
    assert isinstance(env, AgentWorldEnv)
    return env


def check_same_in_other_processes(env_id: str, kwargs: Mapping[str, Any]) -> None:
    """The same seed and actions give the same bytes in processes with different PYTHONHASHSEED."""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", _CHILD, env_id, json.dumps(dict(kwargs))],
            env={"PYTHONHASHSEED": hash_seed, "PATH": ""},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    ]
    with closing(_unwrapped(env_id, kwargs)) as env:
        here = json.dumps([list(result) for result in play(env, seed=23, steps=20)]) + "\n"
    assert_same([here] * 3, outputs, "the same episode in another process")


def check_vector_envs_agree(env_id: str, kwargs: Mapping[str, Any]) -> None:
    """Sync, Async and the package's own vector environment agree step by step, infos included."""
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        makers = [partial(_make, env_id, {**kwargs, "max_steps": 7})] * NUM_ENVS
        with (
            closing(SyncVectorEnv(makers, autoreset_mode=mode)) as sync_env,
            closing(AsyncVectorEnv(makers, autoreset_mode=mode, shared_memory=False)) as async_env,
            closing(
                gym.make_vec(f"agentworld_envs:{env_id}", num_envs=NUM_ENVS, autoreset_mode=mode, max_steps=7, **kwargs)
            ) as own,
        ):
            assert isinstance(own.unwrapped, AgentWorldVectorEnv), "the id has no vector entry point"
            expected = _play_vector(sync_env, steps=20)
            assert_same(expected, _play_vector(own, steps=20), f"Sync and own vector env ({mode.value})")
            assert_same(expected, _play_vector(async_env, steps=20), f"Sync and Async vector env ({mode.value})")


def _play_vector(env: VectorEnv[Any, Any, Any], steps: int) -> list[Any]:
    rng = np.random.default_rng(0)
    observations, infos = env.reset(seed=31)
    transcript: list[Any] = [(observations, infos)]
    for _ in range(steps):
        actions = [random_actions({"admissible_commands": c}, rng) for c in infos["admissible_commands"]]
        result = env.step(tuple(actions))
        infos = result[-1]
        transcript.append(result)
    return transcript


def check_vector_reset_mask(env_id: str, kwargs: Mapping[str, Any]) -> None:
    """With autoreset disabled, a masked reset starts just those slots, as Sync does."""
    makers = [partial(_make, env_id, {**kwargs, "max_steps": 3})] * NUM_ENVS
    mode = AutoresetMode.DISABLED
    with (
        closing(SyncVectorEnv(makers, autoreset_mode=mode)) as sync_env,
        closing(
            gym.make_vec(f"agentworld_envs:{env_id}", num_envs=NUM_ENVS, autoreset_mode=mode, max_steps=3, **kwargs)
        ) as own,
    ):
        transcripts = []
        envs: tuple[Any, ...] = (sync_env, own)
        for env in envs:
            transcript: list[Any] = [env.reset(seed=5)]
            transcript.append(env.step(("",) * NUM_ENVS))
            mask = np.array([False, True, False])
            transcript.append(env.reset(seed=[None, 77, None], options={"reset_mask": mask}))
            transcript.append(env.step(("",) * NUM_ENVS))
            transcripts.append(transcript)
        assert_same(transcripts[0], transcripts[1], "masked resets of Sync and own vector env")


def check_record_and_replay(env_id: str, kwargs: Mapping[str, Any]) -> None:
    """A recorded episode, played again from its file, gives the same bytes (but for where it comes from)."""
    if str(kwargs.get("backend", "")).startswith("replay"):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episodes.jsonl"
        with closing(_unwrapped(env_id, {**kwargs, "record": path, "max_steps": 12})) as env:
            recorded = {seed: play(env, seed=seed, steps=14) for seed in (3, 4, 5)}
        with closing(_unwrapped(env_id, {"backend": f"replay:{path}"})) as env:
            for seed, expected in recorded.items():
                again = play(env, seed=seed, steps=14)
                for result in (*expected, *again):
                    result.info.update(backend="", source="")
                assert_same(expected, again, f"the recording of seed {seed}")


ID_CHECKS: tuple[Callable[[str, Mapping[str, Any]], None], ...] = (
    check_same_in_other_processes,
    check_vector_envs_agree,
    check_vector_reset_mask,
    check_record_and_replay,
)
"""Every check of this file."""
