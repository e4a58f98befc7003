"""How facts are laid out on a page: encyclopaedia entry, table, list, notes and interview."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.domains.search.fiction import lexicon
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.facts import INTERVIEW, LISTED, Fact
from agentworld_envs.domains.search.fiction.population import Entity
from agentworld_envs.domains.search.fiction.relations import Relation

NAME = "Name"
"""The first row of an infobox and the first column of a table."""
ALSO = "Also known as"


def label(relation: Relation, year: int | None) -> str:
    return relation.label if year is None else f"{relation.label} (as of {year})"


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def entry(entity: Entity, facts: Sequence[Fact], draw: Draw) -> str:
    """The main page: a first sentence, an infobox with everything, prose with some of it."""
    also = f", also known as {entity.alias}," if entity.alias else ""
    first = f"{entity.name}{also} is {_article(entity.noun)}."
    box = [f"| {NAME} | {entity.name} |", "| --- | --- |"]
    if entity.alias:
        box.append(f"| {ALSO} | {entity.alias} |")
    box += [f"| {label(fact.relation, fact.year)} | {fact.text} |" for fact in facts]
    told = draw.shuffled(facts)[: max(3, len(facts) * 2 // 3)]
    lines = [fact.sentence(draw) for fact in told]
    half = (len(lines) + 1) // 2
    first_part, second_part = " ".join(lines[:half]), " ".join((*lines[half:], draw.pick(lexicon.FILLERS)))
    return "\n\n".join((first, "\n".join(box), first_part, "## Further details", second_part)) + "\n"


def table(rows: Sequence[Sequence[Fact]], draw: Draw) -> str:
    """One row for each entity, one column for each relation; every row has the same relations."""
    head = [NAME, *(label(fact.relation, fact.year) for fact in rows[0])]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join((row[0].entity.name, *(fact.text for fact in row)))} |" for row in rows]
    return "\n\n".join((draw.pick(lexicon.FILLERS), "\n".join(lines), draw.pick(lexicon.FILLERS))) + "\n"


def listing(rows: Sequence[Sequence[Fact]], draw: Draw) -> str:
    """One line for each fact."""
    parts = ["\n".join(fact.says(LISTED) for fact in row) for row in rows]
    return "\n\n".join((draw.pick(lexicon.FILLERS), *parts)) + "\n"


def notes(sections: Sequence[Sequence[Fact]], draw: Draw) -> str:
    """A paragraph of prose for each entity."""
    parts = []
    for section in sections:
        lines = [fact.sentence(draw) for fact in section]
        if draw.chance(0.5):
            lines.insert(draw.below(len(lines) + 1), draw.pick(lexicon.FILLERS))
        parts.append(" ".join(lines))
    return "\n\n".join(parts) + "\n"


def interview(sections: Sequence[Sequence[Fact]], draw: Draw) -> str:
    """A line with question and answer for each fact."""
    parts = ["\n\n".join(fact.says(INTERVIEW) for fact in section) for section in sections]
    return "\n\n".join((draw.pick(lexicon.FILLERS), *parts)) + "\n"
