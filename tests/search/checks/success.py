"""Checks 3 and 4: what a searcher solves with and without the pages that tell the answer directly.

What "masking forces search" means: one who knows where the main page of a name is, and opens it and nothing else, has
the answer while that page is there, and nothing once it is masked; one who may open eight pages finds it elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from search.checks.tasksets import DOMAIN, success, tasks

from agentworld_envs.agents import Searcher
from agentworld_envs.agents.searcher_question import Question
from agentworld_envs.interface import Task


@dataclass(frozen=True)
class Rates:
    """Shares of solved questions of one hop."""

    direct: float
    """Opens the main page of the name in the question, by its address."""
    direct_masked: float
    one: float
    """Opens one page of those that it finds."""
    one_masked: float
    eight: float
    eight_masked: float
    none: float
    """Opens none, and answers from titles and snippets."""
    none_masked: float


def main_addresses(played: Sequence[Task]) -> dict[str, str]:
    """Where the main pages of the names in the questions are: those that are titled by the name alone."""
    known: dict[str, str] = {}
    for task in played:
        index = DOMAIN.world(task).place.index
        for name in Question.read(task.instruction).names:
            for hit in index.search(name):
                if hit.title == name:
                    assert known.setdefault(name, hit.url) == hit.url, f"{name} is in two worlds: take other ones"
    return known


def rates(count: int) -> Rates:
    """All of them, on the same questions."""
    plain, hidden = (tasks(1, count, masked=masked) for masked in (False, True))
    direct = Searcher(1, addresses=main_addresses(plain))
    return Rates(
        success(direct, plain),
        success(direct, hidden),
        success(Searcher(1), plain),
        success(Searcher(1), hidden),
        success(Searcher(8), plain),
        success(Searcher(8), hidden),
        success(Searcher(0), plain),
        success(Searcher(0), hidden),
    )
