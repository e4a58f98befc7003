"""SQL that answers a question: paths through the tables of a fictional world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentworld_envs.domains.search.fiction.database import column, link_table
from agentworld_envs.domains.search.fiction.population import Entity
from agentworld_envs.domains.search.fiction.relations import Relation


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Path:
    """Joined tables from a row that is known to another one; `last` is the alias of that one."""

    tables: str
    where: str
    last: str
    depth: int

    @classmethod
    def named(cls, entity: Entity, prefix: str = "t") -> Path:
        """From the row of a name."""
        return cls(f"{entity.kind} {prefix}0", f"{prefix}0.name = {quoted(entity.name)}", f"{prefix}0", 0)

    @classmethod
    def described(cls, kind: str, where: Sequence[tuple[Relation, str | int]], prefix: str = "t") -> Path:
        """From the only row with some values."""
        tests = []
        for relation, value in where:
            if relation.type == "entity":
                test = f"(SELECT id FROM {relation.target} WHERE name = {quoted(str(value))})"
            else:
                test = str(value) if isinstance(value, int) else quoted(value)
            tests.append(f"{prefix}0.{column(relation)} = {test}")
        return cls(f"{kind} {prefix}0", " AND ".join(tests), f"{prefix}0", 0)

    def follow(self, relation: Relation) -> Path:
        """On to the entity that a relation points to."""
        depth = self.depth + 1
        alias = self.last[0] + str(depth)
        join = f" JOIN {relation.target} {alias} ON {alias}.id = {self.last}.{column(relation)}"
        return Path(self.tables + join, self.where, alias, depth)

    def members(self, relation: Relation) -> Path:
        """On to all that a list or the terms of an office name; the alias of the link is `link`."""
        depth = self.depth + 1
        alias = self.last[0] + str(depth)
        join = (
            f" JOIN {link_table(relation)} link ON link.{relation.kind}_id = {self.last}.id"
            f" JOIN {relation.target} {alias} ON {alias}.id = link.{relation.target}_id"
        )
        return Path(self.tables + join, self.where, alias, depth)

    def select(self, what: str, more: str = "") -> str:
        """The query for an expression, in which `{last}` is the row at the end."""
        return (
            f"SELECT {what.format(last=self.last)} FROM {self.tables} WHERE {self.where}{more.format(last=self.last)}"
        )

    def value(self, relation: Relation) -> str:
        """The query for a single value of a relation: a name or a literal."""
        if relation.type == "entity":
            return self.follow(relation).select("{last}.name")
        return self.select("{last}." + relation.name)
