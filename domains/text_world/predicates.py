"""The predicates that goals may speak of, as tests on a `State`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentworld_envs.domains.text_world.state import State

Check = Callable[[State, list[int]], bool]
"""A condition on a state and on the values of the variables."""
Fact = Callable[[State, int, int], bool]

DYNAMIC: dict[str, tuple[tuple[str, ...], Fact]] = {
    "inreceptacle": (("object", "receptacle"), lambda s, o, r: o in s.inside[r]),
    "objectatlocation": (("object", "location"), lambda s, o, place: bool(s.where[o] >> place & 1)),
    "atlocation": (("agent", "location"), lambda s, _, place: s.loc == place),
    "holds": (("agent", "object"), lambda s, _, o: s.hold == o),
    "holdsany": (("agent",), lambda s, _a, _b: s.hold >= 0),
    "opened": (("receptacle",), lambda s, r, _: bool(s.opened >> r & 1)),
    "isclean": (("object",), lambda s, o, _: bool(s.clean >> o & 1)),
    "ishot": (("object",), lambda s, o, _: bool(s.hot >> o & 1)),
    "iscool": (("object",), lambda s, o, _: bool(s.cool >> o & 1)),
    "issliced": (("object",), lambda s, o, _: bool(s.sliced >> o & 1)),
    "istoggled": (("object",), lambda s, o, _: bool(s.toggled >> o & 1)),
}
"""What actions can change: predicate to the kinds of its arguments and the test on their numbers."""
STATIC: dict[str, tuple[tuple[str, ...], Fact]] = {
    "receptacleatlocation": (("receptacle", "location"), lambda s, r, place: s.home.location[r] == place),
    "openable": (("receptacle",), lambda s, r, _: bool(s.home.openable >> r & 1)),
    "pickupable": (("object",), lambda s, o, _: bool(s.home.pickupable >> o & 1)),
    "cleanable": (("object",), lambda s, o, _: bool(s.home.cleanable >> o & 1)),
    "heatable": (("object",), lambda s, o, _: bool(s.home.heatable >> o & 1)),
    "coolable": (("object",), lambda s, o, _: bool(s.home.coolable >> o & 1)),
    "sliceable": (("object",), lambda s, o, _: bool(s.home.sliceable >> o & 1)),
    "toggleable": (("object",), lambda s, o, _: bool(s.home.toggleable >> o & 1)),
    "isreceptacleobject": (("object",), lambda s, o, _: bool(s.home.vessel >> o & 1)),
    "inreceptacleobject": (("object", "object"), lambda s, inner, outer: inner in s.home.inside_of[outer]),
    "=": (("any", "any"), lambda _s, a, b: a == b),
}
"""What stays as it is, in the same form."""
TYPES = {"objecttype": "object", "receptacletype": "receptacle"}
"""Predicates that name the class of an entity, and the kind of the entity."""


@dataclass(slots=True)
class Literal:
    """One fact, or its negation. Arguments: slots of variables (>= 0) or constants (-1 - number)."""

    predicate: str
    args: tuple[int, ...]
    positive: bool
    changes: bool
    """Whether actions can make a difference."""
    test: Check
