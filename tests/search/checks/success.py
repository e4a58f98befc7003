"""Checks 3 and 4: what a searcher solves with and without the pages that tell the answer directly.

What "masking forces search" means: one who knows where the main page of a name is, and opens it and nothing else, has
the answer while that page is there, and nothing once it is masked; one who may open eight pages finds it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from search.checks.tasksets import DOMAIN, success, tasks

from agentworld_envs.agents import Searcher
from agentworld_envs.agents.searcher_question import Question


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


def main_address() -> str:
    """Where main pages are, as one learns it from the first results of a search: the address of a page that is called
    as a name in the question, with the name cut out."""
    for task in tasks(1, 16, masked=False):
        index = DOMAIN.world(task).place.index
        for name in Question.read(task.instruction).names:
            for hit in index.search(name):
                slug = hit.url.rpartition("/")[2]
                if hit.title == name:
                    return hit.url.removesuffix(slug) + "{name}"
    raise AssertionError("no page has the name of what a question asks about")


def rates(count: int, *, address: str) -> Rates:
    """All of them, on the same questions."""
    plain, hidden = (tasks(1, count, masked=masked) for masked in (False, True))
    direct = Searcher(1, address=address)
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
