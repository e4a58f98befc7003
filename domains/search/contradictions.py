"""`contradictions`: what a simulator's answer says against what code is certain of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentworld_envs.domains.search.calls import Find, Open, bad_url
from agentworld_envs.domains.search.engine.snippets import occurs, sealed
from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.reading import page_title, read_results, read_visit
from agentworld_envs.domains.search.rendering import not_found, one_line, render_date, title_of
from agentworld_envs.domains.search.slices import wrong_statements
from agentworld_envs.domains.search.world import SearchWorld


def contradictions(world: SearchWorld, call: Find | Open, observation: str, shown: Mapping[str, str]) -> list[str]:
    """Contradictions between one answer, the world's pages and what was shown before, a line each.

    Looked at: masked addresses in results, titles and dates, texts in snippets that only the page itself may tell (the
    snippet no-leak check of the Qwen-AgentWorld report), pages that are denied or that are masked and shown, and
    statements on pages that the world's database says otherwise (see `wrong_statements`).

    Args:
        world: index and mask.
        call: the action.
        observation: the simulator's answer.
        shown: canonical addresses with titles, of pages that the simulator has shown before.
    """
    if isinstance(call, Find):
        return _results(world, call, observation, shown)
    found: list[str] = []
    for url, title in views(call, observation):
        found += _view(world, url, title, shown)
    return found + wrong_statements(world.place, observation)


def views(call: Open, observation: str) -> list[tuple[str, str | None]]:
    """Canonical addresses of the pages that an answer shows, with their titles, `None` for one that it denies.

    What reads like neither is left out.
    """
    if call.layout == "qwen":
        [url] = call.urls
        if bad_url(url) is not None:
            return []
        title = page_title(observation)
        denied = observation.strip() == not_found(url)
        return [(canonical(url), title)] if title is not None or denied else []
    asked = {canonical(url): url for url in call.urls if bad_url(url) is None}
    read = [(name, title) for url, title in read_visit(observation) if (name := _name(url)) in asked]
    return [(name, title) for name, title in read if title is not None or not_found(asked[name]) in observation]


def _view(world: SearchWorld, url: str, title: str | None, shown: Mapping[str, str]) -> list[str]:
    if url in world.masked:
        return [] if title is None else [f"{url} cannot be found in this task, and the answer shows it"]
    page = world.page(url)
    if title is None:
        return [f"{url} exists, and the answer says that it does not"] if page is not None or url in shown else []
    return _title(page, url, title, shown)


def _title(page: Page | None, url: str, title: str, shown: Mapping[str, str]) -> list[str]:
    expected = title_of(page) if page is not None else shown.get(url)
    if expected is None or expected == one_line(title):
        return []
    return [f"{url} is called {expected!r}, and the answer calls it {one_line(title)!r:.200}"]


def _results(world: SearchWorld, call: Find, observation: str, shown: Mapping[str, str]) -> list[str]:
    found = []
    for result in read_results(observation, call.layout) or ():
        url = _name(result.url)
        if url is None:
            found.append(f"{result.url:.200} is no address")
            continue
        if url in world.masked:
            found.append(f"{url} cannot be found in this task, and the answer lists it")
            continue
        page = world.page(url)
        found += _title(page, url, result.title, shown)
        if page is not None and result.date is not None and result.date.strip() != render_date(page.date):
            found.append(
                f"{url} is dated {render_date(page.date)}, and the answer dates it {result.date.strip()!r:.60}"
            )
        for withheld in (world.withheld, page.withheld if page is not None else ()):
            found += [
                f"the snippet of {url} shows {text!r}, which only the page itself tells"
                for text in _leaked(call, result.snippet, withheld)
            ]
    return list(dict.fromkeys(found))


def _leaked(call: Find, snippet: str, withheld: Sequence[str]) -> list[str]:
    """The withheld texts in a snippet that none of the queries may see, by the rule of the search engine."""
    shown = {text for text in withheld if occurs(text, snippet)}
    if shown:
        for query in call.queries:  # of a simulator's answer nobody can tell which result belongs to which of them
            shown.intersection_update(sealed(query, withheld))
    return [text for text in withheld if text in shown]


def _name(url: str) -> str | None:
    try:
        return canonical(url)
    except BadURL:
        return None
