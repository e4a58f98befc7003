"""`solve`: answers a question of a fictional world by searching and reading alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agentworld_envs.domains.search.fiction import reading, values
from agentworld_envs.domains.search.fiction.pages import HEADINGS
from agentworld_envs.domains.search.fiction.program import run
from agentworld_envs.domains.search.fiction.questions import Question
from agentworld_envs.domains.search.fiction.relations import Relation, relations


class Found(Protocol):
    """What the expert needs to know of a search result."""

    @property
    def url(self) -> str: ...
    @property
    def title(self) -> str: ...


Search = Callable[[str], Sequence[Found]]
Visit = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Solution:
    """What the expert did."""

    steps: tuple[tuple[str, str], ...]
    """`("search", query)`, `("visit", url)` and last `("answer", text)`."""
    answer: str
    """Empty when it found none."""
    found: bool
    """Whether it came to an answer."""


class Unknown(Exception):
    """No page that was found tells."""


def solve(question: Question, search: Search, visit: Visit) -> Solution:
    """Carry out the question's program with the tools of an agent.

    It reads the text of pages only; neither database nor answer. Of statements that disagree it believes the newest
    dated one, and one without a date before all others.

    Args:
        search: query -> results, best first.
        visit: address -> text of the page, `None` when there is none.
    """
    reader = _Reader(search, visit)
    try:
        answer = run(question.program, reader)
    except Unknown:
        return Solution((*reader.steps, ("answer", "")), "", False)
    return Solution((*reader.steps, ("answer", answer)), answer, True)


class _Reader:
    """Finds facts through tools, and remembers the pages it opened and the results it saw."""

    def __init__(self, search: Search, visit: Visit) -> None:
        self.steps: list[tuple[str, str]] = []
        self._search, self._visit = search, visit
        self._results: dict[str, list[Found]] = {}
        self._pages: dict[str, str | None] = {}

    def search(self, query: str) -> list[Found]:
        if query not in self._results:
            self.steps.append(("search", query))
            self._results[query] = list(self._search(query))
        return self._results[query]

    def visit(self, url: str) -> str | None:
        if url not in self._pages:
            self.steps.append(("visit", url))
            self._pages[url] = self._visit(url)
        return self._pages[url]

    def value(self, name: str, relation: Relation) -> Any:
        """The value of a relation of a name.

        Raises:
            Unknown: no page found says.
        """
        heard: list[reading.Statement] = []
        seen: set[str] = set()
        for query in self._queries(name, relation):
            # The page that bears the name first; the order of the others is that of the search.
            for hit in sorted(self.search(query), key=lambda hit: hit.title != name):
                if hit.url in seen:
                    continue
                seen.add(hit.url)
                told = reading.statements(self.visit(hit.url) or "", name, relation)
                for value, year in told:
                    if year is None:
                        return value
                heard += dict.fromkeys(told)
                newest = _newest(heard)
                if newest is not None and heard.count(newest) > 1:
                    return newest[0]
        newest = _newest(heard)
        if newest is None:
            raise Unknown
        return newest[0]

    @staticmethod
    def _queries(name: str, relation: Relation) -> tuple[str, ...]:
        asked = tuple(says.replace("{s}", name).replace("{o}", "").rstrip(".") for says in relation.says)
        # At last through what periodicals there are: who is often spoken of is on more pages than one search shows.
        told = tuple(f"{heading}: {name} {relation.label}" for heading in HEADINGS)
        return (name, f"{name} {relation.label}", *asked, relation.ask.replace("{x}", name), *told)

    def named(self, name: str) -> str:
        """The main name of what is called by another one.

        Raises:
            Unknown: no main page found gives that name.
        """
        for hit in self.search(name):
            text = self.visit(hit.url) or ""
            if reading.known_as(text) == name:
                return reading.subject(text) or name
        raise Unknown

    def described(self, kind: str, where: Sequence[tuple[str, str]]) -> str:
        """The name of what has some values, by its infobox.

        Raises:
            Unknown: no page found has them all.
        """
        known = relations(kind)
        wanted = [(known[name], values.read(known[name], text)) for name, text in where]
        told = [text for _, text in where]
        for query in (" ".join(told), *told, " ".join((*told, *(relation.label for relation, _ in wanted)))):
            for hit in self.search(query):
                text = self.visit(hit.url) or ""
                name = reading.subject(text)
                if name is not None and all(
                    any(value == right for value, _ in reading.statements(text, name, relation))
                    for relation, right in wanted
                ):
                    return name
        raise Unknown


def _newest(heard: Sequence[reading.Statement]) -> reading.Statement | None:
    return max(heard, key=lambda statement: statement[1] or 0, default=None)
