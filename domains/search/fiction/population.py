"""`Population`: who and what there is in a fictional world, and how it hangs together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.names import Names
from agentworld_envs.domains.search.fiction.relations import Relation, relations
from agentworld_envs.interface.errors import ConfigError

KINDS = ("region", "town", "person", "organisation", "work", "event", "product")
NOW = 2051
"""The year in which every world is told of: undated statements hold in it."""
CENSUS = (2031, 2041)
"""Years of which older values are on record. No other fact is of such a year, so none can be guessed from them."""
GROUP_LISTS = {"festival": "programme", "fair": "exhibits", "expedition": "route"}
"""What events of each sort list."""

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"region": 2, "town": 6, "person": 10, "organisation": 3, "work": 6, "event": 3, "product": 6},
    "small": {"region": 4, "town": 14, "person": 40, "organisation": 12, "work": 22, "event": 11, "product": 15},
}
SIZES["medium"] = {kind: 10 * count for kind, count in SIZES["small"].items()}
SIZES["large"] = {kind: 100 * count for kind, count in SIZES["small"].items()}
_DATED = ("year", "date")
_NEAR = 0.12
"""Share of names that differ by one letter from another name."""
_ALIASED = 0.06
_AGED, _WRONG = 0.5, 0.06
"""Shares of changing and of fixed values that older pages give differently."""
_GROUP = (5, 12)
"""Fewest and most people of a group; of other things there are at most `_FEW`."""
_FEW = 8


@dataclass(eq=False, slots=True, repr=False)
class Entity:
    """One thing of a fictional world."""

    kind: str
    number: int
    """Its key in the database; from 1."""
    name: str
    noun: str
    """What it is: `institute`."""
    alias: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    """Relation -> date (ISO 8601), number, text, `Entity`, list of them, or (`Entity`, since, until) terms."""
    older: dict[str, list[tuple[int, Any]]] = field(default_factory=dict)
    """Relation -> (year, value) that are no longer right, or never were."""

    def __repr__(self) -> str:
        # The values lead to others, and these to all the world.
        return f"<{self.kind} {self.number}: {self.name}>"

    def relations(self) -> list[Relation]:
        """Those it has a value for, in order."""
        return [relation for name, relation in relations(self.kind).items() if name in self.values]


class Population:
    """All entities of a world, by kind. The same for the same seed and size."""

    def __init__(self, seed: int, size: str) -> None:
        if size not in SIZES:
            raise ConfigError(f"expected a size of fictional world out of {sorted(SIZES)}, got {size!r}")
        counts = SIZES[size]
        self._draw = draw = Draw("fiction", "population", size, seed)
        names = Names(draw, counts["person"])
        self.host = names.host()
        self.by_kind = {kind: self._named(kind, counts[kind], names) for kind in KINDS}
        self.entities = [entity for kind in KINDS for entity in self.by_kind[kind]]
        self._mentions: set[tuple[Entity, Entity]] = set()
        for entity in self.entities:
            self._fill(entity)
        self.by_name = {entity.name: entity for entity in self.entities}

    def _named(self, kind: str, count: int, names: Names) -> list[Entity]:
        draw, found = self._draw, list[Entity]()
        for number in range(1, count + 1):
            like = draw.pick(found) if found and draw.chance(_NEAR) else None
            near = names.near(like.name) if like is not None else None
            if like is not None and near is not None:
                entity = Entity(kind, number, near, like.noun)
            else:
                entity = Entity(kind, number, *names.give(kind))
            if draw.chance(_ALIASED):
                entity.alias = names.alias(kind)
            found.append(entity)
        return found

    def _fill(self, entity: Entity) -> None:
        for relation in relations(entity.kind).values():
            if relation.type == "list" and entity.kind == "event" and GROUP_LISTS[entity.noun] != relation.name:
                continue
            entity.values[relation.name] = self._value(entity, relation)
            if relation.single and self._draw.chance(_AGED if relation.volatile else _WRONG):
                self._age(entity, relation)

    def _age(self, entity: Entity, relation: Relation) -> None:
        """Older values of a relation: what changed with time, or what a register once had wrong."""
        draw, years = self._draw, CENSUS if relation.volatile and self._draw.chance(0.5) else (CENSUS[1],)
        now = entity.values[relation.name]
        began = max((_year(entity.values[r.name]) for r in entity.relations() if r.type in _DATED), default=0)
        past = []
        for year in years:
            if relation.volatile and relation.type == "number":
                value = max(relation.low, now * draw.between(55, 93) // 100) + draw.below(17)
            else:
                value = self._value(entity, relation, mention=False)
            # No register tells of what was still to come.
            if value != now and began < year and (relation.type not in _DATED or _year(value) < year):
                past.append((year, value))
        if past:
            entity.older[relation.name] = past

    def _value(self, entity: Entity, relation: Relation, mention: bool = True) -> Any:
        draw = self._draw
        if relation.type == "text":
            return draw.pick(relation.pool)
        if relation.type in ("number", "year"):
            value = draw.between(relation.low, relation.high)
            return value + (relation.type == "year" and value in CENSUS)
        if relation.type == "date":
            year = draw.between(relation.low, relation.high)
            year += year in CENSUS
            return f"{year}-{draw.between(1, 12):02d}-{draw.between(1, 28):02d}"
        if relation.type == "entity":
            return self._others(entity, relation.target, 1, mention)[0]
        if relation.type == "list":
            most = _GROUP[1] if relation.target == "person" else _FEW
            return self._others(entity, relation.target, draw.between(_GROUP[0], most), mention)
        return self._terms(entity, relation)

    def _terms(self, entity: Entity, relation: Relation) -> list[tuple[Entity, int, int | None]]:
        draw = self._draw
        since = draw.between(2006, 2012)
        holders = self._others(entity, relation.target, draw.between(3, 4), True)
        terms: list[tuple[Entity, int, int | None]] = []
        for index, holder in enumerate(holders):
            until = since + draw.between(4, 10)
            until += until in CENSUS
            terms.append((holder, since, None if index == len(holders) - 1 else until))
            since = until
        return terms

    def _others(self, entity: Entity, kind: str, count: int, mention: bool) -> list[Entity]:
        """Different entities of a kind whose own page does not speak of this one.

        So no search for a name finds, by its title, what the name's own page tells.
        """
        draw, pool = self._draw, self.by_kind[kind]
        known = self._mentions

        def fit(some: list[Entity]) -> list[Entity]:
            return [other for other in some if other is not entity and (other, entity) not in known][:count]

        found = fit(draw.sample(pool, count + 3))
        if len(found) < count:
            found = fit(draw.shuffled(pool))
        if len(found) < count:  # only where there are hardly any
            found += [other for other in pool if other is not entity and other not in found][: count - len(found)]
        if mention:
            self._mentions.update((entity, other) for other in found)
        return found


def _year(value: int | str) -> int:
    return value if isinstance(value, int) else int(value[:4])
