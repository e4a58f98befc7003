"""Households for training, beyond what rooms are like: anything anywhere, with any property and any number."""

from __future__ import annotations

from typing import Any, Final

from agentworld_envs.domains.text_world.generate import Draw
from agentworld_envs.domains.text_world.household import STATES
from agentworld_envs.domains.text_world.vocabulary import LAMPS, OPENABLE, PLACES, PROPERTIES, ROOMS, VESSELS
from agentworld_envs.training.text_world_tokens import HIGHEST, classes

OBJECTS: Final = tuple(sorted({*PLACES, *LAMPS}))
RECEPTACLES: Final = tuple(
    sorted({place for places in PLACES.values() for place in places} | {r for room in ROOMS.values() for r in room[0]})
)
_CLASSES: Final = tuple(classes())


def any_name(draw: Draw, kind: str) -> str:
    """A name of a class, now and then with a number that is no token."""
    return f"{kind} {draw.between(1, HIGHEST) if draw.real() < 0.96 else draw.between(HIGHEST + 1, 999)}"


def wide_household(draw: Draw) -> dict[str, Any]:
    """An initial state beyond what rooms are like."""
    alike = draw.real() < 0.5  # classes as in rooms, or any class anywhere
    spots = draw.between(2, 24)
    receptacles: dict[str, Any] = {}
    for _ in range(draw.between(3, 26)):
        kind = draw.choice(RECEPTACLES if alike else _CLASSES)
        does = draw.real()
        if does < 0.3:
            kind = draw.choice(["fridge", "microwave", "sinkbasin", "cabinet", "drawer"])
        name = any_name(draw, kind)
        acts = draw.choice(["fridge", "microwave", "sinkbasin"]) if draw.real() < 0.1 else kind
        row: dict[str, Any] = {"type": acts, "location": f"spot {draw.between(1, spots)}"}
        if draw.real() < 0.03:
            row["location"] = None
        if draw.real() < 0.3:
            row["openable"] = draw.real() < 0.5
        if row.get("openable", acts in OPENABLE) and draw.real() < 0.4:
            row["opened"] = True
        receptacles[name] = row
    places = sorted(receptacles)
    popular = [draw.choice(places) for _ in range(draw.between(1, 5))]
    objects: dict[str, Any] = {}
    for _ in range(draw.between(4, 44)):
        kind = draw.choice(OBJECTS if alike else _CLASSES)
        kind = draw.choice(["knife", "butterknife", "desklamp", "apple", "bread"]) if draw.real() < 0.15 else kind
        name = any_name(draw, kind)
        if name not in receptacles:
            objects[name] = _wide_object(draw, kind, places, popular)
    data: dict[str, Any] = {"agent": f"spot {draw.between(0, spots)}", "receptacles": receptacles, "objects": objects}
    names = sorted(objects)
    for name in names:
        if objects[name]["type"] in VESSELS and draw.real() < 0.5:
            objects[name]["contains"] = sorted({draw.choice(names) for _ in range(draw.between(1, 5))})
    if draw.real() < 0.4:
        data["put"] = True
    if draw.real() < 0.7:
        kinds = sorted({row["type"] for row in objects.values()})
        chance = 0.3 + 0.7 * draw.real()
        data["fits"] = {
            place: [kind for kind in kinds if draw.real() < chance]
            for place in sorted({row["type"] for row in receptacles.values()})
        }
    if names and draw.real() < 0.5:
        held = draw.choice(names)
        data["holding"], objects[held]["in"] = held, []
    return data


def _wide_object(draw: Draw, kind: str, places: list[str], popular: list[str]) -> dict[str, Any]:
    at = draw.choice(popular if draw.real() < 0.5 else places)
    row: dict[str, Any] = {"type": kind, "in": at}
    odd = draw.real()
    if odd < 0.03:
        row["in"] = []
    elif odd < 0.06:
        row["in"] = sorted({at, draw.choice(places)})
    elif odd < 0.1:
        row["locations"] = [f"spot {draw.between(1, 6)}"]
    if draw.real() < 0.5:
        row["properties"] = [name for name in PROPERTIES if draw.real() < (0.85 if name == "pickupable" else 0.35)]
        if draw.real() < 0.75 and "vessel" in row["properties"]:
            row["properties"].remove("vessel")
    if draw.real() < 0.5:
        row["state"] = [name for name in STATES if draw.real() < 0.4]
    return row


def piled_household(draw: Draw) -> dict[str, Any]:
    """The same with nearly everything in two places, for long lists."""
    data = wide_household(draw)
    places = sorted(data["receptacles"])
    few = [draw.choice(places) for _ in range(2)]
    for row in data["objects"].values():
        if row["in"] != []:
            row["in"] = draw.choice(few)
    for name in few:
        data["receptacles"][name]["location"] = data["receptacles"][name]["location"] or "spot 1"
    return data
