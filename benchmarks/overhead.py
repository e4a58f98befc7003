"""What the environment layer costs over the bare world: one run, side by side, on the same episodes.

    python benchmarks/overhead.py [--steps 20000]

Goals: less than 25 microseconds a step over the bare engine; 1,000 environments in one vector step.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import closing

import gymnasium as gym
import numpy as np

import agentworld_envs
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Action


def scripts(episodes: int, length: int) -> list[tuple[int, list[str]]]:
    """Seeds with random admissible commands, recorded once so that every contestant plays the same."""
    rng = np.random.default_rng(0)
    recorded = []
    with closing(gym.make("AgentWorld/TextWorld-v0", max_steps=length + 1)) as env:
        for seed in range(episodes):
            _, info = env.reset(seed=seed)
            commands = []
            for _ in range(length):
                choices = info["admissible_commands"]
                commands.append(choices[int(rng.integers(len(choices)))])
                *_, terminated, _, info = env.step(commands[-1])
                if terminated:
                    break
            recorded.append((seed, commands))
    return recorded


def bare(played: list[tuple[int, list[str]]]) -> float:
    """Seconds a step of the world alone: act, admissible commands, verdict."""
    domain = load_domain("text_world")
    source = domain.tasks(None)
    steps, seconds = 0, 0.0
    for seed, commands in played:
        task = source[source.index_for(seed)]
        world = domain.world(task)
        world.reset()
        actions = [Action("command", {"command": command}, command) for command in commands]
        started = time.perf_counter()
        for action in actions:
            world.act(action)
            world.commands()
            domain.verify(task, world.evidence())
        seconds += time.perf_counter() - started
        steps += len(actions)
    return seconds / steps


def single(played: list[tuple[int, list[str]]], make: Callable[[], gym.Env[str, str]]) -> float:
    """Seconds a step through an environment."""
    steps, seconds = 0, 0.0
    with closing(make()) as env:
        for seed, commands in played:
            env.reset(seed=seed)
            started = time.perf_counter()
            for command in commands:
                env.step(command)
            seconds += time.perf_counter() - started
            steps += len(commands)
    return seconds / steps


def vector(num_envs: int, rounds: int, mode: str) -> float:
    """Seconds per vector step of `num_envs` environments."""
    env_id = "AgentWorld/TextWorld-v0"
    kind = {"own": "vector_entry_point", "sync": "sync"}[mode]
    with closing(gym.make_vec(env_id, num_envs=num_envs, vectorization_mode=kind)) as env:
        rng = np.random.default_rng(0)
        _, infos = env.reset(seed=0)
        durations = []
        for _ in range(rounds):
            actions = tuple(commands[int(rng.integers(len(commands)))] for commands in infos["admissible_commands"])
            started = time.perf_counter()
            *_, infos = env.step(actions)
            durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def fork(rounds: int) -> tuple[float, float]:
    """Seconds per `fork()` with `close()`, and per `snapshot()` with `restore()`, after ten steps."""
    env = gym.make("AgentWorld/TextWorld-v0").unwrapped
    assert isinstance(env, agentworld_envs.AgentWorldEnv)
    with closing(env):
        _, info = env.reset(seed=0)
        for index in range(10):
            *_, info = env.step(info["admissible_commands"][index])
        started = time.perf_counter()
        for _ in range(rounds):
            env.fork().close()
        forks = (time.perf_counter() - started) / rounds
        started = time.perf_counter()
        for _ in range(rounds):
            snapshot = env.snapshot()
            env.restore(snapshot)
            snapshot.close()
        return forks, (time.perf_counter() - started) / rounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    arguments = parser.parse_args()
    played = scripts(max(arguments.steps // 40, 1), 40)
    env_id = "AgentWorld/TextWorld-v0"
    makers: dict[str, Callable[[], gym.Env[str, str]]] = {
        "AgentWorldEnv": lambda: gym.make(env_id).unwrapped,
        "gym.make, no checker": lambda: gym.make(env_id, disable_env_checker=True),
        "gym.make": lambda: gym.make(env_id),
    }
    base = statistics.median(bare(played) for _ in range(3))
    print(f"{sum(len(commands) for _, commands in played)} steps of {len(played)} episodes, median of 3 runs")
    print(f"{'bare world':24} {base * 1e6:8.1f} us/step {1 / base:10.0f} steps/s")
    for name, make in makers.items():
        seconds = statistics.median(single(played, make) for _ in range(3))
        print(
            f"{name:24} {seconds * 1e6:8.1f} us/step {1 / seconds:10.0f} steps/s"
            f"   layer {(seconds - base) * 1e6:+6.1f} us"
        )
    for mode in ("own", "sync"):
        for num_envs in (64, 1_000):
            seconds = vector(num_envs, 20, mode)
            rate = num_envs / seconds
            print(f"{mode + ' vector env':16} {num_envs:7} {seconds * 1e3:8.2f} ms/step {rate:9.0f} env-steps/s")
    forks, restores = fork(2_000)
    print(f"{'fork + close':24} {forks * 1e6:8.1f} us")
    print(f"{'snapshot + restore':24} {restores * 1e6:8.1f} us")


if __name__ == "__main__":
    main()
