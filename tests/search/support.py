"""What the tests of this folder share: a small corpus, worlds over it, and calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.search import Search
from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.places import Place
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import Action
from agentworld_envs.parsing import ActionParser

DOMAIN = Search()
LONG = "\n\n".join(f"Paragraph {n} of the long story. " + "The ferry goes on. " * 40 for n in range(20)) + "\n"
PAGES = (
    Page(
        "1",
        "https://a.example/velm",
        "Velm",
        "Velm is a harbour town.\n\nVelm was founded in 1642. Its mayor is Oda Brisk.\n",
        "2031-04-07",
        ("1642", "Oda Brisk"),
    ),
    Page("2", "https://a.example/ferry", "The ferry of Velm", LONG, "2030"),
    Page("3", "https://b.example/oda", "Oda Brisk", "Oda Brisk is a sailor. Oda Brisk was born in 1990.\n"),
    Page(
        "4",
        "https://b.example/list",
        "List of harbour towns",
        "- Velm, founded in 1642\n- Tolm\n",
        "2029-01-31",
        ("1642",),
    ),
    Page("5", "https://b.example/empty", "Nothing much", ""),
)
VELM, FERRY, ODA, LIST, EMPTY = (page.url for page in PAGES)


def world(*, mask: Sequence[str] = (), withheld: Sequence[str] = (), pages: Sequence[Page] = PAGES) -> SearchWorld:
    """A world over a corpus, by default the small one."""
    made = SearchWorld(Place(memory_index(pages)), "Who is the mayor?", frozenset(mask), withheld)
    made.reset()
    return made


def call(tool: str, **arguments: Any) -> Action:
    """One call, as the parser makes it; Python's names cannot all be argument names, so `dict_` stands for `dict`."""
    given = {key.rstrip("_"): value for key, value in arguments.items()}
    return Action(tool, given, json.dumps({"name": tool, "arguments": given}))


def parser() -> ActionParser:
    """The one of this domain."""
    from agentworld_envs.interface import Task

    tools = DOMAIN.tools(Task(id="t", domain="search", instruction=""))
    return ActionParser(tools, DOMAIN.default_tool, answer_tool=DOMAIN.answer_tool)
