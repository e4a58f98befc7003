"""What a world model is told about an episode."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from agentworld_envs.domains.text_world.household import STATES, Household
from agentworld_envs.domains.text_world.naming import bits
from agentworld_envs.domains.text_world.wording import intro
from agentworld_envs.interface import SimulationSpec

PROMPT_VERSION = "text_world/1"
"""Names the wording of the prompt: the file `prompts/world_model_v1.txt` and the layout made here."""


@cache
def _template() -> str:
    return files(__package__).joinpath("prompts", "world_model_v1.txt").read_text(encoding="utf-8")


def _receptacles(home: Household) -> list[str]:
    """A line for each receptacle with something in it, then the empty ones by the state of their doors."""
    lines = []
    empty: dict[str, list[str]] = {}
    for r, name in enumerate(home.receptacles):
        door = ""
        if home.openable >> r & 1:
            door = "open" if home.opened >> r & 1 else "closed"
        if home.inside[r]:
            lines.append(f"{name}{f' ({door})' * bool(door)}: {', '.join(home.objects[o] for o in home.inside[r])}")
        else:
            empty.setdefault(f"empty and {door}" if door else "empty", []).append(name)
    return lines + [f"{state}: {', '.join(names)}" for state, names in sorted(empty.items())]


def _classes(home: Household, mask: int) -> str:
    return ", ".join(sorted({home.objects[o].rsplit(" ", 1)[0] for o in bits(mask)})) or "nothing"


def _properties(home: Household) -> list[str]:
    lines = [
        f"cleanable at a sinkbasin: {_classes(home, home.cleanable)}",
        f"heatable at a microwave: {_classes(home, home.heatable)}",
        f"coolable at a fridge: {_classes(home, home.coolable)}",
        f"sliceable with a knife: {_classes(home, home.sliceable)}",
        f"fixed, usable: {_classes(home, home.toggleable)}",
    ]
    lines = [line for line in lines if not line.endswith(": nothing")]
    lines += [
        f"{home.receptacles[near[0]]} stands together with {', '.join(home.receptacles[r] for r in near[1:])}"
        for near in home.here
        if len(near) > 1
    ]
    lines += [
        f"{word} already: {', '.join(home.objects[o] for o in bits(home.state_masks[word]))}"
        for word in STATES
        if home.state_masks[word]
    ]
    lines += [
        f"inside {home.objects[o]}: {', '.join(home.objects[i] for i in inner)}"
        for o, inner in enumerate(home.inside_of)
        if inner
    ]
    if home.held >= 0:
        lines.append(f"the agent carries: {home.objects[home.held]}")
    return lines


def brief(home: Household, sentence: str) -> SimulationSpec:
    """The world-model prompt and the first observation.

    Args:
        home: the household, of which the prompt says everything but the goal.
        sentence: the goal in words; only the first observation, which the agent sees, has it.
    """
    put = home.uses_put
    near = home.here[home.agent_location]
    start = f"in front of {', '.join(home.receptacles[r] for r in near)}" if near else "in the middle of the room"
    text = _template()
    for key, value in {
        "{place}": "put OBJ in/on REC" if put else "move OBJ to REC",
        "{placed}": "You put the OBJ in/on the REC." if put else "You move the OBJ to the REC.",
        "{start}": start,
        "{receptacles}": "\n".join(_receptacles(home)),
        "{properties}": "\n".join(_properties(home)),
    }.items():
        text = text.replace(key, value)
    return SimulationSpec(
        system=text.strip(),
        first_observation=intro(home.start(), sentence),
        prompt_version=PROMPT_VERSION,
        action_fence="text",
    )
