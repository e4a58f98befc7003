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


@dataclass(frozen=True, slots=True)
class _Part:
    """One thing that an answer says."""

    ways: tuple[str, ...]
    """How it may be written."""
    of: str = ""
    """For cells of a table: the name in its row. Seen apart from that name, a cell says nothing."""


def _parts(spec: dict[str, Any]) -> Iterator[_Part]:
    if spec["kind"] == "list":
        for value in spec["values"]:
            yield from _parts(value)
    elif spec["kind"] == "table":
        for row in spec["rows"]:
            names = [cell[0] if isinstance(cell, list) else cell for cell in row]
            yield _Part((names[0],))
            for cell, column in zip(names[1:], spec["columns"][1:], strict=True):
                yield _Part(_ways(column["kind"], cell), names[0])
    else:
        yield _Part(_ways(spec["kind"], spec["value"]))


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
        self._unknown = list(dict.fromkeys(_parts(question.answer)))
        self.results: list[tuple[str, list[Hit]]] = []
        self.leaks: list[tuple[str, str, str]] = []
        self.masked_seen = 0

    def search(self, query: str) -> list[Hit]:
        hits = self._index.search(query, 10, masked=self._mask)
        self.results.append((query, hits))
        # Whoever asks for something by name, or has read it, learns nothing from seeing it.
        self._unknown = [part for part in self._unknown if not _shows(query, part.ways)]
        for hit in hits:
            self.masked_seen += hit.url in self._mask
            for shown in (hit.title, hit.snippet):
                for part in self._unknown:
                    if _shows(shown, part.ways) and (part.of in query or part.of in shown):
                        self.leaks.append((query, shown, part.ways[0]))
        return hits

    def ask(self, query: str) -> list[Hit]:
        """Search without a note."""
        return self._index.search(query, 10, masked=self._mask)

    def visit(self, url: str) -> str | None:
        page = None if url in self._mask else self._index.page(url)
        if page is None:
            return None
        self._unknown = [part for part in self._unknown if not _shows(page.text, part.ways)]
        return page.text


def _guess(world: FictionalWorld, question: Question, watch: _Watch) -> str:
    """What is seen most often of the type that is asked for, in the results for the question itself and for those
    queries for which one need not have read anything: all names in them stand in the question."""
    spec = question.answer
    if spec["kind"] == "table":
        return ""
    first = spec["values"][0] if spec["kind"] == "list" else spec
    names = [name for found in world.entities.values() for name in found]
    shown = "\n".join(
        f"{hit.title}\n{hit.snippet}"
        for query, hits in ((question.text, watch.ask(question.text)), *watch.results)
        if all(name in question.text for name in names if name in query)
        for hit in hits
    )
    candidates = _candidates(world, first, shown)
    seen = Counter(candidate for candidate in candidates if not _shows(question.text, (candidate,)))
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
    if question.kind in ("list", "table"):
        return len({row[0] for row in rows}) == len(rows) > 1
    return len(rows) == 1 and None not in rows[0]
