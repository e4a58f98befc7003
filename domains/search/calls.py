"""`read`: what an action asks for, whichever of the tools it calls; `Malformed`: why it cannot be read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.interface import Action, json_type

Layout = Literal["qwen", "lite"]
"""Whose wording an observation has: Qwen-AgentWorld's or LiteResearcher's."""
Operation = Literal["add", "update", "retrieve", "remove", "retrieve_all", "remove_all"]

MOST_QUERIES = 8
"""Queries of one call. Ten results each just fit into an observation."""
MOST_URLS = 5
"""Addresses of one `visit`."""
LONGEST_QUERY = 2_000
"""Characters; what is longer is no query but a pasted page."""
LONGEST_GOAL = 2_000
MOST_KEYS = 200
"""Keys of one `dict_memory`."""
_TAGGED = re.compile(r"\s*<answer>((?:(?!</?answer>).)*)</answer>\s*", re.DOTALL)
"""An answer that still has the tags which would have handed it in."""
_WITH_ITEMS = ("add", "update")
_WITH_KEYS = ("retrieve", "remove")
OPERATIONS: tuple[Operation, ...] = ("add", "update", "retrieve", "remove", "retrieve_all", "remove_all")


class Malformed(ValueError):
    """Arguments that mean nothing in any state; the message is for the agent."""


@dataclass(frozen=True, slots=True)
class Find:
    """`web_search` or `search`."""

    queries: tuple[str, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Open:
    """`web_extractor` or `visit`."""

    urls: tuple[str, ...]
    """As they were written; at least one of them is an address."""
    layout: Layout
    goal: str = ""
    """What to look for on the pages; empty: the whole page is read."""
    part: int = 1
    """Which part of a whole page, from 1 on."""


@dataclass(frozen=True, slots=True)
class Remember:
    """`dict_memory`."""

    operation: Operation
    items: tuple[tuple[str, Any], ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Submit:
    """`answer`."""

    text: str
    """As it was written; the JSON text of an answer that is no string."""


Call = Find | Open | Remember | Submit


def read(action: Action) -> Call:
    """What an action asks for.

    Raises:
        Malformed: arguments are missing, of the wrong type, too many, or none of the addresses is one.
    """
    given = action.arguments
    if action.tool == "web_search":
        return Find(_queries(_one_of(given, "query", "queries")), "qwen")
    if action.tool == "search":
        return Find(_queries(given.get("query")), "lite")
    if action.tool == "web_extractor":
        return _open(given)
    if action.tool == "visit":
        return Open(_urls(given.get("url")), "lite", _goal(given, required=True))
    if action.tool == "dict_memory":
        return _remember(given)
    if action.tool == "answer":
        return Submit(_answer(given.get("answer")))
    raise Malformed(f"There is no tool {action.tool[:100]!r} here.")


def _answer(value: Any) -> str:
    """An answer as `answers.score` reads it: any JSON value but null."""
    if isinstance(value, str):
        tagged = _TAGGED.fullmatch(value)
        return tagged[1].strip() if tagged else value
    if value is None:
        raise Malformed("Expected 'answer' to be a string or another JSON value, got null.")
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        raise Malformed(f"Expected 'answer' to be a JSON value, got an {json_type(value)} that is none.") from None


def _one_of(given: Mapping[str, Any], one: str, many: str) -> Any:
    if (one in given) == (many in given):
        problem = "both were given" if one in given else "neither was given"
        raise Malformed(f"Expected either {one!r} (a string) or {many!r} (an array of strings), and {problem}.")
    return given.get(one, given.get(many))


def _queries(value: Any) -> tuple[str, ...]:
    queries = _texts(value, "a query", "queries", MOST_QUERIES, "Nothing was searched")
    for query in queries:
        if len(query) > LONGEST_QUERY:
            raise Malformed(f"A query has {len(query)} characters; at most {LONGEST_QUERY} are searched for.")
    if not any(query.strip() for query in queries):
        raise Malformed("The query is empty. Write what to look for, in a few words.")
    return queries


def _texts(value: Any, one: str, many: str, most: int, nothing: str) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        raise Malformed(f"Expected an array of {many}, got {json_type(value)}.")
    if not values:
        raise Malformed(f"The array of {many} is empty. Give at least one.")
    if len(values) > most:
        raise Malformed(f"At most {most} {many} can be given at once, got {len(values)}. {nothing}.")
    for item in values:
        if not isinstance(item, str):
            raise Malformed(f"Expected {one} to be a string, got {json_type(item)}.")
    return tuple(values)


def _open(given: Mapping[str, Any]) -> Open:
    url, part = given.get("url"), given.get("part")
    if not isinstance(url, str):
        raise Malformed(f"Expected 'url' to be a string, got {json_type(url)}.")
    goal = _goal(given, required=False)
    if part is not None:
        if not isinstance(part, int) or isinstance(part, bool) or part < 1:
            raise Malformed(f"Expected 'part' to be an integer from 1 on, got {part!r:.40}.")
        if goal:
            raise Malformed("'part' reads the whole page bit by bit, 'goal' picks from it: give one of them.")
    return Open(_urls(url), "qwen", goal, part or 1)


def _urls(value: Any) -> tuple[str, ...]:
    urls = _texts(value, "an address", "addresses", MOST_URLS, "Nothing was opened")
    problems = [problem for url in urls if (problem := bad_url(url)) is not None]
    if len(problems) == len(urls):  # where one of them can be opened, the others are told in their place
        raise Malformed(problems[0])
    return urls


def bad_url(url: str) -> str | None:
    """What is wrong with an address, `None` when nothing is."""
    try:
        canonical(url)
    except BadURL as error:
        return str(error)
    return None


def _goal(given: Mapping[str, Any], *, required: bool) -> str:
    goal = given.get("goal", None if required else "")
    if not isinstance(goal, str):
        raise Malformed(f"Expected 'goal' to be a string, got {json_type(goal)}.")
    if len(goal) > LONGEST_GOAL:
        raise Malformed(f"The goal has {len(goal)} characters; at most {LONGEST_GOAL} are read.")
    if required and not goal.strip():
        raise Malformed("The goal is empty. Say what to look for on the page.")
    return goal.strip()


def _remember(given: Mapping[str, Any]) -> Remember:
    operation, items, keys = given.get("operation"), given.get("dict"), given.get("key_list")
    if operation not in OPERATIONS:
        raise Malformed(f"Unknown operation {operation!r:.60}. Expected one of {', '.join(OPERATIONS)}.")
    if operation in _WITH_ITEMS:
        if not isinstance(items, dict) or not items:
            raise Malformed(f"Operation {operation!r} needs 'dict', an object with at least one key.")
        if len(items) > MOST_KEYS:
            raise Malformed(f"At most {MOST_KEYS} keys can be given at once, got {len(items)}. Nothing was done.")
        return Remember(operation, tuple(items.items()))
    if operation in _WITH_KEYS:
        if keys is None:
            raise Malformed(f"Operation {operation!r} needs 'key_list', an array of keys.")
        return Remember(operation, (), _texts(keys, "a key", "keys", MOST_KEYS, "Nothing was done"))
    return Remember(operation)
