"""Check 2: a masked page is nowhere, whatever is searched for and however its address is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from search.checks.tasksets import DOMAIN, tasks

from agentworld_envs.domains.search.pages import Page
from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.interface import Task

TELLING = 30
"""Characters of a line of the page that show it, should they be seen."""


@dataclass
class Leaks:
    """Outputs that were looked at, and those that gave something away."""

    outputs: int = 0
    found: list[str] = field(default_factory=list)


def variants(url: str) -> list[str]:
    """Other ways to write an address."""
    parts = urlsplit(url)
    path = parts.path
    rest = f"{path}{'?' + parts.query if parts.query else ''}"
    first = path[1:2] or "a"
    return [
        url,
        f"{parts.scheme.upper()}://{parts.netloc.upper()}{rest}",
        f"{parts.scheme}://{parts.netloc}:{443 if parts.scheme == 'https' else 80}{rest}",
        f"{url}#section",
        f"  {url}  ",
        f"{parts.scheme}://{parts.netloc}/x/..{rest}",
        f"{parts.scheme}://{parts.netloc}/%{ord(first):02X}{rest[2:]}",
        f"{parts.scheme}://{parts.netloc}/%{ord(first):02x}{rest[2:]}",
        f"{parts.scheme}://user@{parts.netloc}{rest}",
        f"{parts.scheme}://{parts.netloc}.{rest}",
        f"{url}/",
        f"{url}?",
    ]


def look(count: int, *, size: str = "small") -> Leaks:
    """Try to get at the masked pages of the first tasks of every level."""
    leaks = Leaks()
    for level in (1, 2, 3):
        for task in tasks(level, -(-count // 3), masked=True, size=size):
            index = DOMAIN.world(task).place.index
            for url in task.initial_state["mask"]:
                page = index.page(url)
                assert page is not None, f"{url} is masked, and there is no such page"
                attack(task, page, leaks)
    return leaks


def attack(task: Task, page: Page, leaks: Leaks) -> None:
    """Try to get at one page by searching for it and by opening it."""
    with closing(AgentWorldEnv(DOMAIN, max_steps=10_000)) as env:
        env.reset(seed=0, options={"task": task})
        _search(env, task, page, leaks)
        _visit(env, page, leaks)


def _search(env: AgentWorldEnv, task: Task, page: Page, leaks: Leaks) -> None:
    lines = [line for line in page.text.splitlines() if len(line) >= TELLING][:3]
    slug = " ".join(urlsplit(page.url).path.replace("/", " ").replace("-", " ").split())
    for query in [task.instruction, page.title, slug, *lines]:
        for name, value in (("web_search", {"query": query}), ("search", {"query": [query]})):
            _judge(_do(env, name, **value), page, leaks, f"{name} {query!r}")
    _judge(_do(env, "web_search", queries=[page.title, *lines]), page, leaks, "web_search with several queries")


def _judge(observation: str, page: Page, leaks: Leaks, how: str) -> None:
    leaks.outputs += 1
    if page.url.casefold() in observation.casefold():
        leaks.found.append(f"{page.url}: {how}")


def _visit(env: AgentWorldEnv, page: Page, leaks: Leaks) -> None:
    """An answer may repeat the address that was asked for; it must be the one for a page that does not exist."""
    absent = page.url + "-that-does-not-exist"
    told = _do(env, "web_extractor", url=absent).replace(absent, "ADDRESS")
    for url in variants(page.url):
        for extra in ({}, {"goal": page.title}, {"part": 2}):
            _compare(_do(env, "web_extractor", url=url, **extra), told, url, page, leaks)
    told = _do(env, "visit", url=[absent], goal=page.title).replace(absent, "ADDRESS")
    for url in variants(page.url):
        _compare(_do(env, "visit", url=[url], goal=page.title), told, url, page, leaks)


def _compare(observation: str, told: str, url: str, page: Page, leaks: Leaks) -> None:
    leaks.outputs += 1
    shown = any(line in observation for line in _lines(page))
    if shown or observation.replace(url, "ADDRESS").replace(url.strip(), "ADDRESS") != told:
        leaks.found.append(f"{page.url}: opened as {url!r}")


def _lines(page: Page) -> Sequence[str]:
    return [line for line in page.text.splitlines() if len(line) >= TELLING]


def _do(env: AgentWorldEnv, name: str, **arguments: object) -> str:
    return env.step(json.dumps({"name": name, "arguments": arguments}))[0]
