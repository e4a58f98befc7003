"""`Relation`: what can be said of a thing; `RELATIONS`: all of them, by kind of thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ValueType = Literal["entity", "date", "year", "number", "text", "list", "terms"]


@dataclass(frozen=True, slots=True)
class Relation:
    """One column or relation table of the database, and all its wordings.

    Wordings hold `{s}` where the subject's name stands, `{o}` where the value stands, `{x}` for whatever stands for the
    subject in a question, and `{y}` for a year.
    """

    kind: str
    """Of the subject."""
    name: str
    """Its column."""
    type: ValueType
    label: str
    """In infoboxes, lists and column heads. No label of a kind starts with another one."""
    noun: str
    """A noun phrase for the value: `the founder of {x}`."""
    ask: str
    """A whole question for the value."""
    says: tuple[str, ...]
    """Sentences that state the value."""
    target: str = ""
    """Kind of the value, of entities, lists and terms of office."""
    low: int = 0
    """Least value, of numbers."""
    high: int = 0
    """Greatest value, of numbers."""
    unit: str = ""
    """Of numbers."""
    pool: tuple[str, ...] = ()
    """Values of a text."""
    volatile: bool = False
    """Whether it changes with time: then every statement carries its year, and older values are about."""
    clause: str = ""
    """A relative clause that describes the subject by the value: `who was born on {o}`."""
    most: str = ""
    """A verb phrase for whichever has the greatest value (of years and dates: the latest)."""
    least: str = ""
    beyond: str = ""
    """A verb phrase, in the plural, for those whose value is greater than `{o}`."""
    plural: str = ""
    """For lists: what all members together are called, with `{x}` for the owner."""
    member: str = ""
    """For lists: what one of them is called. For terms: the office."""

    @property
    def literal(self) -> bool:
        """Whether the value is a date, a number or a text and not another entity."""
        return self.type in ("date", "year", "number", "text")

    @property
    def single(self) -> bool:
        """Whether there is one value and not several."""
        return self.type not in ("list", "terms")

    @property
    def numeric(self) -> bool:
        return self.type in ("year", "number")


def _collect() -> dict[str, dict[str, Relation]]:
    from agentworld_envs.domains.search.fiction import phrases_people, phrases_places, phrases_things

    found: dict[str, dict[str, Relation]] = {}
    for relation in (*phrases_places.RELATIONS, *phrases_people.RELATIONS, *phrases_things.RELATIONS):
        found.setdefault(relation.kind, {})[relation.name] = relation
    return found


RELATIONS: dict[str, dict[str, Relation]] = {}
"""Kind -> name -> relation, in the order in which infoboxes show them."""


def relations(kind: str) -> dict[str, Relation]:
    """The relations of a kind of thing, by name."""
    if not RELATIONS:
        RELATIONS.update(_collect())
    return RELATIONS[kind]
