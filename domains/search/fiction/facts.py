"""`Fact`: one thing that a world's pages tell, and how it is put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentworld_envs.domains.search.fiction import values
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.population import NOW, Entity
from agentworld_envs.domains.search.fiction.relations import Relation
from agentworld_envs.domains.search.fiction.template import dated, undated

INTERVIEW, LISTED = -2, -1
"""Which wording of a relation stands in an interview, and which in a list; all before them are sentences."""


def plain(value: Any) -> Any:
    """A value with names in place of entities, as `values` takes it."""
    if isinstance(value, Entity):
        return value.name
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value


@dataclass(slots=True, eq=False)
class Fact:
    """That a relation of an entity has a value, now or in a year."""

    entity: Entity
    relation: Relation
    text: str
    """The value as prose has it."""
    withheld: tuple[str, ...]
    year: int | None
    """When it holds; `None` when it does not change."""

    def says(self, form: int) -> str:
        """The fact in one of the wordings of its relation: `INTERVIEW`, `LISTED`, or the number of a sentence."""
        forms = undated(self.relation) if self.year is None else dated(self.relation)
        return forms[form].write(self.entity.name, self.text, self.year or 0)

    def sentence(self, draw: Draw) -> str:
        return self.says(draw.below(len(self.relation.says)))


def _fact(entity: Entity, relation: Relation, value: Any, year: int | None) -> Fact:
    shown = plain(value)
    return Fact(entity, relation, values.written(relation, shown), values.texts(relation, shown), year)


def current(entity: Entity) -> list[Fact]:
    """What holds of an entity; one fact for each relation, in order."""
    return [
        _fact(entity, relation, entity.values[relation.name], NOW if relation.volatile else None)
        for relation in entity.relations()
    ]


def past(entity: Entity) -> list[Fact]:
    """What is out of date or wrong about an entity, with the year of the record."""
    known = {relation.name: relation for relation in entity.relations()}
    return [_fact(entity, known[name], value, year) for name, older in entity.older.items() for year, value in older]
