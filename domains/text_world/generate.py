"""Generated households and tasks. Every random choice comes from one stream, keyed by split and index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from agentworld_envs.domains.text_world.vocabulary import (
    APPLIANCES,
    LAMP_STANDS,
    PLACES,
    ROOMS,
    properties,
)
from agentworld_envs.interface import Task

T = TypeVar("T")

SPLITS = ("train", "valid_seen", "valid_unseen")
"""`valid_seen`: floor plans of `train`, other households. `valid_unseen`: floor plans that `train` never has."""
_STREAM = 7301  # keeps these draws apart from any other use of the same seeds


class Kind(NamedTuple):
    """One type of task."""

    rooms: tuple[str, ...]
    sentences: tuple[str, str]
    goal: str
    verb: str = ""
    """What has to be done to the object on the way, one of `APPLIANCES`, if anything."""


def _place(extra: str = "") -> str:
    return (
        "(exists (?r - receptacle ?o - object) (and (objecttype ?o {obj}type) (receptacletype ?r {recep}type)"
        f"{extra} (inreceptacle ?o ?r)))"
    )


KINDS: dict[str, Kind] = {
    "pick_and_place_simple": Kind(tuple(ROOMS), ("put a {obj} in {recep}.", "put some {obj} on {recep}."), _place()),
    "look_at_obj_in_light": Kind(
        ("livingroom", "bedroom"),
        ("look at {obj} under the {lamp}.", "examine the {obj} with the {lamp}."),
        "(and (exists (?t - object ?r - receptacle ?a - agent ?l - location) (and (objecttype ?t {lamp}type) "
        "(toggleable ?t) (istoggled ?t) (receptacleatlocation ?r ?l) (atlocation ?a ?l) (inreceptacle ?t ?r))) "
        "(exists (?o - object ?a - agent) (and (objecttype ?o {obj}type) (holds ?a ?o))))",
    ),
    "pick_clean_then_place_in_recep": Kind(
        ("kitchen", "bathroom"),
        ("put a clean {obj} in {recep}.", "clean some {obj} and put it in {recep}."),
        _place(" (cleanable ?o) (isclean ?o)"),
        "clean",
    ),
    "pick_heat_then_place_in_recep": Kind(
        ("kitchen",),
        ("put a hot {obj} in {recep}.", "heat some {obj} and put it in {recep}."),
        _place(" (heatable ?o) (ishot ?o)"),
        "heat",
    ),
    "pick_cool_then_place_in_recep": Kind(
        ("kitchen",),
        ("put a cool {obj} in {recep}.", "cool some {obj} and put it in {recep}."),
        _place(" (coolable ?o) (iscool ?o)"),
        "cool",
    ),
    "pick_two_obj_and_place": Kind(
        tuple(ROOMS),
        ("put two {obj} in {recep}.", "find two {obj} and put them in {recep}."),
        "(exists (?r - receptacle ?o - object ?p - object) (and (not (= ?o ?p)) (receptacletype ?r {recep}type) "
        "(objecttype ?o {obj}type) (inreceptacle ?o ?r) (objecttype ?p {obj}type) (inreceptacle ?p ?r)))",
    ),
}
"""The six types of ALFWorld, with its sentences and the meaning of its goals (alfworld/gen/goal_library.py)."""


class Draw:
    """A stream of random choices. Numbers are drawn in blocks, which is what makes a household cheap."""

    def __init__(self, *key: int) -> None:
        """Args: key: non-negative integers; the same key gives the same stream on every machine."""
        self._rng = np.random.default_rng(list(key))
        self._block: list[float] = []

    def real(self) -> float:
        """Uniform in [0, 1)."""
        if not self._block:
            self._block = self._rng.random(128).tolist()
        return self._block.pop()

    def between(self, low: int, high: int) -> int:
        """Uniform integer, both ends included."""
        return low + int(self.real() * (high - low + 1))

    def choice(self, items: Sequence[T]) -> T:
        """One of `items`, which must not be empty."""
        return items[int(self.real() * len(items))]


def _odd(value: Any) -> bool:
    """A stable coin: the last bit of a digest of `value`'s canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return bool(hashlib.blake2b(text.encode(), digest_size=8).digest()[0] & 1)


