"""`audit`: is a question reachable by tools, and by nothing less?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from agentworld_envs.domains.search import answers
from agentworld_envs.domains.search.fiction import lexicon, values
from agentworld_envs.domains.search.fiction.expert import solve
from agentworld_envs.domains.search.fiction.questions import Question
from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.domains.search.pages import Hit, PageIndex

_POOLS = (lexicon.PROFESSIONS, lexicon.FIELDS, lexicon.EMBLEMS, lexicon.SUBJECTS, lexicon.MATERIALS)
_NUMBER = re.compile(r"(?<![\w,.])\d[\d,]*(?![\w,])")
_DATE = re.compile(rf"\d{{1,2}} (?:{'|'.join(values.MONTHS)}) \d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}|(?<!\d)\d{{4}}(?!\d)")


@dataclass(slots=True)
class Finding:
    """What came out for one question under one mask."""

    question: Question
    solved: bool
    """The expert's answer is right."""
    unique: bool
    """The database gives one answer and no other."""
    leaks: list[tuple[str, str, str]] = field(default_factory=list)
    """(query, what was shown, which part of the answer) of results that told before any page was opened that does."""
    guessed: bool = False
    """Who opens no page and takes the most frequent candidate of the right type out of all results is right."""
    searches: int = 0
    visits: int = 0
    masked_seen: int = 0
    """Results and pages that should have been hidden and were not."""


def audit(world: FictionalWorld, index: PageIndex, question: Question, mask: Collection[str] = ()) -> Finding:
    """Let the expert answer a question over a real index, and look at everything that it was shown on the way.

    Args:
        index: over the pages of the world.
        mask: canonical addresses that are hidden in search and visit.
    """
    watch = _Watch(index, question, mask)
    solution = solve(question, watch.search, watch.visit)
    guess = _guess(world, question, watch)
    return Finding(
        question,
        solved=solution.found and answers.score(question.answer, solution.answer).correct,
        unique=_unique(world, question),
        leaks=watch.leaks,
        guessed=bool(guess) and answers.score(question.answer, guess).correct,
        searches=sum(kind == "search" for kind, _ in solution.steps),
        visits=sum(kind == "visit" for kind, _ in solution.steps),
        masked_seen=watch.masked_seen,
    )


def parts(spec: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The texts of an answer: for each part of it, the ways in which it may be written."""
    if spec["kind"] == "list":
        for value in spec["values"]:
            yield from parts(value)
    elif spec["kind"] == "table":
        for row in spec["rows"]:
            for cell, column in zip(row, spec["columns"], strict=True):
                yield _ways(column["kind"], cell)
    else:
        yield _ways(spec["kind"], spec["value"])


def _ways(kind: str, value: Any) -> tuple[str, ...]:
    if kind == "number":
        return str(int(value)), f"{int(value):,}"
    if kind == "date" and len(value) == 10:
        return value, f"{int(value[8:])} {values.MONTHS[int(value[5:7]) - 1]} {value[:4]}"
    return (str(value),)


def _shows(text: str, ways: tuple[str, ...]) -> bool:
    return any(re.search(rf"(?<![\w,.]){re.escape(way)}(?![\w]|[,.]\d)", text, re.IGNORECASE) for way in ways)


class _Watch:
    """The two tools, and notes on what they showed."""

    def __init__(self, index: PageIndex, question: Question, mask: Collection[str]) -> None:
        self._index, self._mask = index, frozenset(mask)
        self._unknown = list(dict.fromkeys(parts(question.answer)))
        self.queries: list[str] = []
        self.hits: list[Hit] = []
        self.leaks: list[tuple[str, str, str]] = []
        self.masked_seen = 0

    def search(self, query: str) -> list[Hit]:
        hits = self._index.search(query, 10, masked=self._mask)
        self.queries.append(query)
        self.hits += hits
        # Whoever asks for something by name, or has read it, learns nothing from seeing it.
        self._unknown = [ways for ways in self._unknown if not _shows(query, ways)]
        for hit in hits:
            self.masked_seen += hit.url in self._mask
            for shown in (hit.title, hit.snippet):
                self.leaks += [(query, shown, ways[0]) for ways in self._unknown if _shows(shown, ways)]
        return hits

    def visit(self, url: str) -> str | None:
        page = None if url in self._mask else self._index.page(url)
        if page is None:
            return None
        self._unknown = [ways for ways in self._unknown if not _shows(page.text, ways)]
        return page.text


def _guess(world: FictionalWorld, question: Question, watch: _Watch) -> str:
    """What is seen most often of the type that is asked for, and stands in no query."""
    spec = question.answer
    first = spec["values"][0] if spec["kind"] == "list" else spec
    if spec["kind"] == "table":
        return ""
    asked = "\n".join((question.text, *watch.queries[:1]))
    shown = "\n".join(f"{hit.title}\n{hit.snippet}" for hit in watch.hits)
    seen = Counter(candidate for candidate in _candidates(world, first, shown) if not _shows(asked, (candidate,)))
    if spec["kind"] == "list":
        return "\n".join(name for name, _ in seen.most_common(len(spec["values"])))
    return seen.most_common(1)[0][0] if seen else ""


def _candidates(world: FictionalWorld, spec: dict[str, Any], shown: str) -> list[str]:
    if spec["kind"] == "number":
        return _NUMBER.findall(shown)
    if spec["kind"] == "date":
        return _DATE.findall(shown)
    pools = (*world.entities.values(), *_POOLS)
    pool = next((pool for pool in pools if spec["value"] in pool), ())
    return [name for name in pool for _ in range(shown.count(name))]


def _unique(world: FictionalWorld, question: Question) -> bool:
    connection = world.connect()
    try:
        rows = connection.execute(question.sql).fetchall()
    finally:
        connection.close()
    if question.answer["kind"] in ("list", "table"):
        return len({row[0] for row in rows}) == len(rows) > 1
    return len(rows) == 1 and rows[0][0] is not None
