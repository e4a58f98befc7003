"""Tasks of fictional worlds with and without their sources, and agents that play them."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.agents import Agent, RolloutSummary, rollout
from agentworld_envs.domains.search import Search
from agentworld_envs.interface import Task
from agentworld_envs.interface.task import TaskList

DOMAIN = Search()
WORLDS = 8
"""Worlds that the checks look at; questions are spread over all of them."""


class InOrder(TaskList):
    """Tasks that are played one after the other: seed `i` plays task `i`."""

    def index_for(self, seed: int) -> int:
        return seed % len(self._tasks)


def tasks(level: int, count: int, *, masked: bool, size: str = "small", worlds: int = WORLDS) -> list[Task]:
    """The first questions of a level. With `masked` the same questions, with the pages of their answers hidden."""
    source = DOMAIN.tasks(f"valid@{level}:{size}{'+masked' if masked else ''}+worlds={worlds}")
    return [source[index] for index in range(count)]


def play(agent: Agent, played: Sequence[Task], seed: int = 0, slots: int = 8) -> RolloutSummary:
    """Every task once, in the real world.

    Raises:
        AssertionError: an episode has no valid reward: then no rate means anything.
    """
    summary = rollout({"domain": DOMAIN, "tasks": InOrder(played), "num_envs": slots}, agent, len(played), seed=seed)
    assert summary.n_valid == len(played), summary.failures
    return summary


def success(agent: Agent, played: Sequence[Task]) -> float:
    """Share of tasks that the agent solves."""
    rate = play(agent, played).success_rate
    assert rate is not None
    return rate
