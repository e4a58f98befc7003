"""What the tests of task families share: play commands on a real sandbox, and search for a task of a certain kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

from agentworld_envs.domains.terminal.tasks import make_task
from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.interface import Task

SPLIT = "valid"


def task(family: str, level: int, number: int) -> Task:
    """A task of the split that the tests play."""
    return make_task(SPLIT, family, level, number)  # type: ignore[arg-type]


def solution(played: Task) -> list[str]:
    """What the author would type."""
    return list(played.hidden["solution"])


def score(env: AgentWorldEnv, played: Task, commands: Sequence[str]) -> float:
    """Play commands, declare the task done twice, and say how it went."""
    env.reset(options={"task": played})
    for command in [*commands, None, None]:
        action = "[]" if command is None else json.dumps({"name": "bash", "arguments": {"command": command}})
        _, _, terminated, truncated, info = env.step(action)
        assert info["failure"] is None, info["failure"]
    assert terminated, truncated
    assert info["reward_valid"]
    return float(info["score"])


def first(family: str, level: int, fits: Callable[[str], bool]) -> Task:
    """The first task whose solution fits."""
    for number in range(200):
        found = task(family, level, number)
        if fits("\n".join(solution(found))):
            return found
    raise AssertionError(f"no task of {family} at level {level} fits")


def success_texts(played: Task) -> list[str]:
    """An agent that says that it is done, also in every file that the task wants written."""
    named = set(re.findall(r"/workspace/[\w./-]*\w", played.instruction))
    wanted = sorted(named - set(played.initial_state.get("files", {})))
    commands = ["echo SUCCESS", "echo 'All checks passed.'"]
    return commands + [f"[ -e {path} ] || echo done > {path}" for path in wanted]


def told(played: Task) -> str:
    """All that agent and simulator get to know."""
    texts = [played.instruction]

    def walk(value: object) -> None:
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict):
            texts.extend(value)
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                walk(inner)

    walk(played.initial_state)
    return "\n".join(texts)
