"""`Household`: the fixed part of a game. What there is, where the furniture stands and what can be done with what.

Entities are numbered by their position in the sorted list of ids, so that walking the numbers upwards gives the order
in which the original game lists things. Sets of entities are integers used as bit masks.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

from agentworld_envs.domains.text_world.naming import bits, number_names
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.domains.text_world.vocabulary import (
    APPLIANCES,
    KNIVES,
    OPENABLE,
    PLACES,
    PROPERTIES,
    properties,
)
from agentworld_envs.interface import TaskError

STATES = ("clean", "hot", "cool", "sliced", "toggled")
"""What may be true of an object, as in the `state` list of an object in `Task.initial_state`."""


class Op(NamedTuple):
    """One admissible command, resolved."""

    verb: str
    """`go`, `take`, `move`, `examine` (a receptacle), `inspect` (an object), ..."""
    first: int = -1
    """Object of the verb: an object or, for `go`, `open`, `close` and `examine`, a receptacle."""
    second: int = -1
    """The receptacle after `from`, `to` or `with`; for `slice`, the knife."""


_ALWAYS = {"help": Op("help"), "inventory": Op("inventory"), "look": Op("look")}


def _get(table: Mapping[str, Any], key: str, kind: type, where: str) -> Any:
    value = table.get(key)
    if not isinstance(value, kind):
        raise TaskError(
            f"Broken household: {where} needs {key!r} of type {kind.__name__}, found {type(value).__name__}. "
            "Expected the layout of `Task.initial_state` that the task sources of this domain write."
        )
    return value


def _strings(value: Any, where: str) -> list[str]:
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(isinstance(item, str) for item in found):
        raise TaskError(f"Broken household: {where} has to be a name or a list of names, found {value!r:.80}.")
    return list(found)


def _members(row: dict[str, Any], key: str, number: Mapping[str, int]) -> tuple[int, ...]:
    found = _strings(row.get(key, []), f"`{key}` of an object")
    if missing := [item for item in found if item not in number]:
        raise TaskError(f"Broken household: `{key}` of an object names {missing[0]!r}, which does not exist.")
    return tuple(sorted({number[item] for item in found}))


class Household:
    """Immutable. Shared by every state of a game."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Read `Task.initial_state`.

        Args:
            data: `agent` (a location), `receptacles` (id to `type`, `location`, `openable`, `opened`), `objects`
                (id to `type`, `in` and, where they differ from the vocabulary, `properties`, `locations`, `state`,
                `contains`), optionally `holding`, `fits` (receptacle class to object classes) and `put` (the older
                wording of `move`).

        Raises:
            TaskError: something is missing or contradicts itself.
        """
        receptacles: dict[str, Any] = _get(data, "receptacles", dict, "the initial state")
        objects: dict[str, Any] = _get(data, "objects", dict, "the initial state")
        if twice := receptacles.keys() & objects.keys():
            raise TaskError(f"Broken household: {sorted(twice)[0]!r} is both a receptacle and an object.")
        names = number_names([*receptacles, *objects])
        if len(set(names.values())) < len(names):
            raise TaskError("Broken household: two ids lead to the same name; expected ids such as mug_bar_1.")
        self.receptacle_ids: tuple[str, ...] = tuple(sorted(receptacles))
        self.object_ids: tuple[str, ...] = tuple(sorted(objects))
        self.receptacles: tuple[str, ...] = tuple(names[key] for key in self.receptacle_ids)
        """Names of the receptacles, e.g. `cabinet 2`, by receptacle number."""
        self.objects: tuple[str, ...] = tuple(names[key] for key in self.object_ids)
        """Names of the objects by object number."""
        self.receptacle_of: dict[str, int] = {name: r for r, name in enumerate(self.receptacles)}
        self.object_of: dict[str, int] = {name: o for o, name in enumerate(self.objects)}
        self.uses_put: bool = data.get("put") is True
        """Whether placing is called `put X in/on Y`, as in games of before ALFWorld 0.4, and not `move X to Y`."""
        self.room: str = str(data.get("room", "room"))
        self._read_receptacles(receptacles, _get(data, "agent", str, "the initial state"), objects)
        self._read_objects(objects, data)
        self._moves: dict[int, dict[str, Op]] = {}
        self.compiled: tuple[str, Any] | None = None
        """The last goal that was compiled for this household, with its text (see `goal.compile_goal`)."""

    def _read_receptacles(self, table: dict[str, Any], agent: str, objects: dict[str, Any]) -> None:
        rows = [_get(table, key, dict, "`receptacles`") for key in self.receptacle_ids]
        self.receptacle_types = tuple(str(row.get("type", "")) for row in rows)
        places = {agent} | {str(row["location"]) for row in rows if row.get("location") is not None}
        for row in objects.values():
            if isinstance(row, dict) and "locations" in row:
                places.update(_strings(row["locations"], "`locations` of an object"))
        self.location_ids = tuple(sorted(places))
        number = {place: i for i, place in enumerate(self.location_ids)}
        self.agent_location = number[agent]
        self.location = tuple(-1 if row.get("location") is None else number[str(row["location"])] for row in rows)
        """Location of each receptacle; -1 for one that cannot be reached."""
        self.here: tuple[tuple[int, ...], ...] = tuple(
            tuple(r for r, at in enumerate(self.location) if at == place) for place in range(len(places))
        )
        """Receptacles by location."""
        kinds = self.receptacle_types
        self.openable = sum(
            1 << r for r, row in enumerate(rows) if row.get("openable", "openable" not in row and kinds[r] in OPENABLE)
        )
        self.opened = sum(1 << r for r, row in enumerate(rows) if row.get("opened"))
        self.appliance = {verb: self._of_type(kind) for verb, kind in APPLIANCES.items()}

    def _of_type(self, kind: str) -> int:
        return sum(1 << r for r, name in enumerate(self.receptacle_types) if name == kind)

    def _read_objects(self, table: dict[str, Any], data: Mapping[str, Any]) -> None:
        rows = [_get(table, key, dict, "`objects`") for key in self.object_ids]
        self.object_types = tuple(str(row.get("type", "")) for row in rows)
        owned = [
            frozenset(_strings(row["properties"], f"`properties` of {self.object_ids[o]}"))
            if "properties" in row
            else properties(self.object_types[o])
            for o, row in enumerate(rows)
        ]
        masks = {name: sum(1 << o for o, own in enumerate(owned) if name in own) for name in PROPERTIES}
        self.pickupable, self.toggleable, self.vessel = masks["pickupable"], masks["toggleable"], masks["vessel"]
        self.cleanable, self.heatable, self.coolable = masks["cleanable"], masks["heatable"], masks["coolable"]
        self.sliceable = masks["sliceable"]
        self.treatable = {"clean": self.cleanable, "heat": self.heatable, "cool": self.coolable}
        self.slices = tuple(bits(self.sliceable))
        self.knives = sum(1 << o for o, kind in enumerate(self.object_types) if kind in KNIVES)
        fits: dict[str, Any] | None = _get(data, "fits", dict, "the initial state") if "fits" in data else None
        by_type: dict[str, int] = {}
        for kind in set(self.object_types):
            if fits is None:
                holders = PLACES.get(kind, frozenset())
            else:
                holders = frozenset(holder for holder, kinds in fits.items() if kind in _strings(kinds, "`fits`"))
            by_type[kind] = sum(1 << r for r, name in enumerate(self.receptacle_types) if name in holders)
        self.fits = tuple(by_type[kind] for kind in self.object_types)
        """Receptacles that may hold each object, a mask."""
        number = {name: o for o, name in enumerate(self.object_ids)}
        receptacle_number = {name: r for r, name in enumerate(self.receptacle_ids)}
        self.inside_of = tuple(_members(row, "contains", number) for row in rows)
        """Objects that lie in each vessel; the game's rules never change this."""
        being = [_strings(row["state"], "`state` of an object") if "state" in row else () for row in rows]
        self.state_masks = {name: sum(1 << o for o, words in enumerate(being) if name in words) for name in STATES}
        self.inside: list[tuple[int, ...]] = [() for _ in self.receptacle_ids]
        self.where: list[int] = [0 for _ in rows]
        place_of = {place: i for i, place in enumerate(self.location_ids)}
        for o, row in enumerate(rows):
            within = _members(row, "in", receptacle_number)
            for r in within:
                self.inside[r] += (o,)
            at = [self.location[r] for r in within if self.location[r] >= 0]
            if "locations" in row:
                at = [place_of[place] for place in _strings(row["locations"], "`locations` of an object")]
            self.where[o] = sum(1 << place for place in set(at))
        held = data.get("holding")
        if held is not None and (not isinstance(held, str) or held not in number):
            raise TaskError(f"Broken household: `holding` names {held!r:.80}, which is not among the objects.")
        self.held = -1 if held is None else number[held]

    def start(self) -> State:
        """A new state, as the game begins."""
        return State(
            home=self,
            loc=self.agent_location,
            hold=self.held,
            inside=list(self.inside),
            where=list(self.where),
            opened=self.opened,
            clean=self.state_masks["clean"],
            hot=self.state_masks["hot"],
            cool=self.state_masks["cool"],
            sliced=self.state_masks["sliced"],
            toggled=self.state_masks["toggled"],
        )

    def with_object(self, name: str) -> Household | None:
        """A wider household with one more object that lies nowhere; its class decides what can be done with it.

        Args:
            name: e.g. `mug 7`, not yet taken.

        Returns:
            The household, or `None` when neither the vocabulary nor this household knows the class.
        """
        kind = name.rsplit(" ", 1)[0]
        own = properties(kind)
        if not own and kind not in self.object_types:
            return None
        wide = copy(self)
        bit = 1 << len(self.objects)
        wide.objects += (name,)
        wide.object_ids += (name,)
        wide.object_types += (kind,)
        wide.object_of = {**self.object_of, name: len(self.objects)}
        for word in PROPERTIES:
            if word in own:
                setattr(wide, word, getattr(self, word) | bit)
        wide.treatable = {"clean": wide.cleanable, "heat": wide.heatable, "cool": wide.coolable}
        wide.slices = tuple(bits(wide.sliceable))
        wide.knives |= bit if kind in KNIVES else 0
        places = PLACES.get(kind, frozenset())
        wide.fits += (sum(1 << r for r, place in enumerate(self.receptacle_types) if place in places),)
        wide.inside_of += ((),)
        wide.where = [*self.where, 0]
        wide.compiled = None
        return wide

    def moves(self, loc: int) -> dict[str, Op]:
        """Commands that depend on nothing but the agent's location. Shared: do not change."""
        found = self._moves.get(loc)
        if found is None:
            found = dict(_ALWAYS)
            for r, name in enumerate(self.receptacles):
                if self.location[r] not in (loc, -1):
                    found[f"go to {name}"] = Op("go", r)
            found = dict(sorted(found.items()))  # what is sorted already is soon sorted again
            self._moves[loc] = found
        return found
