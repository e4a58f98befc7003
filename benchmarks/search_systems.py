"""The systems that `search.py` compares, each as `build(pages, folder)` and `open(folder) -> search(query)`."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym

import agentworld_envs  # noqa: F401 - registers the ids
from agentworld_envs.domains.search.engine import build, open_index
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import Task

Search = Callable[[str], Any]


class System(ABC):
    """One way to search."""

    snippets = True
    steps = False
    """Whether it can be measured through `env.step`, too."""

    @abstractmethod
    def build(self, pages: Iterable[Page], folder: Path) -> None:
        """Index the pages."""

    @abstractmethod
    def open(self, folder: Path) -> Search:
        """Open it, ready to search."""


class Ours(System):
    """`agentworld_envs.domains.search.engine`, with snippets, as environments use it."""

    steps = True

    def __init__(self, kind: Literal["tantivy", "fts5"]) -> None:
        self.kind = kind

    def build(self, pages: Iterable[Page], folder: Path) -> None:
        build(pages, folder, kind=self.kind)

    def open(self, folder: Path) -> Search:
        return open_index(folder).search

    def step(self, folder: Path) -> Search:
        """`env.step` of an environment for each thread, from the action's text to the observation."""
        task = Task(
            id="benchmark",
            domain="search",
            instruction="Search.",
            initial_state={"index": str(folder)},
            verifier={"answer": {"kind": "text", "value": "none"}},
        )
        local = threading.local()

        def search(query: str | list[str]) -> Any:
            env = getattr(local, "env", None)
            if env is None:
                env = local.env = gym.make("AgentWorld/Search-v0", max_steps=10_000_000, disable_env_checker=True)
                env.reset(seed=0, options={"task": task})
            arguments = {"query": query} if isinstance(query, str) else {"queries": query}
            return env.step(json.dumps({"name": "web_search", "arguments": arguments}))

        return search


class PlainFts5(System):
    """SQLite FTS5 as its manual shows it: porter stems, any word may match, `bm25()` and `snippet()`."""

    def build(self, pages: Iterable[Page], folder: Path) -> None:
        folder.mkdir()
        with sqlite3.connect(folder / "plain.sqlite") as db:
            db.execute("CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text, tokenize='porter unicode61')")
            rows = ((page.url, page.title, page.text) for page in pages)
            db.executemany("INSERT INTO pages VALUES (?, ?, ?)", rows)
        db.close()

    def open(self, folder: Path) -> Search:
        local = threading.local()

        def search(query: str) -> Any:
            db = getattr(local, "db", None)
            if db is None:
                db = local.db = sqlite3.connect(folder / "plain.sqlite")
            match = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query.lower())))
            return db.execute(
                "SELECT url, title, snippet(pages, 2, '', '', '...', 40) FROM pages WHERE pages MATCH ? "
                "ORDER BY rank LIMIT 10",
                (match,),
            ).fetchall()

        return search


class Bm25s(System):
    """bm25s with PyStemmer when it is installed; scores and page numbers only, it makes no snippets."""

    snippets = False

    def build(self, pages: Iterable[Page], folder: Path) -> None:
        import bm25s

        tokens = bm25s.tokenize(
            [f"{page.title}\n{page.text}" for page in pages], stopwords=None, stemmer=_stemmer(), show_progress=False
        )
        retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
        retriever.index(tokens, show_progress=False)
        retriever.save(str(folder), show_progress=False)
        (folder / "about.json").write_text(json.dumps({"stemmed": _stemmer() is not None}))

    def open(self, folder: Path) -> Search:
        import bm25s

        retriever = bm25s.BM25.load(str(folder), mmap=True)
        stemmer = _stemmer()

        def search(query: str) -> Any:
            tokens = bm25s.tokenize([query], stopwords=None, stemmer=stemmer, return_ids=False, show_progress=False)
            return retriever.retrieve(tokens, k=10, show_progress=False, n_threads=0)

        return search


def _stemmer() -> Any:
    try:
        import Stemmer
    except ImportError:
        return None
    return Stemmer.Stemmer("english")


SYSTEMS: dict[str, System] = {
    "tantivy": Ours("tantivy"),
    "fts5": Ours("fts5"),
    "plain fts5": PlainFts5(),
    "bm25s": Bm25s(),
}
