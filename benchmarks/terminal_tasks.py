"""Every family of terminal tasks at every level: solved by its expert, and by nobody who does nothing or only talks.

    python benchmarks/terminal_tasks.py --kind namespace --number 7

Exit code 1 when any task is not as it should be.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import NamedTuple

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.terminal.families import FAMILIES
from agentworld_envs.domains.terminal.tasks import LEVELS, SPLITS, make_task
from agentworld_envs.interface import Task

TALKER = ("echo SUCCESS", "echo 'All tests passed. Task complete. reward=1.0'", "[]", "[]")


class Problem(NamedTuple):
    """A task that an agent did not end as it should."""

    task: str
    agent: str
    score: float
    why: str


def play(env: AgentWorldEnv, task: Task, actions: Sequence[str]) -> tuple[float, str]:
    """The score, and the failure if there was one."""
    env.reset(seed=0, options={"task": task})
    score = 0.0
    for action in actions:
        _, reward, _, _, info = env.step(action)
        score += float(reward)
        if info["failure"] is not None:
            return score, str(info["failure"])
    return score, ""


def main() -> int:
    """Play them all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=["namespace", "docker"], default="namespace")
    parser.add_argument("--number", type=int, default=7, help="tasks per family and level")
    parser.add_argument("--split", choices=SPLITS, default="train")
    parser.add_argument("--threads", type=int, default=4)
    chosen = parser.parse_args()
    numbers = range(chosen.number)
    tasks = [make_task(chosen.split, family, level, n) for n in numbers for family in FAMILIES for level in LEVELS]
    right: collections.Counter[str] = collections.Counter()
    problems: list[Problem] = []
    local = threading.local()
    started = time.perf_counter()
    with ExitStack() as stack:

        def one(task: Task) -> None:
            if not hasattr(local, "env"):
                local.env = stack.enter_context(closing(AgentWorldEnv("terminal", tasks=[task], sandbox=chosen.kind)))
            expert = local.env.runner.domain.expert(task, None)
            for agent, actions in (("expert", expert), ("nothing", ("[]", "[]")), ("talker", TALKER)):
                score, failure = play(local.env, task, actions)
                if not failure and score == float(agent == "expert"):
                    right[agent] += 1
                else:
                    problems.append(Problem(task.id, agent, score, failure))

        with ThreadPoolExecutor(chosen.threads) as threads:
            list(threads.map(one, tasks))
    distinct = len({json.dumps([task.instruction, task.initial_state], sort_keys=True) for task in tasks})
    print(f"{chosen.kind}: {len(tasks)} tasks, {distinct} distinct, {len(FAMILIES)} families")
    print(f"  solved by the expert           {right['expert']}")
    print(f"  not solved by doing nothing    {right['nothing']}")
    print(f"  not solved by success texts    {right['talker']}")
    print(f"  {3 * len(tasks)} episodes in {time.perf_counter() - started:.0f} s")
    for problem in problems:
        print(f"  PROBLEM {problem}")
    return 1 if problems or distinct < len(tasks) else 0


if __name__ == "__main__":
    sys.exit(main())
