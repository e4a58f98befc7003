"""`recall`: what the world holds as far as one action touches it, in plain words for a simulator's prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_envs.domains.search.calls import Find, Open, bad_url
from agentworld_envs.domains.search.engine.extract import evidence, parts
from agentworld_envs.domains.search.engine.urls import canonical
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.rendering import RESULTS_PER_QUERY, echo, one_line, render_date, title_of
from agentworld_envs.domains.search.slices import slice_of
from agentworld_envs.domains.search.world import PART_CHARACTERS, SearchWorld

_Block = tuple[str, list[str]]
"""A header, and the lines below it."""
_SHORTEST_CUT = 200
"""Characters. Lines of at most so many are told whole or not at all."""


def recall(world: SearchWorld, call: Find | Open, shown: Mapping[str, str], limit: int) -> str:
    """What to tell before a search or a visit; a line each.

    For a search: addresses, titles and dates of the pages that match, and no word of what they say; then pages that
    the episode has shown. For a visit: what the database says of exactly these pages, over a user's corpus the part of
    the page that is read or what it says of the goal; of masked ones nothing, not even that they exist. Nothing is
    marked as what the agent is after.

    Args:
        world: index, mask and database.
        call: what is done next.
        shown: canonical addresses with titles, of pages that the simulator has shown.
        limit: most characters. Headers come first, then each query or page gets an equal share; what one does not
            need is for the others.
    """
    if isinstance(call, Find):
        return _told(*_search(world, call, shown), limit)
    return _told([_visit(world, call, url, shown) for url in call.urls], [], limit)


def _told(blocks: Sequence[_Block], last: Sequence[str], limit: int) -> str:
    """Blocks that share a limit, and lines that are told where there is still room after them."""
    lines, room = [], limit + 1
    heads = _fitting([header for header, _ in blocks], room)
    room -= _size(heads)
    sizes = [_size(below) for _, below in blocks[: len(heads)]]
    shares = [0] * len(sizes)
    for done, index in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[index] = min(sizes[index], room // (len(sizes) - done))
        room -= shares[index]
    for head, (_, below), share in zip(heads, blocks, shares, strict=False):
        lines += [head, *_fitting(below, share)]
    if len(heads) == len(blocks):
        lines += _fitting(last, limit + 1 - _size(lines))
    return "\n".join(lines)


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """As many lines as fit, each with a line break; a long one is cut at a word."""
    kept: list[str] = []
    for line in lines:
        if len(line) + 1 > room:
            if room > _SHORTEST_CUT:
                kept.append(line[: room - 7].rpartition(" ")[0] + " [...]")
            break
        kept.append(line)
        room -= len(line) + 1
    return kept


def _search(world: SearchWorld, call: Find, shown: Mapping[str, str]) -> tuple[list[_Block], list[str]]:
    blocks: list[_Block] = []
    listed: set[str] = set()
    for query in call.queries:
        hits = world.place.index.search(query, RESULTS_PER_QUERY, masked=world.masked)
        if not hits:
            blocks.append((f"no page matches {echo(query)!r}", []))
            continue
        header = f"pages that match {echo(query)!r}, best first (title, address, date):"
        blocks.append((header, [f"- {title_of(hit)} | {hit.url} | {render_date(hit.date)}" for hit in hits]))
        listed.update(hit.url for hit in hits)
    before = [f"- {title} | {url}" for url, title in shown.items() if url not in listed]
    return blocks, ["pages shown before:", *before] if before else []


def _visit(world: SearchWorld, call: Open, url: str, shown: Mapping[str, str]) -> _Block:
    if bad_url(url) is not None:
        return f"{echo(url)}: no address", []
    name = canonical(url)
    page = world.page(name)
    if page is None:
        if name in shown:
            return f"page {name}: shown before as {shown[name]!r}; the database has nothing on it", []
        return f"page {name}: none is known at this address", []
    about = f"page {name}: {title_of(page)}, dated {render_date(page.date)}."
    if world.place.fiction is None:
        says, lines = _read(page, call)
    else:
        says, lines = "It says:", slice_of(world.place, page)
    return f"{about} {says}", [f"- {line}" for line in lines]


def _read(page: Page, call: Open) -> tuple[str, list[str]]:
    """What a visit reads on a page of a user's corpus: passages for the goal, or one part."""
    if call.goal:
        passages = [one_line(passage) for passage in evidence(page.text, call.goal).passages]
        return ("It says of the goal:" if passages else "It says nothing of the goal."), passages
    found = parts(page.text, PART_CHARACTERS)
    if call.part > len(found):
        return f"It has no part {call.part}, and {len(found)} in all.", []
    says = "It says:" if len(found) == 1 else f"Its part {call.part} of {len(found)} says:"
    return says, [one_line(line) for line in found[call.part - 1].splitlines() if line.strip()]
