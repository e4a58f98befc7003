"""Questions about who held an office, and when."""

from __future__ import annotations

from agentworld_envs.domains.search.fiction.chains import Walk
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.population import CENSUS, NOW, Entity, Population
from agentworld_envs.domains.search.fiction.questions import Draft, NoQuestion
from agentworld_envs.domains.search.fiction.relations import Relation
from agentworld_envs.domains.search.fiction.sql import Path, quoted


class Office:
    """An office of some organisation or town, and who has held it."""

    def __init__(self, population: Population, draw: Draw, hops: int) -> None:
        self.walk = Walk(draw.pick(population.entities))
        self.walk.wander(draw, hops)
        offices = [r for r in self.walk.here.relations() if r.type == "terms"]
        if not offices:
            raise NoQuestion
        self.relation: Relation = draw.pick(offices)
        self.terms: list[tuple[Entity, int, int | None]] = self.walk.here.values[self.relation.name]
        self.title = f"{self.relation.member} of {self.walk.phrase}"
        self.path = self.walk.path.members(self.relation)
        self.step = self.walk.step({"op": "follow", "relation": self.relation.name})

    def draft(self, text: str, sql: str, names: list[Entity], types: list[Relation | str]) -> Draft:
        walk = self.walk
        names = [*walk.seen, *names]
        return Draft(text, "temporal", walk.hops + 2, sql, walk.steps, names, [walk.here], "single", types)


def in_year(population: Population, draw: Draw) -> Draft:
    """Who held an office in a year that lies within one term."""
    office = Office(population, draw, draw.between(1, 2))
    _, since, until = draw.pick(office.terms)
    year = draw.between(since + 1, (until or NOW) - 1)
    if year in CENSUS:
        raise NoQuestion
    office.walk.steps.append({"op": "holder", "of": office.step, "year": year})
    sql = _holder(office, str(year))
    return office.draft(f"Who was {office.title} in {year}?", sql, [], [office.relation.target])


def at_event(population: Population, draw: Draw) -> Draft:
    """Who held an office when something else happened."""
    office = Office(population, draw, draw.between(0, 1))
    other = draw.pick([e for kind in ("work", "product", "event") for e in population.by_kind[kind]])
    by = next(r for r in other.relations() if r.type in ("year", "date"))
    value = other.values[by.name]
    year = value if isinstance(value, int) else int(value[:4])
    if not any(since < year < (until or NOW) for _, since, until in office.terms) or other in office.walk.seen:
        raise NoQuestion
    steps = office.walk.steps
    steps.append({"op": "name", "name": other.name})
    steps.append({"op": "follow", "of": len(steps) - 1, "kind": other.kind, "relation": by.name})
    steps.append({"op": "holder", "of": office.step, "year_of": len(steps) - 1})
    moment = Path.named(other, "u").select(f"CAST(SUBSTR({{last}}.{by.name}, 1, 4) AS INTEGER)")
    text = f"Who was {office.title} in the year of {by.noun.replace('{x}', other.name)}?"
    return office.draft(text, _holder(office, f"({moment})"), [other], [office.relation.target])


def successor(population: Population, draw: Draw) -> Draft:
    """Who came after somebody in an office."""
    office = Office(population, draw, draw.between(1, 2))
    index = draw.below(len(office.terms) - 1)
    before = office.terms[index][0]
    if [holder for holder, _, _ in office.terms].count(before) > 1:
        raise NoQuestion
    office.walk.steps.append({"op": "successor", "of": office.step, "name": before.name})
    link = f"{office.relation.kind}_{office.relation.name}"
    owner = f"{office.relation.kind}_id"
    position = (
        f"(SELECT l.position + 1 FROM {link} l JOIN {office.relation.target} p ON p.id = l.{office.relation.target}_id"
        f" WHERE l.{owner} = link.{owner} AND p.name = {quoted(before.name)})"
    )
    sql = office.path.select("{last}.name", f" AND link.position = {position}")
    text = f"Who directly followed {before.name} as {office.title}?"
    return office.draft(text, sql, [before], [office.relation.target])


def _holder(office: Office, year: str) -> str:
    test = f" AND link.since <= {year} AND (link.until IS NULL OR link.until > {year})"
    return office.path.select("{last}.name", test)