def split_of(initial_state: dict[str, Any]) -> str:
    """The only split in which a household may appear. Depends on nothing else."""
    plan = sorted(row["type"] for row in initial_state["receptacles"].values())
    if _odd([initial_state["room"], plan]):
        return "valid_unseen"
    rows = initial_state["objects"]
    return "valid_seen" if _odd([plan, {name: row["in"] for name, row in rows.items()}]) else "train"


def _floor_plan(draw: Draw, room: str, unseen: bool) -> list[str]:
    """Receptacle classes, sorted, one entry per receptacle, on the right side of the split."""
    while True:
        counts = ROOMS[room].receptacles
        plan = [kind for kind in sorted(counts) for _ in range(draw.between(*counts[kind]))]
        if _odd([room, plan]) is unseen:
            return plan


def _receptacle_id(kind: str, number: int) -> str:
    # Basins carry their own class at the end, as in the original's ids, where they are parts of a sink or a bathtub.
    stem = kind.removesuffix("basin")
    return f"{stem}_bar_{number:02d}" + (f"_bar_{kind}" if stem != kind else "")


def _goal_classes(draw: Draw, kind: Kind, room: str, present: dict[str, list[str]]) -> tuple[str, str]:
    """Object class and receptacle class of the goal, such that both exist and the task is not trivial."""
    appliance = APPLIANCES.get(kind.verb, "")
    needed = {"clean": "cleanable", "heat": "heatable", "cool": "coolable"}.get(kind.verb, "pickupable")
    options = []
    for name in ROOMS[room].objects:
        homes = [place for place in sorted(PLACES[name]) if place in present]
        goals = [place for place in homes if place != appliance]
        if needed in properties(name) and len(homes) > 1 and goals:
            options.append((name, goals))
    name, goals = draw.choice(options)
    return name, draw.choice(goals)


def household(draw: Draw, room: str, plan: list[str], kind: Kind) -> tuple[dict[str, Any], str, str]:
    """Furnish a room for a task.

    Returns:
        `Task.initial_state`, the goal's object class and its receptacle class.
    """
    present: dict[str, list[str]] = {}
    receptacles: dict[str, Any] = {}
    for spot, place in enumerate(plan, start=1):
        name = _receptacle_id(place, len(present.setdefault(place, [])) + 1)
        present[place].append(name)
        receptacles[name] = {"type": place, "location": f"loc_bar_{spot:02d}"}
    target, goal_place = _goal_classes(draw, kind, room, present)
    looks = "{lamp}" in kind.goal
    two = kind is KINDS["pick_two_obj_and_place"]
    objects: dict[str, Any] = {}
    for name in ROOMS[room].objects:
        places = [place for place in sorted(PLACES[name]) if place in present]
        if name == target:
            number = draw.between(2, 3) if two else draw.between(1, 2)
            if not kind.verb and not looks:
                places.remove(goal_place)  # nothing that is asked for may be there already
        else:
            number = max(0, draw.between(-2, 6) // 2)
        for i in range(number if places else 0):
            objects[f"{name}_bar_{i + 1:02d}"] = {"type": name, "in": draw.choice(present[draw.choice(places)])}
    if ROOMS[room].lamp:
        stand = next(place for place in LAMP_STANDS if place in present)
        objects["desklamp_bar_01"] = {"type": "desklamp", "in": draw.choice(present[stand])}
    return (
        {"room": room, "agent": "loc_bar_00", "receptacles": receptacles, "objects": objects},
        target,
        goal_place,
    )


def generate(split: str, index: int) -> Task:
    """The task at `index` of `split`: a pure function of both.

    Args:
        split: one of `SPLITS`.
        index: >= 0. Types take turns, so that `index % 6` is the type.
    """
    name = tuple(KINDS)[index % len(KINDS)]
    kind = KINDS[name]
    draw = Draw(_STREAM, SPLITS.index(split), index)
    room = draw.choice(kind.rooms)
    while True:
        plan = _floor_plan(draw, room, split == "valid_unseen")
        state, target, place = household(draw, room, plan, kind)
        if split_of(state) == split:
            break
    words = {"obj": target, "recep": place, "lamp": "desklamp"}
    return Task(
        id=f"{split}/{index:09d}",
        domain="text_world",
        instruction=draw.choice(kind.sentences).format(**words),
        initial_state=state,
        verifier={"goal": kind.goal.format(**words)},
        max_steps=50,
        tags=(name, room, split),
    )
