"""Ranking: by words, by meaning, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, get_args

from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

RankingKind = Literal["auto", "lexical", "dense", "fused"]
Fusion = Literal["rrf", "weighted"]
DEPTH: Final = 100
"""Pages of each ranking that are fused, at least."""

Ranked = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """How an index ranks its pages.

    Raises:
        ConfigError: an unknown kind or fusion, or a negative weight.
    """

    kind: RankingKind = "auto"
    """`lexical`: BM25. `dense`: cosine of vectors. `fused`: both. `auto`: `fused` when the index has vectors."""
    fusion: Fusion = "rrf"
    """`rrf`: sum of 1 / (k + rank), rank from 1 (reciprocal rank fusion, Cormack et al., SIGIR 2009). `weighted`: sum
    of scores times weights, lexical scores as parts of the best one and cosines below 0 as 0."""
    k: int = 60
    lexical_weight: float = 0.7
    """Of the weighted fusion. These weights are those of LiteResearcher's released server."""
    dense_weight: float = 1.0

    def __post_init__(self) -> None:
        for value, kinds in ((self.kind, get_args(RankingKind)), (self.fusion, get_args(Fusion))):
            if value not in kinds:
                raise ConfigError(f"Unknown ranking {value!r}: expected one of {', '.join(kinds)}.")
        if self.k < 0 or self.lexical_weight < 0 or self.dense_weight < 0:
            raise ConfigError(f"k and the weights of a ranking cannot be negative: {self}.")


class Lexical(Protocol):
    """An engine that ranks by terms, see `fts5` and `tantivy_ranking`."""

    def top(self, words: Sequence[str], limit: int) -> Ranked: ...
    def close(self) -> None: ...


class Writer(Protocol):
    """Fills an index with analysed pages, in their order."""

    def add(self, text: str) -> None: ...
    def finish(self) -> None: ...
    def abandon(self) -> None: ...


class Dense(Protocol):
    """What ranks by meaning, see `dense`."""

    def top(self, query: str, limit: int) -> Ranked: ...
    def close(self) -> None: ...


class LexicalRanker:
    """Ranks by the words of a query alone."""

    def __init__(self, engine: Lexical) -> None:
        self._engine = engine

    def top(self, query: str, terms: Sequence[str], limit: int) -> Ranked:
        return self._engine.top(terms, limit) if terms else []

    def close(self) -> None:
        self._engine.close()


class DenseRanker:
    """Ranks by the meaning of a query alone."""

    def __init__(self, vectors: Dense) -> None:
        self._vectors = vectors

    def top(self, query: str, terms: Sequence[str], limit: int) -> Ranked:
        return self._vectors.top(query, limit)

    def close(self) -> None:
        self._vectors.close()


class FusedRanker:
    """Ranks by both."""

    def __init__(self, engine: Lexical, vectors: Dense, ranking: Ranking) -> None:
        self._engine = engine
        self._vectors = vectors
        self._ranking = ranking

    def top(self, query: str, terms: Sequence[str], limit: int) -> Ranked:
        depth = max(DEPTH, limit)
        lexical = self._engine.top(terms, depth) if terms else []
        return fused(lexical, self._vectors.top(query, depth), self._ranking)[:limit]

    def close(self) -> None:
        self._engine.close()
        self._vectors.close()


def fused(lexical: Ranked, dense: Ranked, ranking: Ranking) -> Ranked:
    """Two rankings as one, best first, equals by row."""
    scores: dict[int, float] = {}
    if ranking.fusion == "rrf":
        for ranked in (lexical, dense):
            for place, (row, _) in enumerate(ranked, 1):
                scores[row] = scores.get(row, 0.0) + 1.0 / (ranking.k + place)
    else:
        best = lexical[0][1] if lexical and lexical[0][1] > 0 else 1.0
        for row, score in lexical:
            scores[row] = ranking.lexical_weight * score / best
        for row, score in dense:
            scores[row] = scores.get(row, 0.0) + ranking.dense_weight * max(score, 0.0)
    return sorted(((row, round(score, 9)) for row, score in scores.items()), key=lambda item: (-item[1], item[0]))


def indexed_text(page: Page) -> str:
    """What of a page is ranked: its title, which counts twice, and its text."""
    return f"{page.title}\n{page.title}\n{page.text}"
