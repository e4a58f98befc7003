"""`support_of`: what speaks for the answer to a question over a user's corpus, as far as code can see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_envs.domains.search.briefing import answer_spec
from agentworld_envs.domains.search.calls import LONGEST_QUERY
from agentworld_envs.domains.search.datasets.contexts import addresses_of
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.domains.search.writings import writings
from agentworld_envs.interface import Task

LOOKED_AT = 30
"""Pages of each search that are read."""
MOST_ITEMS = 50
"""Of a list or a table that are looked for."""
SHORTEST = 3
"""Characters. What is shorter stands everywhere by chance."""
WRITINGS = 4
"""Of each item that are searched for."""
_SHOWN = 5


def support_of(task: Task, world: SearchWorld) -> tuple[bool, list[str]] | None:
    """Whether the answer stands on pages that may be seen, and a line for each thing that was found out.

    Read are the pages that support the answer, and those that a search for the question, for the answer and for both
    finds: what is not found there may stand elsewhere. `None` for fictional worlds, where the expert finds the answer
    itself.
    """
    if world.place.fiction is not None:
        return None
    urls, lines = _supporting(task, world)
    found, more = _answer(task, world, urls)
    return found, more + lines


def _supporting(task: Task, world: SearchWorld) -> tuple[list[str], list[str]]:
    """The supporting pages that may be seen, and what is wrong with the others."""
    titles = list(dict.fromkeys(str(title) for title in task.hidden.get("supporting", ()) if str(title).strip()))
    places = {title: addresses_of(world.place.index, title) for title in titles}
    lines = []
    if missing := [title for title, urls in places.items() if not urls]:
        lines.append(f"supporting pages that are not in the index: {_named(missing)}")
    known = list(dict.fromkeys(url for urls in places.values() for url in urls))
    seen = [url for url in known if url not in world.masked]
    if known and not seen:
        lines.append("all supporting pages are masked")
    return seen, lines


def _answer(task: Task, world: SearchWorld, urls: Sequence[str]) -> tuple[bool, list[str]]:
    spec = answer_spec(task)
    if spec.get("kind") == "boolean":
        return False, ["yes or no is not a text that a page could be searched for"]
    items = _items(spec)
    told = [item for item in items if len(item[0]) >= SHORTEST][:MOST_ITEMS]
    if not told:
        return False, ["the answer is too short to be searched for"]
    index, question = world.place.index, task.instruction
    texts: dict[str, str] = {}

    def read(urls: Sequence[str]) -> None:
        for url in urls:
            page = None if url in texts else index.page(url)
            if page is not None:
                texts[url] = " ".join(f"{page.title}\n{page.text}".split()).casefold()

    def search(query: str) -> None:
        read([hit.url for hit in index.search(query[:LONGEST_QUERY], LOOKED_AT, masked=world.masked)])

    read(urls)
    search(question)
    stands: dict[str, None] = {}
    missing = []
    for item in told:
        place = _place_of(item, texts)
        for query in (*item[:WRITINGS], f"{question} {item[0]}"):
            if place is None:
                search(query)
                place = _place_of(item, texts)
        if place is None:
            missing.append(item[0])
        else:
            stands[place] = None
    where = ", ".join(list(stands)[:_SHOWN]) + (", ..." if len(stands) > _SHOWN else "")
    if missing:
        what = "the answer's text" if len(items) == 1 else f"{len(missing)} of {len(told)} parts of the answer"
        return False, [f"{what} was not found on a page that is not masked: {_named(missing)}"]
    what = "the answer stands" if len(told) == len(items) else f"{len(told)} of {len(items)} parts of the answer stand"
    return True, [f"{what} on {where}"]


def _items(spec: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """What has to stand somewhere: of a table the cells that tell its rows apart."""
    if spec.get("kind") != "table":
        return writings(spec)
    names = [column["name"] for column in spec["columns"]]
    cells = [row[names.index(key)] for row in spec["rows"] for key in spec["key"]]
    found = [tuple(map(str, cell)) if isinstance(cell, list | tuple) else (str(cell),) for cell in cells if cell]
    return [one for one in dict.fromkeys(found) if one]


def _place_of(item: Sequence[str], texts: Mapping[str, str]) -> str | None:
    """The first page on which a thing stands in any of its writings, as whole words."""
    words = "|".join(re.escape(" ".join(text.split()).casefold()) for text in item)
    pattern = re.compile(rf"(?<![^\W_])(?<!\d[.,])(?:{words})(?![.,]?\d)(?![^\W\d_])")
    loose = re.compile(words)
    wide = any(letter >= "\u0e00" for letter in words)  # scripts without spaces have no borders of words
    return next((url for url, text in texts.items() if (loose if wide else pattern).search(text)), None)


def _named(texts: Sequence[str]) -> str:
    return ", ".join(repr(text[:80]) for text in texts[:_SHOWN]) + (", ..." if len(texts) > _SHOWN else "")
