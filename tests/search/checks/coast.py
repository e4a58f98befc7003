"""A handful of pages about a coast, written by hand, and agents that search in them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from agentworld_envs.agents import Searcher
from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.faults import fault_text
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.places import Place
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import Action, Failure

BELL = """\
| | |
|---|---|
| Born | 3 March 1902 |
| Birthplace | Kestrel Bay |
| Employer | Tarn Works |

Ann Bell was born on 3 March 1902 in Kestrel Bay. She is an engineer with Tarn Works."""
TOWNS = """\
| Town | Mayor | Population |
|---|---|---|
| Kestrel Bay | Una Dray | 11,900 |
| Dell | Ivo Pim | 900 |"""
PAGES = tuple(
    Page(f"p{number}", f"https://coast.example/{slug}", title, text, date)
    for number, (slug, title, date, text) in enumerate(
        (
            ("ann-bell", "Ann Bell", "2031-01-01", BELL),
            (
                "kestrel-bay",
                "Kestrel Bay",
                "2031-02-01",
                "Mayor: Tom Rook\nPopulation: 12,400\n\nIts mayor is Tom Rook.",
            ),
            ("tarn-works", "Tarn Works", "2031-01-01", "Tarn Works is a company, founded in 1877 by Lea Moss."),
            ("tom-rook", "Tom Rook", "2031-01-01", "Tom Rook (born 1 May 1910 in Dell) is a politician."),
            ("towns", "Towns of the coast", "2029-05-01", TOWNS),
            ("coast-guild", "Coast Guild", "2031-01-01", "Members: Ann Bell, Tom Rook and Una Dray\nSeat: Dell"),
            ("una-dray", "Una Dray", "2031-01-01", "Born: 9 June 1930\nLetters kept: 120"),
            ("news", "A vote on Sunday", "2030-05-01", "On Sunday Kestrel Bay elected Tom Rook as its mayor."),
        )
    )
)


def ask(
    question: str, agent: Searcher | None = None, *, masked: tuple[str, ...] = (), seed: int = 0, failing: int = 0
) -> list[Any]:
    """What an agent does until it answers: tools with their arguments, or its failure. Of every call, the first
    `failing` tries are answered with an error."""
    agent = agent or Searcher()
    world = SearchWorld(Place(memory_index(PAGES)), question, frozenset(masked))
    observation = world.reset()
    agent.reset(0, observation, {}, SimpleNamespace(seed=seed))  # type: ignore[arg-type] - nothing else is read
    done: list[Any] = []
    while not world.ended and len(done) < 60:
        [decision] = agent.act([0], [observation], [{}])
        if isinstance(decision, Failure):
            return [*done, decision]
        call = json.loads(decision)
        done.append((call["name"], call["arguments"]))
        action = Action(call["name"], call["arguments"], decision)
        fault = fault_text(action, "server_error") if done.count(done[-1]) <= failing else None
        observation = world.act(action) if fault is None else fault
    return done


def answer(question: str, agent: Searcher | None = None, **options: Any) -> str:
    """What an agent answers."""
    [*_, (tool, arguments)] = ask(question, agent, **options)
    assert tool == "answer"
    return str(arguments["answer"])
