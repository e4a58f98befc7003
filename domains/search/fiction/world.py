"""`FictionalWorld`: a world that nobody has read about."""

from __future__ import annotations

import sqlite3
import threading
from functools import cached_property
from pathlib import Path

from agentworld_envs.domains.search.fiction import database, maker
from agentworld_envs.domains.search.fiction.pages import Writer
from agentworld_envs.domains.search.fiction.population import Entity, Population
from agentworld_envs.domains.search.fiction.questions import Question
from agentworld_envs.domains.search.pages import Page


class FictionalWorld:
    """A relational world of invented people, places, organisations, works, events and products.

    Everything about it is a pure function of seed and size: the database, the pages written from it, the questions and
    their answers, byte for byte in every process. Qwen-AgentWorld trains searchers in about a thousand such worlds of
    300 to 500 rows (report, section on fictional worlds); pages and restatements follow LiteResearcher's corpus, in
    which a fact whose source is masked can still be found elsewhere. Instances may be shared between threads.
    """

    def __init__(self, seed: int, size: str = "small") -> None:
        """Args: seed: any integer. size: `tiny` (about 130 rows), `small` (about 470), `medium` or `large`
        (10 and 100 times as many).

        Raises:
            ConfigError: there is no such size.
        """
        self.seed = seed
        self.size = size
        self.population = Population(seed, size)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._words: dict[Entity, set[str]] = {}

    def __reduce__(self) -> tuple[type[FictionalWorld], tuple[int, str]]:
        return FictionalWorld, (self.seed, self.size)

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        """All pages, main pages first."""
        return Writer(self.population, self.seed, self.size).pages

    @cached_property
    def entities(self) -> dict[str, tuple[str, ...]]:
        """Names by kind of thing."""
        return {kind: tuple(entity.name for entity in found) for kind, found in self.population.by_kind.items()}

    def connect(self) -> sqlite3.Connection:
        """A fresh copy of the database in memory, read-only. To be closed by whoever asked for it."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        database.fill(connection, self.population)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def save(self, path: str | Path) -> Path:
        """Write the database to a new file.

        Raises:
            FileExistsError: there is a file.
        """
        path = Path(path)
        if path.exists():
            raise FileExistsError(f"{path} exists: expected the path of a new file")
        connection = sqlite3.connect(path)
        try:
            database.fill(connection, self.population)
        finally:
            connection.close()
        return path

    def question(self, number: int, level: int = 1) -> Question:
        """The question of a number: the same for the same world, number and level. Kinds take turns.

        Args:
            number: from 0, without end.
            level: 1 (one fact), 2 (two or three, comparisons, counts) or 3 (four or five, sums, extremes, offices
                over time, lists and tables).

        Raises:
            ConfigError: there is no such level, or the world is too small for it.
        """
        with self._lock:
            if self._connection is None:
                self._connection = self.connect()
            key = (self.size, self.seed)
            return maker.make(self.population, self._connection, self._page_words, key, number, level)

    def _page_words(self, entity: Entity) -> set[str]:
        found = self._words.get(entity)
        if found is None:
            index = self._index[entity]
            found = self._words[entity] = maker.words(self.pages[index].text)
        return found

    @cached_property
    def _index(self) -> dict[Entity, int]:
        return {entity: index for index, entity in enumerate(self.population.entities)}
