"""`recall`: what the world holds as far as one action touches it, in plain words for a simulator's prompt."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_envs.domains.search.calls import Find, Open, bad_url
from agentworld_envs.domains.search.engine.urls import canonical
from agentworld_envs.domains.search.rendering import RESULTS_PER_QUERY, echo, render_date, title_of
from agentworld_envs.domains.search.slices import slice_of
from agentworld_envs.domains.search.world import SearchWorld


def recall(world: SearchWorld, call: Find | Open, shown: Mapping[str, str], limit: int) -> str:
    """What to tell before a search or a visit; a line each.

    For a search: addresses, titles and dates of the pages that match, and no word of what they say; then pages that
    the episode has shown. For a visit: what the database says of exactly these pages; of masked ones nothing, not even
    that they exist. Nothing is marked as what the agent is after.

    Args:
        world: index, mask and database.
        call: what is done next.
        shown: canonical addresses with titles, of pages that the simulator has shown.
        limit: most characters; whole lines are left out at the end.
    """
    lines = _search(world, call, shown) if isinstance(call, Find) else _visit(world, call, shown)
    return bounded(lines, limit)


def bounded(lines: list[str], limit: int) -> str:
    """As many lines as fit."""
    kept, size = [], -1
    for line in lines:
        size += len(line) + 1
        if size > limit:
            break
        kept.append(line)
    return "\n".join(kept)


def _search(world: SearchWorld, call: Find, shown: Mapping[str, str]) -> list[str]:
    lines, listed = [], set()
    for query in call.queries:
        hits = world.place.index.search(query, RESULTS_PER_QUERY, masked=world.masked)
        if not hits:
            lines.append(f"no page matches {echo(query)!r}")
            continue
        lines.append(f"pages that match {echo(query)!r}, best first (title, address, date):")
        for hit in hits:
            lines.append(f"- {title_of(hit)} | {hit.url} | {render_date(hit.date)}")
            listed.add(hit.url)
    before = [f"- {title} | {url}" for url, title in shown.items() if url not in listed]
    return [*lines, "pages shown before:", *before] if before else lines


def _visit(world: SearchWorld, call: Open, shown: Mapping[str, str]) -> list[str]:
    lines = []
    for url in call.urls:
        if bad_url(url) is not None:
            lines.append(f"{echo(url)}: no address")
            continue
        name = canonical(url)
        page = world.page(name)
        if page is not None:
            lines.append(f"page {name}: {title_of(page)}, dated {render_date(page.date)}. It says:")
            lines += [f"- {line}" for line in slice_of(world.place, page)]
        elif name in shown:
            lines.append(f"page {name}: shown before as {shown[name]!r}; the database has nothing on it")
        else:
            lines.append(f"page {name}: none is known at this address")
    return lines
