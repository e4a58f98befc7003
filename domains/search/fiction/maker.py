"""`make`: the question of a number and level, with its answer from the database."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any

from agentworld_envs.domains.search.fiction import chains, groups, temporal
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.pages import main_url
from agentworld_envs.domains.search.fiction.population import Entity, Population
from agentworld_envs.domains.search.fiction.questions import Draft, NoQuestion, Question
from agentworld_envs.domains.search.fiction.relations import Relation
from agentworld_envs.interface.errors import ConfigError

Builder = Callable[[Population, Draw], Draft]
BUILDERS: dict[int, tuple[Builder, ...]] = {
    1: (chains.attribute, chains.relation),
    2: (
        partial(chains.chain, hops=2),
        chains.comparison,
        partial(chains.described, hops=3),
        groups.count,
        partial(chains.chain, hops=3),
        partial(chains.aliased, hops=3),
    ),
    3: (
        partial(chains.chain, hops=4),
        groups.total,
        temporal.in_year,
        groups.table,
        groups.listed,
        partial(chains.chain, hops=5),
        groups.extreme,
        temporal.at_event,
        temporal.successor,
    ),
}
"""By level; questions of a world are made by these in turn."""
_TRIES = 400
_SMALL = {"a", "for", "of", "the"}


def words(text: str) -> set[str]:
    """What a lexical search tells apart in a text."""
    return set(re.findall(r"\w+", text.lower())) - _SMALL


def _typed(kind: Relation | str, value: Any, by_name: dict[str, Entity], unit: str = "") -> dict[str, Any]:
    """The answer spec for one value of a result; `unit` is that of a count or a calculated number."""
    if kind in ("count", "number") or (isinstance(kind, Relation) and kind.type == "number"):
        return {"kind": "number", "value": float(value), "unit": kind.unit if isinstance(kind, Relation) else unit}
    if isinstance(kind, Relation) and kind.type in ("year", "date"):
        return {"kind": "date", "value": str(value)}
    entity = by_name.get(str(value))
    aliases = [entity.alias] if entity is not None and entity.alias else []
    return {"kind": "text", "value": str(value), "aliases": aliases}


def _spec(draft: Draft, rows: list[tuple[Any, ...]], population: Population) -> dict[str, Any]:
    by_name = population.by_name
    if draft.shape == "single":
        if len(rows) != 1 or rows[0][0] is None:
            raise NoQuestion
        return _typed(draft.types[0], rows[0][0], by_name, draft.unit)
    if draft.shape == "both":
        values = [_typed(kind, cell, by_name, draft.unit) for kind, cell in zip(draft.types, rows[0], strict=True)]
        return {"kind": "list", "values": values, "ordered": False}
    if draft.shape == "list":
        if len({row[0] for row in rows}) != len(rows) or len(rows) < 2:
            raise NoQuestion
        return {"kind": "list", "values": [_typed(draft.types[0], row[0], by_name) for row in rows], "ordered": False}
    cells = [[_typed(kind, cell, by_name) for kind, cell in zip(draft.types, row, strict=True)] for row in rows]
    columns = [
        {"name": name, "kind": cell["kind"]} | {key: cell[key] for key in ("unit",) if key in cell}
        for name, cell in zip(draft.columns, cells[0], strict=True)
    ]
    # Where a name stands, the other name of the same thing is right, too.
    table = [
        [
            shown if cell["kind"] == "number" else [str(shown), *cell["aliases"]] if cell.get("aliases") else str(shown)
            for shown, cell in zip(row, typed, strict=True)
        ]
        for row, typed in zip(rows, cells, strict=True)
    ]
    return {"kind": "table", "columns": columns, "key": [draft.columns[0]], "rows": table}


def _refuse_leaks(
    draft: Draft, rows: list[tuple[Any, ...]], population: Population, page_words: Callable[[Entity], set[str]]
) -> None:
    """No draft whose answer stands in its text, or whose answer's own page is found by the names searched for."""
    searched = words(" ".join((draft.told, *(entity.name for entity in draft.names))))
    text = draft.text.casefold()
    for row in rows:
        # Who fills a table searches for the name in each row.
        in_row = words(str(row[0])) if draft.shape == "table" else set()
        for place, cell in enumerate(row):
            shown = {str(cell).casefold(), f"{cell:,}" if isinstance(cell, int) else ""} - {""}
            if any(re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text) for one in shown):
                raise NoQuestion
            entity = population.by_name.get(str(cell))
            asked = searched | in_row if place else searched
            if entity is not None and page_words(entity) & asked:
                raise NoQuestion


def make(
    population: Population,
    connection: sqlite3.Connection,
    page_words: Callable[[Entity], set[str]],
    key: tuple[int | str, ...],
    number: int,
    level: int,
) -> Question:
    """The question of a number.

    Args:
        page_words: what the main page of an entity says, as `words`.
        key: names the world.

    Raises:
        ConfigError: there is no such level, a negative number, or the world is too small for the level.
    """
    if level not in BUILDERS or number < 0:
        raise ConfigError(f"expected a level out of {sorted(BUILDERS)} and a number >= 0, got {level} and {number}")
    draw = Draw("fiction", "question", *key, level, number)
    # Every world begins elsewhere: a few questions of each of many worlds are of all kinds, too.
    first = (number + Draw("fiction", "turn", *key, level).below(len(BUILDERS[level]))) % len(BUILDERS[level])
    for attempt in range(_TRIES):
        # What cannot be had in a tiny world gives way to the next kind.
        builder = BUILDERS[level][(first + attempt // (_TRIES // 4)) % len(BUILDERS[level])]
        try:
            draft = builder(population, draw)
            rows = connection.execute(draft.sql).fetchall()
            spec = _spec(draft, rows, population)
            _refuse_leaks(draft, rows, population, page_words)
        except NoQuestion:
            continue
        sources = tuple(dict.fromkeys(main_url(population.host, entity) for entity in draft.sources))
        return Question(draft.text, draft.kind, draft.hops, level, draft.sql, spec, sources, tuple(draft.program))
    raise ConfigError(f"no question of level {level} in {_TRIES} tries: take a larger world")
