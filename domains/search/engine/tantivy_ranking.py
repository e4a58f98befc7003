"""Lexical ranking by Tantivy: BM25 with k1 = 1.2, b = 0.75. Releases Python's lock while it searches."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agentworld_envs.domains.search.engine.words import terms
from agentworld_envs.interface import MissingExtraError

HEAP: Final = 1_500_000_000
"""Bytes that indexing may take before it starts a new segment. Memory is taken as it is needed: 1 M pages of 130 words
need about a third of it."""
_CACHED: Final = 200_000
_SPARE: Final = 2
"""Pages fetched beyond the limit, among which ties are looked for."""
_MOST: Final = 65_536
"""Pages fetched to settle a tie."""
_DIGITS: Final = 5
"""Of a score between 1 and 8 that are kept behind the point, one less for each power of eight."""
_OPTION: Final = "freq"
_LOCK: Final = ".tantivy-meta.lock"


def load() -> Any:
    """The module `tantivy`.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import tantivy
    except ImportError as error:
        raise MissingExtraError(
            "An index of kind 'tantivy' needs the package tantivy: pip install 'agentworld-envs[search]'. Or build the "
            "corpus with kind 'fts5', which needs nothing."
        ) from error
    return tantivy


class TantivyWriter:
    """Fills an index in an empty folder, from one thread, so that pages stay in their order."""

    def __init__(self, folder: Path) -> None:
        self._tantivy = load()
        schema = self._tantivy.SchemaBuilder()
        schema.add_text_field("terms", stored=False, tokenizer_name="analysed", index_option=_OPTION)
        schema.add_integer_field("row", fast=True)
        folder.mkdir()
        self._index = self._tantivy.Index(schema.build(), path=str(folder))
        _register(self._tantivy, self._index)
        self._writer = self._index.writer(heap_size=HEAP, num_threads=1)
        self._row = 0

    def add(self, text: str) -> None:
        """Index the next page."""
        document = self._tantivy.Document()
        document.add_text("terms", " ".join(terms(text)))
        document.add_integer("row", self._row)
        self._writer.add_document(document)
        self._row += 1

    def finish(self) -> None:
        """Write everything, and wait for merges."""
        self._writer.commit()
        self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Let go of an index that is not finished."""
        self._writer = self._index = None


class TantivyRanking:
    """Searches an index. Safe in several threads and after a fork.

    A term that more than half of the pages have is left out beside rarer ones: it tells pages apart no better than
    chance (the weight of Robertson and Spärck Jones is negative there), and costs the most.

    Raises:
        MissingExtraError: tantivy is not installed.
        ValueError: the files cannot be read by the installed version.
    """

    def __init__(self, folder: Path) -> None:
        tantivy = load()
        with _lockable(folder) as place:
            index = tantivy.Index.open(str(place))
            _register(tantivy, index)
            index.config_reader("manual")  # a built index never changes; this watches no file
            self._searcher = index.searcher()
        self._schema = index.schema
        self._term_query = tantivy.Query.term_query
        self._boolean_query = tantivy.Query.boolean_query
        self._should = tantivy.Occur.Should
        self._single = self._searcher.num_segments <= 1
        self._half = self._searcher.num_docs // 2
        self._frequencies: dict[str, int] = {}

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    def top(self, words: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Rows (0 is the first page) and scores, best first, the first page of equals first."""
        counts = [self._frequency(term) for term in words]
        rare = [term for term, count in zip(words, counts, strict=True) if 0 < count <= self._half]
        used = rare or [term for term, count in zip(words, counts, strict=True) if count]
        if not used:
            return []
        schema, should, query = self._schema, self._should, self._term_query
        wanted = self._boolean_query([(should, query(schema, "terms", term, _OPTION)) for term in used])
        fetched = limit + _SPARE
        while True:
            hits = self._searcher.search(wanted, fetched, count=False).hits
            ranked = self._ranked(hits)
            if len(hits) < fetched or fetched >= _MOST or self._settled(hits, ranked, limit):
                return ranked[:limit]
            fetched *= 4

    def _ranked(self, hits: list[tuple[float, Any]]) -> list[tuple[int, float]]:
        if self._single:
            rows = [address.doc for _, address in hits]
        else:
            rows = self._searcher.fast_field_values("row", [address for _, address in hits])
        if not hits:
            return []
        # Sums of 32-bit scores differ in the last digits with the order of summation.
        digits = _DIGITS - math.frexp(hits[0][0])[1] // 3
        found = [(-round(score, digits), row) for (score, _), row in zip(hits, rows, strict=True)]
        found.sort()
        return [(row, -score) for score, row in found]

    def _settled(self, hits: list[tuple[float, Any]], ranked: list[tuple[int, float]], limit: int) -> bool:
        """Whether no page that was not fetched can be equal to one within the limit and come before it. Within one
        segment, Tantivy itself gives the first pages of equals."""
        return ranked[-1][1] != ranked[limit - 1][1] or (self._single and hits[-1][0] == hits[limit - 1][0])

    def _frequency(self, term: str) -> int:
        count = self._frequencies.get(term)
        if count is None:
            if len(self._frequencies) >= _CACHED:
                self._frequencies.clear()
            count = self._frequencies[term] = int(self._searcher.doc_freq("terms", term))
        return count

    def close(self) -> None:
        """Let go of the files."""
        self._searcher = None


def _register(tantivy: Any, index: Any) -> None:
    """Pages come analysed: only cut at spaces."""
    index.register_tokenizer("analysed", tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build())


@contextmanager
def _lockable(folder: Path) -> Iterator[Path]:
    """The index where Tantivy may take its lock while it opens: on a read-only disk, or for a user who may only read,
    a short-lived folder of links. Once opened, everything is mapped into memory."""
    if os.access(folder, os.W_OK) and os.access(folder / _LOCK, os.W_OK):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="agentworld-index-") as name:
        for path in folder.iterdir():
            if path.name != _LOCK:
                (Path(name) / path.name).symlink_to(path.absolute())
        yield Path(name)
