"""`SearchIndex`: ranked pages as hits, whatever ranks them and wherever they lie."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from typing import Protocol

from agentworld_envs.domains.search.engine.snippets import Snippets
from agentworld_envs.domains.search.engine.words import query_words, telling
from agentworld_envs.domains.search.pages import Hit, Page, PageIndex

MAX_LIMIT = 1000
"""Most results of one search."""
_TITLED = 40
"""Pages among which those of a title are looked for first; four times as many as long as there are more of them,"""
_UNTITLED = 600
"""and until there are so many while there is none at all."""


class Store(Protocol):
    """Holds pages by row: 0 is the first page of the corpus."""

    def __len__(self) -> int: ...
    def page(self, row: int) -> Page: ...
    def shown(self, row: int) -> tuple[str, str, str, str | None, tuple[str, ...]]:
        """Address, title, text, date and withheld texts."""
        ...

    def row(self, url: str) -> int | None: ...
    def close(self) -> None: ...


class Ranker(Protocol):
    """Finds the rows that answer a query."""

    def top(self, query: str, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """At most `limit` rows with scores, best first; equals in the order of rows."""
        ...

    def close(self) -> None: ...


class SearchIndex(PageIndex):
    """A store and a ranker, see `PageIndex`."""

    def __init__(self, store: Store, ranker: Ranker, digest: str) -> None:
        self._store = store
        self._ranker = ranker
        self.digest = digest

    def search(
        self, query: str, limit: int = 10, *, masked: Collection[str] = (), withheld: Sequence[str] = ()
    ) -> list[Hit]:
        words = query_words(query)
        limit = min(limit, MAX_LIMIT)
        if limit <= 0 or not (words or query.strip()):
            return []
        if masked and not isinstance(masked, Set):
            masked = frozenset(masked)
        found = self._unmasked(query, telling(words), limit, masked)
        make = Snippets(query, words, withheld).of
        return [Hit(url, title, make(text, hidden), date, score) for (url, title, text, date, hidden), score in found]

    def _unmasked(
        self, query: str, terms: list[str], limit: int, masked: Collection[str]
    ) -> list[tuple[tuple[str, str, str, str | None, tuple[str, ...]], float]]:
        """The best pages that may be seen; asks for more as long as masked ones take their places."""
        shown = self._store.shown
        wanted = limit + min(len(masked), 16)
        while True:
            ranked = self._ranker.top(query, terms, wanted)
            pages = [(shown(row), score) for row, score in ranked]
            if not masked:
                return pages
            seen = [found for found in pages if found[0][0] not in masked]
            if len(seen) >= limit or len(ranked) < wanted:
                return seen[:limit]
            wanted = min(wanted * 4, limit + len(masked))

    def titled(self, title: str, same: Callable[[str], bool]) -> list[str]:
        words = query_words(title)
        seen: set[int] = set()
        found: list[str] = []
        wanted = _TITLED
        while True:
            ranked = self._ranker.top(title, telling(words), wanted) if words else []
            new = [row for row, _ in ranked if row not in seen]
            pages = [self._store.shown(row) for row in new]
            more = [url for url, name, *_ in pages if same(name)]
            found += more
            if len(ranked) < wanted or (seen and not more and (found or wanted >= _UNTITLED)):
                return found
            seen.update(new)
            wanted *= 4

    def page(self, url: str) -> Page | None:
        row = self._store.row(url)
        return None if row is None else self._store.page(row)

    def __len__(self) -> int:
        return len(self._store)

    def close(self) -> None:
        self._ranker.close()
        self._store.close()
