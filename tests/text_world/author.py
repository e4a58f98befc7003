"""Writes our households as PDDL problems and as files in the layout of ALFWorld's data set."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from agentworld_envs.domains.text_world.household import STATES, Household
from agentworld_envs.domains.text_world.naming import bits
from agentworld_envs.interface import Task

_PREDICATES = {
    "pickupable": "pickupable",
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "sliceable": "sliceable",
    "toggleable": "toggleable",
    "vessel": "isReceptacleObject",
}
_STATES = dict(zip(STATES, ("isClean", "isHot", "isCool", "isSliced", "isToggled"), strict=True))


def problem(state: dict[str, Any], goal: str) -> str:
    """The PDDL problem of a household."""
    home = Household(state)
    otypes = sorted({*home.object_types, "knife", "butterknife"})
    rtypes = sorted({*home.receptacle_types, "sinkbasin", "microwave", "fridge"})
    lines = ["(define (problem p)", "(:domain alfred)", "(:objects", "agent1 - agent"]
    lines += [f"{name} - location" for name in home.location_ids]
    lines += [f"{name} - receptacle" for name in home.receptacle_ids]
    lines += [f"{name} - object" for name in home.object_ids]
    lines += [f"{name}Type - otype" for name in otypes] + [f"{name}Type - rtype" for name in rtypes]
    lines += [")", "(:init", "(= (total-cost) 0)", f"(atLocation agent1 {home.location_ids[home.agent_location]})"]
    for r, name in enumerate(home.receptacle_ids):
        lines.append(f"(receptacleType {name} {home.receptacle_types[r]}Type)")
        if home.location[r] >= 0:
            lines.append(f"(receptacleAtLocation {name} {home.location_ids[home.location[r]]})")
        lines += [f"(openable {name})"] * (home.openable >> r & 1) + [f"(opened {name})"] * (home.opened >> r & 1)
        lines += [f"(inReceptacle {home.object_ids[o]} {name})" for o in home.inside[r]]
    for o, name in enumerate(home.object_ids):
        lines.append(f"(objectType {name} {home.object_types[o]}Type)")
        lines += [f"(objectAtLocation {name} {home.location_ids[place]})" for place in bits(home.where[o])]
        lines += [f"({word} {name})" for own, word in _PREDICATES.items() if getattr(home, own) >> o & 1]
        lines += [f"({word} {name})" for own, word in _STATES.items() if home.state_masks[own] >> o & 1]
        lines += [f"(inReceptacleObject {home.object_ids[i]} {name})" for i in home.inside_of[o]]
    fits = {(home.receptacle_types[r], kind) for o, kind in enumerate(home.object_types) for r in bits(home.fits[o])}
    lines += [f"(canContain {place}Type {kind}Type)" for place, kind in sorted(fits)]
    if home.held >= 0:
        lines += ["(holdsAny agent1)", f"(holds agent1 {home.object_ids[home.held]})"]
    return "\n".join([*lines, ")", f"(:goal {goal})", ")"])


def as_recorded(text: str) -> str:
    """The same problem with what problems recorded from a simulator have: long ids, bystanders, costs, comments."""
    text = re.sub(
        r"\b([a-z]+)_bar_(\d\d)",
        lambda match: f"{match[1].capitalize()}_bar__minus_0{match[2][1]}_dot_85_bar__plus_{match[2]}_dot_02",
        text,
    )
    places = re.findall(r"^(\S+) - location", text, re.MULTILINE)
    costs = "\n".join(f"(= (distance {places[0]} {place}) 12) ; walk" for place in places[1:])
    text = text.replace("(= (total-cost) 0)", f"(= (total-cost) 0)\n{costs}")
    first = re.search(r"\(inReceptacle (\S+) (\S+)\)", text)
    if first:
        text = text.replace(first[0], f"{first[0]}\n(wasInReceptacle {first[1]} {first[2]})")
    return text.replace("agent1 - agent", "agent1 - agent\nCandle - object\nPotato - object ; classes, not things")


def game(task: Task) -> dict[str, Any]:
    """The content of a `game.tw-pddl`, without the rules and with no more grammar than our reader looks at."""
    placing = ' template :: "put {o} in/on {r}";' if task.initial_state.get("put") else ""
    return {
        "pddl_domain": "",
        "grammar": f'"rhs": "Your task is to: {task.instruction}"{placing}',
        "pddl_problem": problem(task.initial_state, task.verifier["goal"]),
        "solvable": True,
        "walkthrough": [],
    }


def write_game(task: Task, root: Path) -> Path:
    """Write a game file at `root/TYPE-.../trial_.../game.tw-pddl`."""
    folder = root / f"{task.tags[0]}-{task.tags[1]}" / f"trial_{task.id.replace('/', '_')}"
    folder.mkdir(parents=True)
    path = folder / "game.tw-pddl"
    path.write_text(json.dumps(game(task)), encoding="utf-8")
    return path
