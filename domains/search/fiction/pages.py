"""`write`: the pages of a fictional world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentworld_envs.domains.search.fiction import layouts, lexicon
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.facts import Fact, current, past
from agentworld_envs.domains.search.fiction.population import KINDS, NOW, Entity, Population
from agentworld_envs.domains.search.pages import Page

_NOTES = (
    ("courier", "Courier notes"),
    ("chronicle", "Pages of a chronicle"),
    ("letters", "Letters to a friend"),
    ("gazette", "Gazette, second leaf"),
)
_TALKS = (("radio", "Radio questions"), ("readers", "Readers ask"), ("quiz", "Evening of questions"))
_REGISTERS = (("register", "Register"), ("yearbook", "Yearbook table"), ("directory", "Directory"))
HEADINGS = tuple(heading for _, heading in (*_NOTES, *_TALKS, *_REGISTERS))
"""How the titles of restatements begin."""
_SHARE = 0.6
_TABLE_ROWS = 8
_TABLE_COLUMNS = 3


def main_url(host: str, entity: Entity) -> str:
    """Where the main page of an entity is, in canonical form."""
    return f"https://encyclopedia.{host}.example/{entity.kind}/{slug(entity.name)}"


def slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


class Writer:
    """Writes the pages of one population, in a fixed order."""

    def __init__(self, population: Population, seed: int, size: str) -> None:
        self._population = population
        self._draw = Draw("fiction", "pages", size, seed)
        self._facts = {entity: current(entity) for entity in population.entities}
        self._leaf = 0
        self._leaves = self._draw.shuffled([(first, second) for first in lexicon.LEAVES for second in lexicon.BIRDS])
        self.pages: tuple[Page, ...] = tuple(self._all())

    def _all(self) -> Iterator[Page]:
        for entity in self._population.entities:
            yield self._main(entity)
        for kind in KINDS:
            yield from self._tables(kind)
        yield from self._accounts()
        yield from self._archives()

    def _date(self, first: int = NOW - 3, last: int = NOW) -> str:
        draw = self._draw
        return f"{draw.between(first, last)}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"

    def _main(self, entity: Entity) -> Page:
        facts = self._facts[entity]
        text = layouts.entry(entity, facts, self._draw)
        return Page(
            id=f"{entity.kind}/{entity.number}",
            url=main_url(self._population.host, entity),
            title=entity.name,
            text=text,
            date=self._date(NOW, NOW),
            withheld=_withheld(facts),
        )

    def _restated(self, host: str, heading: str, facts: Sequence[Fact], text: str, date: str) -> Page:
        number, self._leaf = self._leaf, self._leaf + 1
        first, second = self._leaves[number % len(self._leaves)]
        words = [first, second]
        # Beyond the pairs of words there are threes.
        while number >= len(self._leaves):
            number = number // len(self._leaves) - 1
            words.append(lexicon.BIRDS[number % len(lexicon.BIRDS)])
        return Page(
            id=f"{host}/{'-'.join(words)}",
            url=f"https://{host}.{self._population.host}.example/{'-'.join(words)}",
            title=f"{heading}: {' '.join(words)}",
            text=text,
            date=date,
            # Nor whom it is about: several are, and one of them may be what somebody is looking for.
            withheld=_withheld(facts, *dict.fromkeys(fact.entity.name for fact in facts)),
        )

    def _tables(self, kind: str) -> Iterator[Page]:
        """Everything single about the things of a kind, a few columns of a few rows to a page."""
        draw = self._draw
        names = [fact.relation.name for fact in self._facts[self._population.by_kind[kind][0]] if fact.relation.single]
        for chunk in _chunks(draw.shuffled(self._population.by_kind[kind]), _TABLE_ROWS):
            for columns in _chunks(draw.shuffled(names), _TABLE_COLUMNS):
                rows = [[fact for fact in self._facts[entity] if fact.relation.name in columns] for entity in chunk]
                facts = [fact for row in rows for fact in row]
                host, heading = draw.pick(_REGISTERS)
                text = (layouts.table if draw.chance(0.6) else layouts.listing)(rows, draw)
                yield self._restated(host, heading, facts, text, self._date())

    def _accounts(self) -> Iterator[Page]:
        """Every fact once more or twice: in prose, or in an interview."""
        draw = self._draw
        notes: list[list[Fact]] = []
        talks: list[list[Fact]] = []
        for entity in draw.shuffled(self._population.entities):
            facts = draw.shuffled(self._facts[entity])
            cut = int(len(facts) * _SHARE)
            several = [fact for fact in facts if not fact.relation.single]
            notes.append([*facts[:cut], *(fact for fact in facts[cut:] if fact in several)])
            talks.append([*facts[cut:], *(fact for fact in facts[:cut] if fact in several)])
        for sections, kinds, size in ((notes, _NOTES, 3), (draw.shuffled(talks), _TALKS, 3)):
            for chunk in _chunks(sections, size):
                facts = [fact for section in chunk for fact in section]
                host, heading = draw.pick(kinds)
                text = (layouts.interview if kinds is _TALKS else layouts.notes)(chunk, draw)
                yield self._restated(host, heading, facts, text, self._date())

    def _archives(self) -> Iterator[Page]:
        """What no longer holds or never did, by the year in which it was written."""
        draw = self._draw
        by_year: dict[int, list[Fact]] = {}
        for entity in draw.shuffled(self._population.entities):
            for fact in past(entity):
                by_year.setdefault(fact.year or 0, []).append(fact)
        for year, facts in sorted(by_year.items()):
            for chunk in _chunks(facts, 6):
                text = layouts.notes([[fact] for fact in chunk], draw)
                yield self._restated("archive", "From the archive", chunk, text, self._date(year, year))


def _withheld(facts: Sequence[Fact], *names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(text for fact in facts for text in fact.withheld), *names)))


def _chunks(items: Sequence[object], size: int) -> Iterator[list]:  # type: ignore[type-arg]
    """The items in runs of a size; a short rest joins the run before it."""
    count = max(1, len(items) // size)
    for index in range(count):
        yield list(items[index * size : (index + 1) * size if index < count - 1 else None])
