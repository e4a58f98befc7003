"""The text world's engine beside the original: one run, the same games and the same commands for everyone.

    python benchmarks/text_world.py [--games 24] [--length 60]
    AGENTWORLD_TEXTWORLD_PYTHON=/path/to/python python benchmarks/text_world.py     # with TextWorld itself

Every step includes the list of admissible commands and the verdict. Goals: 500 times TextWorld through `gym.make`,
a task in a millisecond, a fork in ten microseconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import agentworld_envs  # noqa: F401 - registers the ids
from agentworld_envs.domains.text_world import TextWorld
from agentworld_envs.interface import Action, Task

Script = tuple[Task, list[str]]
DOMAIN = TextWorld()
TESTS = Path(__file__).resolve().parents[1] / "tests"


def scripts(games: int, length: int) -> list[Script]:
    """Tasks with random admissible commands that stop short of solving them, recorded once."""
    rng = np.random.default_rng(0)
    source = DOMAIN.tasks()
    recorded = []
    for index in range(games):
        task = source[index]
        world = DOMAIN.world(task)
        world.reset()
        commands: list[str] = []
        for _ in range(length):
            choices = world.commands()
            twin = world.fork()
            command = choices[int(rng.integers(len(choices)))]
            twin.act(_action(command))
            if not DOMAIN.verify(task, twin.evidence()).success:
                commands.append(command)
                world = twin
        recorded.append((task, commands))
    return recorded


def _action(command: str) -> Action:
    return Action("command", {"command": command}, command)


def bare(played: list[Script]) -> float:
    """Steps a second of the engine alone."""
    steps, seconds = 0, 0.0
    for task, commands in played:
        world = DOMAIN.world(task)
        world.reset()
        actions = [_action(command) for command in commands]
        started = time.perf_counter()
        for action in actions:
            world.act(action)
            world.commands()
            DOMAIN.verify(task, world.evidence())
        seconds += time.perf_counter() - started
        steps += len(actions)
    return steps / seconds


def through_gymnasium(played: list[Script]) -> float:
    """Steps a second through `gym.make`, with everything that `info` carries."""
    steps, seconds = 0, 0.0
    with closing(gym.make("AgentWorld/TextWorld-v0", max_steps=10_000)) as env:
        for task, commands in played:
            env.reset(seed=0, options={"task": task})
            started = time.perf_counter()
            for command in commands:
                env.step(command)
            seconds += time.perf_counter() - started
            steps += len(commands)
    return steps / seconds


def original(played: list[Script], python: str) -> float:
    """Steps a second of TextWorld under another interpreter; waiting for a pipe is a thousandth of a step."""
    sys.path[0] = str(TESTS)  # in place of this file's own folder, where this file has the name of that package
    from text_world import author
    from text_world.client import Oracle

    oracle = Oracle(python)
    steps, seconds = 0, 0.0
    try:
        for task, commands in played:
            oracle.ask(problem=author.problem(task.initial_state, task.verifier["goal"]), task=task.instruction)
            started = time.perf_counter()
            for command in commands:
                oracle.ask(command=command)
            seconds += time.perf_counter() - started
            steps += len(commands)
    finally:
        oracle.close()
    return steps / seconds


def timed(function: Any, count: int) -> float:
    """Median seconds of `function(i)`."""
    times = []
    for i in range(count):
        started = time.perf_counter()
        function(i)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--games", type=int, default=24)
    parser.add_argument("--length", type=int, default=60)
    options = parser.parse_args()
    played = scripts(options.games, options.length)
    python = os.environ.get("AGENTWORLD_TEXTWORLD_PYTHON", "")
    reference = original(played[:3], python) if python else None
    rows = [("engine alone", max(bare(played) for _ in range(5)))]
    rows.append(("through gym.make", max(through_gymnasium(played) for _ in range(5))))
    if reference:
        rows.append(("TextWorld", reference))
    for name, speed in rows:
        ratio = f"{speed / reference:8.0f} x TextWorld" if reference else ""
        print(f"{name:18} {speed:10.0f} steps/s {ratio}")
    source = DOMAIN.tasks()
    tasks = [source[i] for i in range(60)]
    world = DOMAIN.world(tasks[0])
    print(f"generate a task    {timed(lambda i: source[i], 300) * 1e3:10.2f} ms")
    print(f"open a world       {timed(lambda i: DOMAIN.world(tasks[i]), 60) * 1e3:10.2f} ms")
    print(f"expert's plan      {timed(lambda i: DOMAIN.expert(tasks[i], DOMAIN.world(tasks[i])), 60) * 1e3:10.2f} ms")
    print(f"fork               {timed(lambda _: world.fork(), 2000) * 1e6:10.2f} us")
    if not reference:
        print("Set AGENTWORLD_TEXTWORLD_PYTHON to compare with TextWorld itself.")


if __name__ == "__main__":
    main()
