"""The slice of a world's database that one page tells, and statements that the database contradicts."""

from __future__ import annotations

import itertools
import re
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.places import Place

if TYPE_CHECKING:
    from agentworld_envs.domains.search.fiction.facts import Fact
    from agentworld_envs.domains.search.fiction.population import Entity, Population
    from agentworld_envs.domains.search.fiction.relations import Relation

MOST_WRONG = 20
"""Statements that are reported of one text."""
MOST_STATEMENTS = 500
"""Statements that are looked at in one text. A page of a fictional world has some fifty."""
MOST_READ = 1_000_000
"""Characters that are read for the entities of one text together; what it names later is not looked at. On pages of
fictional worlds it is some 10,000."""
_OF_ENTITY = 500
"""Characters that an entity counts at least."""
_WORD = re.compile(r"\w+")


def slice_of(place: Place, page: Page) -> list[str]:
    """The rows of the database that a page of a fictional world tells, a line each: `NAME | COLUMN | VALUE`, with the
    year where a value is only of that year. Over a user's corpus there is no database: nothing.
    """
    if place.fiction is None:
        return []
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
    known = _known(population)
    looked_at = read = 0
    for entity, excerpt in known.named(text):
        read += len(excerpt) + _OF_ENTITY
        if read > MOST_READ:
            break
        for relation in entity.relations():
            for value, year in dict.fromkeys(reading.statements(excerpt, entity.name, relation)):
                right = _wrong(known, entity, relation, value, year)
                if right is not None:
                    when = "" if year is None else f" (as of {year})"
                    label = relation.label.lower()
                    found.append(f"{entity.name}, {label}{when}: {_shown(value)} is stated, and it is {_shown(right)}")
                looked_at += 1
                if len(found) >= MOST_WRONG or looked_at >= MOST_STATEMENTS:
                    return found
    return found


class _Known:
    """The entities of a world by what they are called."""

    def __init__(self, population: Population) -> None:
        self.by_name = population.by_name
        self.by_alias: dict[str, str] = {}
        self._by_words: dict[str, list[Entity]] = {}
        for entity in population.entities:
            if entity.alias:
                self.by_alias.setdefault(entity.alias, entity.name)
            self._by_words.setdefault(" ".join(_WORD.findall(entity.name)[:2]), []).append(entity)

    def named(self, text: str) -> Iterator[tuple[Entity, str]]:
        """The entities that a text names, the first one first, each with the lines that could state something of it:
        those that have its name, the heads of their tables, and the infobox that is its own."""
        from agentworld_envs.domains.search.fiction.layouts import NAME
        from agentworld_envs.domains.search.fiction.reading import subject

        lines = text.split("\n")
        kept: dict[Entity, dict[int, None]] = {}
        head: int | None = None
        for number, line in enumerate(lines):
            if line.startswith(f"| {NAME} | "):
                head = number
            for entity in self._in(line):
                numbers = kept.setdefault(entity, {})
                if head is not None and line.startswith("| "):
                    numbers[head] = None
                numbers[number] = None
        owner = self.by_name.get(subject(text) or "")
        for entity, numbers in kept.items():
            yield entity, text if entity is owner else "\n".join([lines[number] for number in numbers])

    def _in(self, line: str) -> Iterator[Entity]:
        words = _WORD.findall(line)
        pairs = (f"{first} {second}" for first, second in itertools.pairwise(words))
        for key in dict.fromkeys((*words, *pairs)):
            for entity in self._by_words.get(key, ()):
                if entity.name in line:
                    yield entity


_KNOWN: weakref.WeakKeyDictionary[Population, _Known] = weakref.WeakKeyDictionary()


def _known(population: Population) -> _Known:
    """Made once for each world that is in memory."""
    found = _KNOWN.get(population)
    if found is None:
        found = _KNOWN[population] = _Known(population)
    return found


def _wrong(known: _Known, entity: Entity, relation: Relation, value: Any, year: int | None) -> Any:
    """The right value where a statement is certainly wrong, else `None`."""
    from agentworld_envs.domains.search.fiction.facts import plain
    from agentworld_envs.domains.search.fiction.population import NOW

    older = dict(entity.older.get(relation.name, ()))
    if year is not None and year != NOW and year not in older:
        return None
    now = plain(entity.values[relation.name])
    right = now if year in (None, NOW) else plain(older[year])
    if relation.type in ("list", "terms"):
        members = set(map(tuple, right)) if relation.type == "terms" else set(right)
        named = {item[0] if relation.type == "terms" else item for item in value}
        strange = [item for item in value if item not in members]
        return right if strange and all(name in known.by_name for name in named) else None
    if relation.type == "entity":
        value = value if value in known.by_name else known.by_alias.get(value)
    if value is None or value == right:
        return None
    # What does not change may be right under any year.
    return right if relation.volatile or value != now else None


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_shown(item) for item in value)
    return str(value)
