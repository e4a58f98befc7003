"""Tasks of fictional worlds with and without their sources, and agents that play them."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.agents import Agent, RolloutSummary, rollout
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Task
from agentworld_envs.interface.task import TaskList


class InOrder(TaskList):
    """Tasks that are played one after the other: seed `i` plays task `i`."""

    def index_for(self, seed: int) -> int:
        return seed % len(self._tasks)


def masked(task: Task, hide: bool) -> Task:
    """The same task with the pages of its answer hidden, or with none hidden."""
    mask = list(task.initial_state["mask"]) if hide else []
    return task.model_copy(update={"initial_state": {**task.initial_state, "mask": mask}})


def tasks(name: str, count: int, start: int = 0) -> list[Task]:
    """The first tasks of a task set."""
    source = load_domain("search").tasks(name)
    return [source[index] for index in range(start, start + count)]


def play(agent: Agent, played: Sequence[Task], seed: int = 0, slots: int = 8) -> RolloutSummary:
    """Every task once, in the real world."""
    env = {"domain": "search", "tasks": InOrder(played), "num_envs": slots}
    return rollout(env, agent, len(played), seed=seed)
