"""Questions about groups that a page lists: counts, sums, extremes, lists and tables."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.domains.search.fiction.chains import Walk
from agentworld_envs.domains.search.fiction.draw import Draw
from agentworld_envs.domains.search.fiction.population import Entity, Population
from agentworld_envs.domains.search.fiction.questions import Draft, NoQuestion, Step
from agentworld_envs.domains.search.fiction.relations import Relation, relations
from agentworld_envs.domains.search.fiction.sql import Path, quoted

LEAST = 5
"""Members of the smallest group that is asked about: of fewer, one is too easily guessed."""
_MANY = {"person": "people", "work": "works", "product": "products", "town": "towns"}


class Group:
    """The members that a list relation of some owner names."""

    def __init__(self, population: Population, draw: Draw) -> None:
        self.walk = Walk(draw.pick(population.entities))
        ways = [r for r in self.walk.here.relations() if r.type == "entity" and r.target == "organisation"]
        if not self._lists() or draw.chance(0.3):
            if not ways:
                raise NoQuestion
            self.walk.follow(draw.pick(ways))
        self.relation = draw.pick(self._lists())
        self.members: list[Entity] = self.walk.here.values[self.relation.name]
        if len(self.members) < LEAST:
            raise NoQuestion
        self.phrase = self.relation.plural.replace("{x}", self.walk.phrase)
        self.path = self.walk.path.members(self.relation)
        self.step = self.walk.step({"op": "follow", "relation": self.relation.name})

    def _lists(self) -> list[Relation]:
        return [r for r in self.walk.here.relations() if r.type == "list"]

    def measures(self) -> list[Relation]:
        """What can be compared between the members."""
        return [r for r in relations(self.relation.target).values() if r.most]

    def each(self, relation: Relation) -> int:
        """Add the step that looks up a relation of every member."""
        self.walk.steps.append({"op": "each", "of": self.step, "kind": relation.kind, "relation": relation.name})
        return len(self.walk.steps) - 1

    def draft(self, text: str, kind: str, sql: str, shape: str, types: Sequence[Relation | str]) -> Draft:
        sources = self.members if kind != "list" or len(self.walk.steps) > self.step + 1 else [self.walk.here]
        return Draft(text, kind, self.walk.hops + 2, sql, self.walk.steps, self.walk.seen, sources, shape, list(types))


def count(population: Population, draw: Draw) -> Draft:
    """How many there are in three groups together, each counted once, and a number of one of the owners.

    The sum of three small groups alone is too easily guessed.
    """
    relation = draw.pick(
        [r for kind in ("organisation", "event") for r in relations(kind).values() if r.type == "list"]
    )
    owners = draw.sample([e for e in population.by_kind[relation.kind] if relation.name in e.values], 3)
    if len(owners) < 3:
        raise NoQuestion
    groups = [relation.plural.replace("{x}", owner.name) for owner in owners]
    steps: list[Step] = []
    for owner in owners:
        steps.append({"op": "name", "name": owner.name})
        steps.append({"op": "follow", "of": len(steps) - 1, "kind": owner.kind, "relation": relation.name})
    steps.append({"op": "count", "of": [1, 3, 5]})
    also = draw.pick([r for r in owners[0].relations() if r.type in ("year", "number", "date") and not r.volatile])
    steps.append({"op": "follow", "of": 0, "kind": relation.kind, "relation": also.name})
    steps.append({"op": "both", "of": [6, 7]})
    names = ", ".join(quoted(owner.name) for owner in owners)
    path = Path(f"{relation.kind} t0", f"t0.name IN ({names})", "t0", 0).members(relation)
    sql = f"SELECT ({path.select('COUNT(DISTINCT {last}.id)')}), ({Path.named(owners[0], 'u').value(also)})"
    many = f"{groups[0]}, {groups[1]} and {groups[2]}"
    ask = also.ask[0].lower() + also.ask[1:].replace("{x}", owners[0].name)
    text = f"How many different {_MANY[relation.target]} are there in all among {many}, and {ask} Give both."
    draft = Draft(text, "count", 4, sql, steps, owners, owners, "both", ["count", also])
    draft.unit = _MANY[relation.target]
    return draft


def total(population: Population, draw: Draw) -> Draft:
    """The sum of a number over a group."""
    group = Group(population, draw)
    by = draw.pick([r for r in group.measures() if r.type == "number"])
    group.walk.steps.append({"op": "sum", "of": group.each(by)})
    each = by.noun.replace("{x}", f"each of {group.phrase}")
    sql = group.path.select(f"SUM({{last}}.{by.name})")
    draft = group.draft(f"Take {each} and add them up: what is the total?", "sum", sql, "single", ["number"])
    draft.unit = by.unit
    return draft


def extreme(population: Population, draw: Draw) -> Draft:
    """Which of a group has most or least of something."""
    group = Group(population, draw)
    by, which = draw.pick(group.measures()), draw.pick(("max", "min"))
    group.walk.steps.append({"op": "extreme", "of": group.step, "by": group.each(by), "which": which})
    best = group.path.select(f"{which.upper()}({{last}}.{by.name})")
    # The tables of the inner query hide those of the outer one that have the same names.
    sql = group.path.select("{last}.name", f" AND {{last}}.{by.name} = ({best})")
    text = f"Which of {group.phrase} {by.most if which == 'max' else by.least}?"
    return group.draft(text, "extreme", sql, "single", [group.relation.target])


def listed(population: Population, draw: Draw) -> Draft:
    """All members of a group, or those beyond a mark."""
    group = Group(population, draw)
    target = group.relation.target
    if group.walk.hops and draw.chance(0.4):
        text = group.relation.ask.replace("{x}", group.walk.phrase)
        return group.draft(text, "list", group.path.select("{last}.name"), "list", [target])
    by = draw.pick([r for r in group.measures() if r.beyond])
    marks = sorted(_mark(member.values[by.name]) for member in group.members)
    cut = draw.between(1, len(marks) - 3)
    low, high = marks[cut - 1], marks[cut]
    if low == high:
        raise NoQuestion
    mark = (low + high) // 2
    group.walk.steps.append({"op": "beyond", "of": group.step, "by": group.each(by), "than": mark})
    test = f" AND {{last}}.{by.name} > " + (f"'{mark}-12-31'" if by.type == "date" else str(mark))
    shown = f"{mark:,}" if by.type == "number" else str(mark)
    text = f"Which of {group.phrase} {by.beyond.replace('{o}', shown)}? Name all of them."
    return group.draft(text, "list", group.path.select("{last}.name", test), "list", [target])


def _mark(value: int | str) -> int:
    return value if isinstance(value, int) else int(value[:4])


def table(population: Population, draw: Draw) -> Draft:
    """Two values for every member of a group (WideSearch asks for such tables)."""
    group = Group(population, draw)
    target = group.relation.target
    columns = draw.sample([r for r in relations(target).values() if r.single], 2)
    steps = [group.each(relation) for relation in columns]
    group.walk.steps.append({"op": "table", "of": group.step, "columns": steps})
    cells = ", ".join(
        f"(SELECT name FROM {r.target} WHERE id = {{last}}.{r.name}_id)" if r.type == "entity" else f"{{last}}.{r.name}"
        for r in columns
    )
    heads = [relation.label.lower() for relation in columns]
    text = f"Make a table of {group.phrase}. Columns: name, {heads[0]}, {heads[1]}."
    types = [target, *(relation if relation.literal else relation.target for relation in columns)]
    draft = group.draft(text, "table", group.path.select("{last}.name, " + cells), "table", types)
    draft.columns = ["name", *heads]
    group.walk.steps[-1]["heads"] = draft.columns
    return draft
