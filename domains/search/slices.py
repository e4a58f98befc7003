"""The slice of a world's database that one page tells, and statements that the database contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentworld_envs.domains.search.library import Place
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.rendering import one_line

if TYPE_CHECKING:
    from agentworld_envs.domains.search.fiction.facts import Fact
    from agentworld_envs.domains.search.fiction.population import Entity, Population
    from agentworld_envs.domains.search.fiction.relations import Relation

MOST_WRONG = 20
"""Statements that are reported of one text."""


def slice_of(place: Place, page: Page) -> list[str]:
    """What belongs on a page, a line each.

    In a fictional world these are the rows of the database that the page tells: `NAME | COLUMN | VALUE`, with the year
    where a value is only of that year. Over a user's corpus there is no database, and these are the page's own lines.
    """
    if place.fiction is None:
        return [one_line(line) for line in page.text.splitlines() if line.strip()]
    population = place.fiction.population
    main = population.by_name.get(page.title)
    if main is None:
        subjects = [population.by_name[name] for name in page.withheld if name in population.by_name]
        return [_row(fact) for entity in dict.fromkeys(subjects) for fact in _told(entity, page.text)]
    lines = [f"{main.name} | is | {main.noun}"]
    if main.alias:
        lines.append(f"{main.name} | also known as | {main.alias}")
    return lines + [_row(fact) for fact in _told(main, page.text)]


def _row(fact: Fact) -> str:
    when = "" if fact.year is None else f" (as of {fact.year})"
    return f"{fact.entity.name} | {fact.relation.label.lower()}{when} | {fact.text}"


def _told(entity: Entity, text: str) -> Iterator[Fact]:
    """The facts of an entity that a text states, old and wrong ones included."""
    from agentworld_envs.domains.search.fiction import reading, values
    from agentworld_envs.domains.search.fiction.facts import current, past

    for fact in (*current(entity), *past(entity)):
        if (values.read(fact.relation, fact.text), fact.year) in reading.statements(text, entity.name, fact.relation):
            yield fact


def wrong_statements(place: Place, text: str) -> list[str]:
    """What a text states, in wordings of the world's pages, that its database says otherwise; a line each.

    Only what is certain: a value of another year than the database knows may be right, a value in free words may mean
    the right thing, and a list may be a part of the whole one. Nothing over a user's corpus.
    """
    if place.fiction is None:
        return []
    from agentworld_envs.domains.search.fiction import reading

    population, found = place.fiction.population, []
    for entity in population.entities:
        if entity.name not in text:
            continue
        for relation in entity.relations():
            for value, year in dict.fromkeys(reading.statements(text, entity.name, relation)):
                right = _wrong(population, entity, relation, value, year)
                if right is not None:
                    when = "" if year is None else f" (as of {year})"
                    label = relation.label.lower()
                    found.append(f"{entity.name}, {label}{when}: {_shown(value)} is stated, and it is {_shown(right)}")
                if len(found) >= MOST_WRONG:
                    return found
    return found


def _wrong(population: Population, entity: Entity, relation: Relation, value: Any, year: int | None) -> Any:
    """The right value where a statement is certainly wrong, else `None`."""
    from agentworld_envs.domains.search.fiction.facts import plain
    from agentworld_envs.domains.search.fiction.population import NOW

    older = dict(entity.older.get(relation.name, ()))
    if year is not None and year != NOW and year not in older:
        return None
    now = plain(entity.values[relation.name])
    right = now if year in (None, NOW) else plain(older[year])
    if relation.type in ("list", "terms"):
        known = set(map(tuple, right)) if relation.type == "terms" else set(right)
        named = {item[0] if relation.type == "terms" else item for item in value}
        strange = [item for item in value if item not in known]
        return right if strange and all(name in population.by_name for name in named) else None
    if relation.type == "entity":
        value = _meant(population, value)
    if value is None or value == right:
        return None
    # What does not change may be right under any year.
    return right if relation.volatile or value != now else None


def _meant(population: Population, name: str) -> str | None:
    """The main name of what is called so, `None` when nothing is."""
    if name in population.by_name:
        return name
    return next((entity.name for entity in population.entities if entity.alias == name), None)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(item) for item in value)
    return str(value)
