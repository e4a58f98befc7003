"""`Question`: what is asked of a fictional world; `Draft`: one whose answer is not known yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentworld_envs.domains.search.fiction.population import Entity
from agentworld_envs.domains.search.fiction.relations import Relation

Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its only right answer."""

    text: str
    kind: str
    """`attribute`, `relation`, `chain`, `described`, `alias`, `comparison`, `count`, `sum`, `extreme`, `temporal`,
    `list` or `table`."""
    hops: int
    """Facts that have to be found one after the other."""
    level: int
    """1, 2 or 3."""
    sql: str
    """The query that gives the answer in the world's database."""
    answer: dict[str, Any]
    """The answer spec (see `answers`)."""
    sources: tuple[str, ...]
    """Canonical addresses of the main pages that state the last fact; it stands on two other pages at least."""
    program: tuple[Step, ...]
    """What has to be done, without any value; a step names the earlier steps that it builds on by their index."""


@dataclass(slots=True)
class Draft:
    """A question before its answer is looked up."""

    text: str
    kind: str
    hops: int
    sql: str
    program: list[Step]
    names: list[Entity]
    """All that a searcher will search by name before it knows the answer."""
    sources: list[Entity]
    """Whose main pages state the last facts."""
    shape: str
    """Of the answer: `single`, `both` (two values), `list` or `table`."""
    types: list[Relation | str] = field(default_factory=list)
    """What the columns of the result are: a relation, or `count`, `number` or a kind of entity."""
    told: str = ""
    """Values that a searcher will search for, when the start is described by them."""
    columns: list[str] = field(default_factory=list)
    """Heads of a table."""
    unit: str = ""
    """Of a `count` or `number`."""


class NoQuestion(Exception):
    """This draw makes no question; another one may."""
