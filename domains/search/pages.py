"""`Page`: what a corpus holds; `Hit`: what a search shows of one; `PageIndex`: what a world searches in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a corpus."""

    id: str
    """Unique within the corpus."""
    url: str
    """Where it is found, in canonical form (see `engine.urls.canonical`); unique within the corpus."""
    title: str
    text: str
    """The whole page as Markdown, without its title."""
    date: str | None = None
    """When it was published or last changed, ISO 8601 (`2031-04-07`); `None` when nobody knows."""
    withheld: tuple[str, ...] = ()
    """Texts that a snippet of this page must not show unless the query has them: what one has to open the page for
    (Qwen-AgentWorld, report section on search: snippets tease without answering)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a search."""

    url: str
    title: str
    snippet: str
    """One line; `[...]` stands where something was left out or withheld."""
    date: str | None = None
    score: float = 0.0
    """Of the ranking that found it; comparable within one search only."""


class PageIndex(ABC):
    """A corpus that can be searched. Read-only, deterministic, and safe to use from several threads at once."""

    digest: str
    """Names corpus, engine and format: equal digests answer every query with the same bytes."""

    @abstractmethod
    def search(
        self, query: str, limit: int = 10, *, masked: Collection[str] = (), withheld: Sequence[str] = ()
    ) -> list[Hit]:
        """The best pages for a query, best first. Never raises on what a query holds; ties are broken by page order.

        Args:
            query: anything; operators have no meaning. An empty one finds nothing.
            limit: most results.
            masked: canonical addresses that must not be found (LiteResearcher, section on source masking).
            withheld: texts that no snippet may show, in addition to each page's own, unless the query has them.
        """

    @abstractmethod
    def titled(self, title: str, same: Callable[[str], bool]) -> list[str]:
        """Addresses of the pages of a title, however many they are: of those that are found by its words.

        Args:
            title: what is looked for.
            same: whether the title of a page is this one.
        """

    @abstractmethod
    def page(self, url: str) -> Page | None:
        """The page at an address in canonical form, `None` when there is none."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of pages."""

    def close(self) -> None:  # noqa: B027 - those in memory hold nothing
        """Release files. Idempotent."""
