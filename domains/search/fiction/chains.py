"""Questions with one fact after the other: a value, chains of relations, comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.domains.search.fiction import values
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.facts import plain
from agentworld_envs.domains.search.fiction.population import Entity, Population
from agentworld_envs.domains.search.fiction.questions import Draft, NoQuestion, Step
from agentworld_envs.domains.search.fiction.relations import Relation, relations
from agentworld_envs.domains.search.fiction.sql import Path, quoted

_CALLED = {"person": "person", "work": "book"}
"""What things are called that are described, where that is not what they are."""


class Walk:
    """A way from a known entity over relations to another one, as words, as SQL and as steps."""

    def __init__(self, start: Entity) -> None:
        self.seen = [start]
        self.phrase = start.name
        self.path = Path.named(start)
        self.steps: list[Step] = [{"op": "name", "name": start.name}]
        self.hops = 0
        self.told: Sequence[Relation] = ()

    @property
    def here(self) -> Entity:
        return self.seen[-1]

    def describe(self, where: Sequence[Relation]) -> None:
        """Start from a description in place of a name."""
        start, self.told = self.here, where
        found = [(relation, plain(start.values[relation.name])) for relation in where]
        told = [relation.clause.replace("{o}", values.written(relation, value)) for relation, value in found]
        self.phrase = f"the {_CALLED.get(start.kind, start.noun)} {' and '.join(told)}"
        self.path = Path.described(start.kind, found)
        self.steps = [
            {
                "op": "find",
                "kind": start.kind,
                "where": [[relation.name, values.written(relation, value)] for relation, value in found],
            }
        ]
        self.hops += 1

    def rename(self) -> None:
        """Start from the other name."""
        start = self.here
        if not start.alias:
            raise NoQuestion
        self.phrase = start.alias
        self.path = Path(self.path.tables, f"{self.path.last}.alias = {quoted(start.alias)}", self.path.last, 0)
        self.steps = [{"op": "alias", "name": start.alias}]
        self.hops += 1

    def follow(self, relation: Relation) -> None:
        after = self.here.values[relation.name]
        if after in self.seen or (relation in self.told and len(self.seen) == 1):
            raise NoQuestion
        self.phrase = relation.noun.replace("{x}", self.phrase)
        self.path = self.path.follow(relation)
        self.step({"op": "follow", "relation": relation.name})
        self.seen.append(after)
        self.hops += 1

    def step(self, step: Step) -> int:
        """Add a step for the entity reached last; its index is returned."""
        self.steps.append({**step, "of": len(self.steps) - 1, "kind": self.here.kind})
        return len(self.steps) - 1

    def wander(self, draw: Draw, hops: int) -> None:
        for _ in range(hops):
            self.follow(draw.pick([r for r in self.here.relations() if r.type == "entity"]))


def _last(walk: Walk, relation: Relation, kind: str) -> Draft:
    if relation.type == "entity" and walk.here.values[relation.name] in walk.seen:
        raise NoQuestion
    walk.step({"op": "follow", "relation": relation.name})
    return Draft(
        relation.ask.replace("{x}", walk.phrase),
        kind,
        walk.hops + 1,
        walk.path.value(relation),
        walk.steps,
        walk.seen,
        [walk.here],
        "single",
        [relation if relation.literal else relation.target],
    )


def attribute(population: Population, draw: Draw) -> Draft:
    """A date, number or text of a named entity."""
    walk = Walk(draw.pick(population.entities))
    return _last(walk, draw.pick([r for r in walk.here.relations() if r.literal]), "attribute")


def relation(population: Population, draw: Draw) -> Draft:
    """The entity that another one is related to."""
    walk = Walk(draw.pick(population.entities))
    return _last(walk, draw.pick([r for r in walk.here.relations() if r.type == "entity"]), "relation")


def chain(population: Population, draw: Draw, hops: int) -> Draft:
    """`hops` facts in a row; the last one is a value or an entity."""
    walk = Walk(draw.pick(population.entities))
    walk.wander(draw, hops - 1)
    return _last(walk, draw.pick([r for r in walk.here.relations() if r.single]), "chain")


def described(population: Population, draw: Draw, hops: int) -> Draft:
    """A chain whose start is described by two values and not named."""
    start = draw.pick([entity for entity in population.entities if entity.kind != "region"])
    clauses = [r for r in start.relations() if r.clause]
    exact = [r for r in clauses if r.type in ("date", "number")]
    loose = [r for r in clauses if r.type == "entity"]
    if not exact or not loose:
        raise NoQuestion
    walk = Walk(start)
    told = (draw.pick(exact), draw.pick(loose))
    walk.describe(told)
    walk.wander(draw, hops - 2)
    draft = _last(walk, draw.pick([r for r in walk.here.relations() if r.single and r not in told]), "described")
    draft.told = " ".join(values.written(r, plain(start.values[r.name])) for r in told)
    draft.names += [start.values[r.name] for r in told if r.type == "entity"]
    return draft


def aliased(population: Population, draw: Draw, hops: int) -> Draft:
    """A chain whose start goes by its other name; to find out whose that is counts as a hop."""
    walk = Walk(draw.pick([entity for entity in population.entities if entity.alias] or population.entities))
    walk.rename()
    walk.wander(draw, hops - 2)
    return _last(walk, draw.pick([r for r in walk.here.relations() if r.single]), "alias")


def comparison(population: Population, draw: Draw) -> Draft:
    """By how much two entities of a kind differ: nobody guesses that, as one would guess which is the greater."""
    kind = draw.pick(list(population.by_kind))
    first, second = draw.sample(population.by_kind[kind], 2)
    measures = [r for r in relations(kind).values() if r.numeric]
    if not measures:
        raise NoQuestion
    by = draw.pick(measures)
    one, other = by.noun.replace("{x}", first.name), by.noun.replace("{x}", second.name)
    text = (
        f"How many years lie between {one} and {other}?"
        if by.type == "year"
        else f"What is the difference between {one} and {other}?"
    )
    steps: list[Step] = []
    for entity in (first, second):
        steps.append({"op": "name", "name": entity.name})
        steps.append({"op": "follow", "of": len(steps) - 1, "kind": kind, "relation": by.name})
    steps.append({"op": "difference", "of": [1, 3]})
    sql = f"SELECT ABS(({Path.named(first).value(by)}) - ({Path.named(second, 'u').value(by)}))"
    draft = Draft(text, "comparison", 2, sql, steps, [first, second], [first, second], "single", ["count"])
    draft.unit = by.unit or "years"
    return draft
