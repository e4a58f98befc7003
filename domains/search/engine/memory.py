"""`memory_index`: a corpus in memory, always ranked by FTS5, so that equal pages give equal bytes everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from agentworld_envs.domains.search.engine.fts5 import Fts5, Fts5Writer
from agentworld_envs.domains.search.engine.ranking import LexicalRanker, indexed_text
from agentworld_envs.domains.search.engine.search_index import SearchIndex
from agentworld_envs.domains.search.pages import Page, PageIndex
from agentworld_envs.interface import ConfigError

FORMAT = 1
"""Part of every digest; goes up when analysis, ranking or snippets change."""


def memory_index(pages: Sequence[Page]) -> PageIndex:
    """An index of pages in memory. Pickles as its pages.

    Raises:
        ConfigError: two pages have the same address.
    """
    return MemoryIndex(pages)


class MemoryIndex(SearchIndex):
    """See `memory_index`."""

    def __init__(self, pages: Sequence[Page]) -> None:
        store = PagesInMemory(pages)
        writer = Fts5Writer()
        for page in store.pages:
            writer.add(indexed_text(page))
        super().__init__(store, LexicalRanker(Fts5(writer.connection())), digest_of(store.pages, f"fts5/{FORMAT}"))

    def __reduce__(self) -> tuple[type[MemoryIndex], tuple[tuple[Page, ...]]]:
        assert isinstance(self._store, PagesInMemory)
        return MemoryIndex, (self._store.pages,)


class PagesInMemory:
    """A store of page objects."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self.pages = tuple(pages)
        self._rows = {page.url: row for row, page in enumerate(self.pages)}
        if len(self._rows) != len(self.pages):
            twice = next(page.url for row, page in enumerate(self.pages) if self._rows[page.url] != row)
            raise ConfigError(f"Every page needs its own address; this one came twice: {twice}")

    def __len__(self) -> int:
        return len(self.pages)

    def page(self, row: int) -> Page:
        return self.pages[row]

    def shown(self, row: int) -> tuple[str, str, str, str | None, tuple[str, ...]]:
        page = self.pages[row]
        return page.url, page.title, page.text, page.date, page.withheld

    def row(self, url: str) -> int | None:
        return self._rows.get(url)

    def close(self) -> None:
        """Nothing is open."""


def digest_of(pages: Sequence[Page], engine: str) -> str:
    """Names pages and engine, 32 hexadecimal digits."""
    digest = hashlib.blake2b(engine.encode(), digest_size=16)
    for page in pages:
        record = [page.id, page.url, page.title, page.text, page.date, page.withheld]
        digest.update(json.dumps(record, ensure_ascii=True).encode())
    return digest.hexdigest()
