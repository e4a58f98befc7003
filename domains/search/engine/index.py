"""`open_index`: a built index, read-only, by any number of processes and threads."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from agentworld_envs.domains.search.engine.dense import VECTORS, DenseVectors, Embedder, load_embedder
from agentworld_envs.domains.search.engine.exchange import FTS5, TANTIVY
from agentworld_envs.domains.search.engine.fts5 import Fts5
from agentworld_envs.domains.search.engine.manifest import Manifest, read_manifest
from agentworld_envs.domains.search.engine.ranking import (
    DenseRanker,
    FusedRanker,
    Lexical,
    LexicalRanker,
    Ranking,
    RankingKind,
)
from agentworld_envs.domains.search.engine.search_index import Ranker, SearchIndex
from agentworld_envs.domains.search.engine.store import PageStore
from agentworld_envs.domains.search.engine.tantivy_ranking import TantivyRanking
from agentworld_envs.domains.search.pages import PageIndex
from agentworld_envs.interface import AgentWorldError, ConfigError

_DEFAULT = Ranking()


def open_index(folder: Path, *, ranking: Ranking = _DEFAULT, embedder: Embedder | None = None) -> PageIndex:
    """Open an index that `build` made. Reads nothing but its manifest; files are mapped into memory.

    Args:
        folder: of the index.
        ranking: by words, by meaning or by both.
        embedder: what makes vectors of queries, when the index was built with a function.

    Raises:
        ConfigError: no index, one of another version, a damaged one, or no vectors for the ranking asked for.
        MissingExtraError: the package that it was built with is not installed.
    """
    return FolderIndex(Path(folder), ranking, embedder)


class FolderIndex(SearchIndex):
    """See `open_index`. Pickles as its folder."""

    def __init__(self, folder: Path, ranking: Ranking = _DEFAULT, embedder: Embedder | None = None) -> None:
        self.folder = folder.absolute()
        self.manifest = read_manifest(self.folder)
        self._made = (self.folder, ranking, embedder)
        store: PageStore | None = None
        try:
            store = PageStore(self.folder)
            if len(store) != self.manifest.pages:
                raise ValueError(f"{len(store)} pages instead of {self.manifest.pages}")
            ranker = _ranker(self.folder, self.manifest, ranking, embedder)
            if read_manifest(self.folder).digest != self.manifest.digest:
                ranker.close()
                raise ConfigError(f"The search index {self.folder} was built again while it was opened: open it anew.")
        except AgentWorldError:
            if store is not None:
                store.close()
            raise
        except (OSError, EOFError, ValueError, sqlite3.Error) as error:
            if store is not None:
                store.close()
            raise ConfigError(
                f"The search index {self.folder} is damaged, or was built by another version ({error}). "
                f"Build it again: agentworld corpus build SOURCE {self.folder}"
            ) from error
        super().__init__(store, ranker, _digest(self.manifest, ranking))

    def __reduce__(self) -> tuple[type[FolderIndex], tuple[Path, Ranking, Embedder | None]]:
        return FolderIndex, self._made


def _ranker(folder: Path, manifest: Manifest, ranking: Ranking, embedder: Embedder | None) -> Ranker:
    kind = _kind(manifest, ranking)
    vectors = None if kind == "lexical" else _vectors(folder, manifest, embedder)
    if kind == "dense" and vectors is not None:
        return DenseRanker(vectors)
    engine: Lexical = TantivyRanking(folder / TANTIVY) if manifest.engine == "tantivy" else _fts5(folder / FTS5)
    return LexicalRanker(engine) if vectors is None else FusedRanker(engine, vectors, ranking)


def _kind(manifest: Manifest, ranking: Ranking) -> RankingKind:
    if ranking.kind == "auto":
        return "lexical" if manifest.dimensions is None else "fused"
    return ranking.kind


def _fts5(path: Path) -> Fts5:
    if not path.is_file():
        raise ValueError(f"{path.name} is missing")
    return Fts5(path)


def _vectors(folder: Path, manifest: Manifest, embedder: Embedder | None) -> DenseVectors:
    if manifest.dimensions is None:
        raise ConfigError(
            f"The index {folder} has no vectors for dense ranking. Build it again with some: "
            f"agentworld corpus build SOURCE {folder} --dense MODEL"
        )
    if embedder is None:
        if manifest.embedder is None:
            raise ConfigError(
                f"The vectors of {folder} were made by a function. Pass it as `embedder`, or rank by words: "
                "Ranking(kind='lexical')."
            )
        embedder = load_embedder(manifest.embedder)
    return DenseVectors(folder / VECTORS, manifest.pages, embedder)


def _digest(manifest: Manifest, ranking: Ranking) -> str:
    """The ranking is part of what a search gives."""
    if _kind(manifest, ranking) == "lexical":
        return manifest.digest
    fusion = f"{ranking.fusion}-{ranking.k}-{ranking.lexical_weight:g}-{ranking.dense_weight:g}"
    return f"{manifest.digest}-{_kind(manifest, ranking)}-{fusion}"
