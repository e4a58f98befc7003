"""`frame_of`: how an answer certainly begins, for models whose turn is begun for them."""

from __future__ import annotations

from agentworld_envs.domains.search.calls import Find, Open, bad_url
from agentworld_envs.domains.search.rendering import (
    RESULTS_PER_QUERY,
    heading,
    search_header,
    title_of,
    visit_header,
)
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.interface import Frame

_STOP = "\n### Turn"
"""Where a model has gone on to the next turn."""


def frame_of(world: SearchWorld, call: Find | Open) -> Frame | None:
    """The beginning of what a search or a visit shows: address and title of the first result, or title of the page.

    What is said of it is the model's. `None` where nothing matches or the page is not known.

    Args:
        world: index and mask.
        call: what is done.
    """
    lead = _results(world, call) if isinstance(call, Find) else _page(world, call)
    return None if lead is None else Frame(lead, _STOP, "")


def _results(world: SearchWorld, call: Find) -> str | None:
    hits = world.place.index.search(call.queries[0], RESULTS_PER_QUERY, masked=world.masked)
    if not hits:
        return None
    first = hits[0]
    if call.layout == "qwen":
        return f"[1] {first.url}\nTitle: {title_of(first)}\nSnippet: "
    return f"{search_header(call.queries[0], len(hits))}\n\n1. [{title_of(first)}]({first.url})\n"


def _page(world: SearchWorld, call: Open) -> str | None:
    page = None if bad_url(call.urls[0]) is not None else world.page(call.urls[0])
    if page is None:
        return None
    return f"{heading(page)}\n\n" if call.layout == "qwen" else visit_header(page, call.goal)
