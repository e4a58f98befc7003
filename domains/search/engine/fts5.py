"""Lexical ranking by SQLite FTS5: BM25 with k1 = 1.2, b = 0.75, without any dependency."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agentworld_envs.domains.search.engine.words import terms
from agentworld_envs.interface import ConfigError

BUDGET: Final = 20_000
"""Pages that the terms of one query may have in all, before the most common terms are left out: FTS5 visits every
page that has any of them."""
_COMMON: Final = BUDGET // 16
"""Terms of at least so many pages are written down at the end of a build; all others are cheap."""

_MAPPED: Final = 1 << 34
"""Bytes of a file that may be mapped into memory instead of read."""

# Pages come analysed: the tokenizer only cuts at spaces, and leaves signs of Indian and other scripts in their words.
_SCHEMA: Final = """
CREATE VIRTUAL TABLE pages USING fts5(
    terms, content='', tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'"
);
CREATE TABLE common (term TEXT PRIMARY KEY, pages INTEGER) WITHOUT ROWID;
"""
_SEARCH: Final = "SELECT rowid - 1, -bm25(pages) FROM pages WHERE pages MATCH ? ORDER BY 2 DESC, 1 LIMIT ?"


class Fts5Writer:
    """Fills an index, in a file or in memory (`path=None`)."""

    def __init__(self, path: Path | None = None) -> None:
        self._db = sqlite3.connect(":memory:" if path is None else path, check_same_thread=False)
        self._db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;" + _SCHEMA)
        self._row = 0

    def add(self, text: str) -> None:
        """Index the next page."""
        self._row += 1
        self._db.execute("INSERT INTO pages(rowid, terms) VALUES (?, ?)", (self._row, " ".join(terms(text))))

    def connection(self) -> sqlite3.Connection:
        """Merge into one segment, and count the common terms."""
        db = self._db
        db.execute("INSERT INTO pages(pages) VALUES ('optimize')")
        db.execute("CREATE VIRTUAL TABLE temp.counted USING fts5vocab('main', 'pages', 'row')")
        db.execute("INSERT INTO common SELECT term, doc FROM temp.counted WHERE doc >= ?", (_COMMON,))
        db.execute("DROP TABLE temp.counted")
        db.commit()
        return db

    def finish(self) -> None:
        """Write everything into the file."""
        self.connection().close()

    def abandon(self) -> None:
        """Close an index that is not finished."""
        self._db.close()


class _Held:
    """A connection that is closed with its thread."""

    def __init__(self, path: Path) -> None:
        self.process = os.getpid()
        before = _identity(path)
        self.db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
        self.db.execute(f"PRAGMA mmap_size={_MAPPED}")
        self.file = before if before == _identity(path) else None
        """What was opened; `None` when nobody can tell, because it was replaced at that moment."""

    def __del__(self) -> None:
        if hasattr(self, "db"):
            self.db.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class Fts5:
    """Searches an index. Safe in several threads and after a fork: each thread of each process has its own connection
    to a file, and all share one in memory.

    A file that was replaced since is never looked at: new threads share the connection that was opened first.
    """

    def __init__(self, source: Path | sqlite3.Connection) -> None:
        self._source = source
        self._local = threading.local()
        self._lock = threading.Lock()
        self._open: weakref.WeakSet[_Held] = weakref.WeakSet()
        self._first: _Held | None = None
        self._shared = isinstance(source, sqlite3.Connection)
        """Whether several threads use one connection, each in its turn."""
        self._common = dict(self._connection().execute("SELECT term, pages FROM common").fetchall())

    def top(self, words: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Rows (0 is the first page) and scores, best first, the first page of equals first."""
        kept = self._affordable(words)
        if not kept:
            return []
        match = " OR ".join([f'"{term}"' for term in kept])
        db = self._connection()
        if self._shared:
            with self._lock:
                return db.execute(_SEARCH, (match, limit)).fetchall()
        return db.execute(_SEARCH, (match, limit)).fetchall()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for held in list(self._open):
                held.db.close()
            if isinstance(self._source, sqlite3.Connection):
                self._source.close()

    def __del__(self) -> None:
        if isinstance(self._source, sqlite3.Connection):
            self._source.close()

    def _affordable(self, words: Sequence[str]) -> list[str]:
        """The rarest terms within the budget, in the order of the query; at least one."""
        common = self._common
        if not common or sum([common.get(term, 0) for term in words]) <= BUDGET:
            return list(words)
        spent = 0
        kept: set[str] = set()
        for term in sorted(words, key=lambda term: (common.get(term, 0), term)):
            spent += common.get(term, 0)
            if kept and spent > BUDGET:
                break
            kept.add(term)
        return [term for term in words if term in kept]

    def _connection(self) -> sqlite3.Connection:
        if isinstance(self._source, sqlite3.Connection):
            return self._source
        held: _Held | None = getattr(self._local, "held", None)
        if held is None or held.process != os.getpid():
            held = self._local.held = self._opened(self._source)
        return held.db

    def _opened(self, path: Path) -> _Held:
        """A connection to the file that was opened first.

        Raises:
            ConfigError: it was replaced, and this is a process that has no connection to it yet.
        """
        try:
            held = _Held(path)
        except sqlite3.Error:
            if self._first is None:
                raise
            held = None
        first = self._first
        if first is None or (held is not None and held.file is not None and held.file == first.file):
            assert held is not None
            if first is None:
                self._first = held
            with self._lock:
                self._open.add(held)
            return held
        if first.process != os.getpid():
            raise ConfigError(
                f"The search index {path.parent} was built again since it was opened, and this process, a fork of the "
                "one that did, cannot read the old one any more: open the index again."
            )
        self._shared = True
        return first
