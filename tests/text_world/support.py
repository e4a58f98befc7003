"""What the tests of this folder share."""

from __future__ import annotations

import json
import random
from typing import Any

from agentworld_envs.domains.text_world import TextWorld
from agentworld_envs.domains.text_world.vocabulary import OPENABLE, VESSELS
from agentworld_envs.domains.text_world.world import HouseWorld
from agentworld_envs.interface import Action, Task

DOMAIN = TextWorld()


def call(command: str) -> Action:
    """The action that bare text becomes."""
    return Action("command", {"command": command}, command)


def play(world: HouseWorld, commands: list[str]) -> list[str]:
    """Observations of a sequence of commands."""
    return [world.act(call(command)) for command in commands]


def pick(rng: random.Random, commands: list[str]) -> str:
    """A random command, mostly one that does something with things rather than walking around."""
    hands = [word for word in commands if word.split()[0] not in ("go", "examine", "help", "inventory", "look")]
    return rng.choice(hands if hands and rng.random() < 0.6 else commands)


def varied(task: Task, rng: random.Random, share: bool = True) -> Task:
    """The task in a household with everything that official games have and generated ones lack.

    Args:
        share: whether several receptacles may stand at one spot.
    """
    state: dict[str, Any] = json.loads(json.dumps(task.initial_state))
    receptacles, objects = state["receptacles"], state["objects"]
    names = sorted(receptacles)
    for _ in range(len(names) // 4 if share else 0):
        one, other = rng.sample(names, 2)
        receptacles[one]["location"] = receptacles[other]["location"]
    for row in receptacles.values():
        if row["type"] in OPENABLE and rng.random() < 0.3:
            row["opened"] = True
    vessels = [name for name, row in objects.items() if row["type"] in VESSELS]
    others = [name for name, row in objects.items() if row["type"] not in VESSELS]
    for name in vessels[:3]:
        objects[name]["contains"] = sorted(rng.sample(others, min(2, len(others))))
    target = task.verifier["goal"]
    for row in objects.values():
        if rng.random() < 0.15 and f"{row['type']}type" not in target:
            row["state"] = sorted(rng.sample(["clean", "cool", "hot", "sliced"], 2))
        if rng.random() < 0.05:  # counted as present somewhere else than its receptacle is
            row["locations"] = [receptacles[rng.choice(names)]["location"]]
    return task.model_copy(update={"initial_state": state})


def sliced(task: Task) -> Task:
    """A kitchen task that asks for the same thing in slices."""
    goal = task.verifier["goal"].replace("(inreceptacle ?o ?r)", "(sliceable ?o) (issliced ?o) (inreceptacle ?o ?r)")
    return task.model_copy(update={"verifier": {"goal": goal}})


def slicing_tasks(count: int) -> list[Task]:
    """Tasks whose goal is a slice and whose kitchen has a knife."""
    found = []
    source = DOMAIN.tasks("train:pick_heat_then_place_in_recep,pick_cool_then_place_in_recep")
    for index in range(10_000):
        task = source[index]
        words = task.instruction.split()
        if {"potato", "tomato", "bread", "apple", "lettuce", "egg"} & set(words) and any(
            row["type"] in ("knife", "butterknife") for row in task.initial_state["objects"].values()
        ):
            found.append(sliced(task))
            if len(found) == count:
                break
    return found
