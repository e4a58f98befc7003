"""`facts_of`: what an answer of a tool asserts, whoever gave it."""

from __future__ import annotations

import re
from typing import Any

from agentworld_envs.domains.search.calls import Call, Find, Open, Remember
from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.reading import page_body, page_title, read_results, read_visit
from agentworld_envs.domains.search.state import HANDED_IN

_ERRORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("not found", re.compile(r"\b404\b|not found|does not exist|no page at", re.IGNORECASE)),
    ("too many requests", re.compile(r"\b429\b|too many requests|rate limit", re.IGNORECASE)),
    ("timeout", re.compile(r"timed? ?-?out", re.IGNORECASE)),
    ("unavailable", re.compile(r"\b50[0-9]\b|unavailable", re.IGNORECASE)),
    ("other", re.compile(r"^(?:error|failed|cannot)\b", re.IGNORECASE)),
)
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,])\d+(?:\.\d+)?")
_MOST_NUMBERS = 200


def facts_of(call: Call, observation: str) -> dict[str, Any]:
    """Facts by name; what is in no layout of the tools asserts nothing but an error, if it reads like one.

    For a search: `results` (how many), one for each address (`URL listed`: true, `title of URL`, `date of URL`). For a
    page: `title`, `part` and `parts`, and one for every number that it states (`states 1902`: true). For a visit of
    several: `title of URL`. For all: `error`, the kind of it. The notes: the answer itself.
    """
    text = observation.strip()
    if isinstance(call, Find):
        results = read_results(text, call.layout)
        if results is None:
            return _error(text)
        facts: dict[str, Any] = {"results": len(results)}
        for shown in results:
            url = _name(shown.url)
            facts |= {f"{url} listed": True, f"title of {url}": shown.title}
            if shown.date is not None:
                facts[f"date of {url}"] = shown.date
        return facts
    if isinstance(call, Open):
        return _page(call, text)
    if isinstance(call, Remember):
        return {"memory says": text}
    return {"handed in": text == HANDED_IN}


def _page(call: Open, text: str) -> dict[str, Any]:
    if call.layout == "lite":
        facts: dict[str, Any] = {}
        for url, title in read_visit(text):
            facts[f"title of {_name(url)}"] = title
        if not facts:
            return _error(text)
        return facts | _numbers(text)
    title = page_title(text)
    if title is None:
        return _error(text)
    body, part, parts = page_body(text)
    return {"title": title, "part": part, "parts": parts} | _numbers(body)


def _numbers(text: str) -> dict[str, Any]:
    found = dict.fromkeys(match[0].replace(",", "") for match in _NUMBER.finditer(text))
    return {f"states {number}": True for number in list(found)[:_MOST_NUMBERS]}


def _error(text: str) -> dict[str, Any]:
    first = text.partition("\n")[0][:500]
    kind = next((name for name, pattern in _ERRORS if pattern.search(first)), None)
    return {} if kind is None else {"error": kind}


def _name(url: str) -> str:
    try:
        return canonical(url)
    except BadURL:
        return url
