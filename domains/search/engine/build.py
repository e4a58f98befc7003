"""`build`: an index folder out of pages, streamed, so that memory does not grow with their texts."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from agentworld_envs.domains.search.engine.dense import Embedder, load_embedder, write_vectors
from agentworld_envs.domains.search.engine.exchange import (
    FTS5,
    PAGES,
    TANTIVY,
    VECTORS,
    check_place,
    exchange,
    put_back,
    sweep,
    workplace_prefix,
)
from agentworld_envs.domains.search.engine.fts5 import Fts5Writer
from agentworld_envs.domains.search.engine.manifest import FORMAT, EngineKind, Manifest, write_manifest
from agentworld_envs.domains.search.engine.ranking import Writer, indexed_text
from agentworld_envs.domains.search.engine.store import PageStore, StoreWriter
from agentworld_envs.domains.search.engine.tantivy_ranking import TantivyWriter, load
from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

DUPLICATE: Final = "duplicate address"
BAD_ADDRESS: Final = "bad address"
_STEP: Final = 1000


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What became of a corpus."""

    folder: Path
    pages: int
    skipped: Mapping[str, int]
    """Records left out, per reason: those that the reader skipped, and pages with a bad or repeated address."""
    kind: EngineKind
    digest: str


def build(
    pages: Iterable[Page],
    folder: Path,
    *,
    kind: Literal["auto", "tantivy", "fts5"] = "auto",
    dense: str | Embedder | None = None,
    progress: Callable[[int], None] | None = None,
) -> BuildReport:
    """Build an index; an index that is already there is replaced once the new one is whole.

    Everything is written beside `folder` first and then renamed: a build that is killed leaves the folder as it was. In
    the one case that it is killed just between two renames, the next build, whatever comes of it, puts the old index
    back first.

    Args:
        pages: read once, in order, never all in memory. A `Corpus` brings the counts of what it skipped.
        folder: where the index goes. Its parent must exist.
        kind: `tantivy`, `fts5`, or the first of the two that is installed.
        dense: name of a sentence-transformers model, or a function from texts to vectors, for dense ranking.
        progress: called with the number of pages so far, every 1,000 pages and at the end.

    Raises:
        ConfigError: no page at all, a folder that is something else or holds something else, or an unknown kind.
        MissingExtraError: the package behind `kind` or `dense` is not installed.
    """
    folder = Path(folder).absolute()
    folder = folder.resolve() if folder.is_symlink() else folder
    engine = _engine(kind)
    embed = load_embedder(dense) if isinstance(dense, str) else dense
    check_place(folder)
    sweep(folder)
    outer = Path(tempfile.mkdtemp(prefix=f"{workplace_prefix(folder)}{os.getpid()}-", dir=folder.parent))
    work = outer / "index"
    work.mkdir()  # unlike the outer one, for whom the user's umask says
    try:
        manifest = _fill(work, pages, engine, progress)
        if embed is not None:
            store = PageStore(work)
            try:
                texts = (f"{page.title}\n{page.text}" for page in map(store.page, range(len(store))))
                dimensions = write_vectors(texts, len(store), embed, work / VECTORS)
            finally:
                store.close()
            digest = hashlib.blake2b(manifest.digest.encode(), digest_size=16)
            with open(work / VECTORS, "rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
            manifest = manifest.model_copy(
                update={
                    "dimensions": dimensions,
                    "embedder": dense if isinstance(dense, str) else None,
                    "digest": digest.hexdigest(),
                }
            )
        write_manifest(work, manifest)
        if engine == "tantivy":
            for path in (work / TANTIVY).iterdir():
                shutil.copymode(work / PAGES, path)  # some are readable by their owner alone
        exchange(outer, folder)
    finally:
        put_back(outer, folder)
        shutil.rmtree(outer, ignore_errors=True)
    return BuildReport(folder, manifest.pages, manifest.skipped, manifest.engine, manifest.digest)


def _engine(kind: str) -> EngineKind:
    if kind == "auto":
        return "tantivy" if find_spec("tantivy") else "fts5"
    if kind == "tantivy":
        return "tantivy"
    if kind == "fts5":
        return "fts5"
    raise ConfigError(f"Unknown kind of index {kind!r}: expected auto, tantivy or fts5.")


def _fill(work: Path, pages: Iterable[Page], engine: EngineKind, progress: Callable[[int], None] | None) -> Manifest:
    """Store and index the pages."""
    version = load().__version__ if engine == "tantivy" else sqlite3.sqlite_version
    # SQLite's ranking is the same in every version; Tantivy's may change with its version.
    named = f"{FORMAT} {engine} {version if engine == 'tantivy' else ''}"
    digest = hashlib.blake2b(named.encode(), digest_size=16)
    store = StoreWriter(work, digest)
    skipped: Counter[str] = Counter()
    count = characters = 0
    index: Writer = TantivyWriter(work / TANTIVY) if engine == "tantivy" else Fts5Writer(work / FTS5)
    try:
        for page in pages:
            try:
                url = canonical(page.url)
            except BadURL:
                skipped[BAD_ADDRESS] += 1
                continue
            kept = page if url == page.url else replace(page, url=url)
            if not store.add(kept):
                skipped[DUPLICATE] += 1
                continue
            index.add(indexed_text(kept))
            count += 1
            characters += len(kept.text) + len(kept.title)
            if progress is not None and count % _STEP == 0:
                progress(count)
        skipped.update(getattr(pages, "skipped", {}))
        if not count:
            reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(skipped.items())) or "it is empty"
            raise ConfigError(
                f"The corpus has no page that can be used: {reasons}. {getattr(pages, 'hint', '')}".strip()
            )
        index.finish()
        store.finish()
    finally:
        store.abandon()
        index.abandon()
    if progress is not None:
        progress(count)
    return Manifest(
        engine=engine,
        engine_version=version,
        pages=count,
        characters=characters,
        digest=digest.hexdigest(),
        skipped=dict(sorted(skipped.items())),
    )
