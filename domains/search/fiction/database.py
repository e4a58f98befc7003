"""`fill`: a fictional world as an SQLite database."""

from __future__ import annotations

import sqlite3
from typing import Any

from agentworld_envs.domains.search.fiction.population import KINDS, Entity, Population
from agentworld_envs.domains.search.fiction.relations import Relation, relations

HISTORY = "history"
"""The table of values that no longer hold."""


def column(relation: Relation) -> str:
    """The column of a single-valued relation in the table of its kind."""
    return f"{relation.name}_id" if relation.type == "entity" else relation.name


def link_table(relation: Relation) -> str:
    """The table of a relation with several values."""
    return f"{relation.kind}_{relation.name}"


def _statements() -> list[str]:
    made = []
    for kind in KINDS:
        columns = ["id INTEGER PRIMARY KEY", "name TEXT NOT NULL UNIQUE", "alias TEXT", "noun TEXT NOT NULL"]
        for relation in relations(kind).values():
            if relation.type == "entity":
                columns.append(f"{column(relation)} INTEGER NOT NULL REFERENCES {relation.target}(id)")
            elif relation.single:
                columns.append(f"{relation.name} {'INTEGER' if relation.numeric else 'TEXT'} NOT NULL")
        made.append(f"CREATE TABLE {kind} ({', '.join(columns)})")
        for relation in relations(kind).values():
            if not relation.single:
                extra = ", since INTEGER NOT NULL, until INTEGER" if relation.type == "terms" else ""
                made.append(
                    f"CREATE TABLE {link_table(relation)} ({kind}_id INTEGER NOT NULL REFERENCES {kind}(id), "
                    f"position INTEGER NOT NULL, {relation.target}_id INTEGER NOT NULL REFERENCES "
                    f"{relation.target}(id){extra}, PRIMARY KEY ({kind}_id, position))"
                )
    made.append(
        f"CREATE TABLE {HISTORY} (kind TEXT NOT NULL, subject_id INTEGER NOT NULL, relation TEXT NOT NULL, "
        "year INTEGER NOT NULL, value NOT NULL, PRIMARY KEY (kind, subject_id, relation, year))"
    )
    return made


def _key(value: Any) -> Any:
    return value.number if isinstance(value, Entity) else value


def rows(population: Population) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of every table, in order."""
    tables: dict[str, list[tuple[Any, ...]]] = {}
    history = []
    for entity in population.entities:
        single = [_key(entity.values[r.name]) for r in entity.relations() if r.single]
        tables.setdefault(entity.kind, []).append((entity.number, entity.name, entity.alias, entity.noun, *single))
        for relation in entity.relations():
            if not relation.single:
                into = tables.setdefault(link_table(relation), [])
                for position, item in enumerate(entity.values[relation.name], 1):
                    more = (_key(item),) if relation.type == "list" else (_key(item[0]), item[1], item[2])
                    into.append((entity.number, position, *more))
        for name, older in entity.older.items():
            history += [(entity.kind, entity.number, name, year, _key(value)) for year, value in older]
    tables[HISTORY] = history
    return tables


def fill(connection: sqlite3.Connection, population: Population) -> None:
    """Write all tables into an empty database."""
    with connection:
        for statement in _statements():
            connection.execute(statement)
        for table, found in rows(population).items():
            if found:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(found[0]))})", found)
