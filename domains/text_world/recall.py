"""`recall`: the facts about a household that one command may touch, in plain words for a simulator's prompt."""

from __future__ import annotations

import re

from agentworld_envs.domains.text_world.state import State

_NAME = re.compile(r"[a-z]+ [0-9]{1,4}")
_SHOWS_CONTENTS = ("examine", "go", "open")
_PLACES = ("move", "put")
_ABLE = {
    "pickupable": "can be picked up",
    "cleanable": "cleanable",
    "heatable": "heatable",
    "coolable": "coolable",
    "sliceable": "sliceable",
    "toggleable": "has a switch",
    "knives": "can slice",
}
_BEING = {"clean": "is clean", "hot": "is hot", "cool": "is cool", "sliced": "is sliced", "toggled": "is switched on"}


def recall(state: State, command: str, limit: int) -> str:
    """Facts of `state` on the agent and on everything that `command` names; a line each.

    These are premises of the rules, never their conclusion: not whether the command is possible, nor what it shows.
    Contents come last, in the game's order, and only for commands that look into a receptacle.

    Args:
        state: what is so before the command.
        command: what is done next; names that the household lacks are said not to exist.
        limit: most characters; a longer text loses its end, by whole facts.
    """
    home = state.home
    verb = command.partition(" ")[0]
    near = [home.receptacles[r] for r in home.here[state.loc]]
    lines = [
        f"agent: at {_list(near) if near else 'no receptacle'}",
        f"holding: {'nothing' if state.hold < 0 else home.objects[state.hold]}",
    ]
    if verb in _PLACES or verb == "help":
        lines.append(f"placing is worded: {'put X in/on Y' if home.uses_put else 'move X to Y'}")
    inside = []
    named = list(dict.fromkeys(_NAME.findall(command)))
    for name in named:
        if (r := home.receptacle_of.get(name)) is not None:
            lines.append(_receptacle(state, r))
            if verb in _SHOWS_CONTENTS:
                inside.append(f"in {name}: {_list([home.objects[o] for o in state.inside[r]])}")
        elif (o := home.object_of.get(name)) is not None:
            holders = [home.receptacle_of[other] for other in named if other in home.receptacle_of]
            lines.append(_object(state, o, holders if verb in _PLACES else []))
            if home.vessel >> o & 1:
                inside.append(f"in {name}: {_list([home.objects[i] for i in home.inside_of[o] if i != o])}")
        else:
            lines.append(f"{name}: does not exist")
    if verb == "look" and state.left:
        inside += _taken_from_here(state)
    return _bounded([*lines, *inside], limit)


def _receptacle(state: State, r: int) -> str:
    home = state.home
    place = "out of reach" if home.location[r] < 0 else "here" if home.location[r] == state.loc else "elsewhere"
    door = "no door"
    if home.openable >> r & 1:
        door = "open" if state.opened >> r & 1 else "closed"
    does = [f"can {verb}" for verb, mask in home.appliance.items() if mask >> r & 1]
    return f"{home.receptacles[r]}: {', '.join([place, door, *does])}"


def _object(state: State, o: int, holders: list[int]) -> str:
    """Where an object is and what it is like. `holders`: receptacles of which to say whether it fits."""
    home = state.home
    facts = [
        f"in {home.receptacles[r]} ({'here' if home.location[r] == state.loc else 'elsewhere'})"
        for r, items in enumerate(state.inside)
        if o in items
    ]
    if state.hold == o:
        facts.insert(0, "held")
    # Recorded games know objects that count as present at a spot where no receptacle has them.
    facts.append("at this spot" if state.where[o] >> state.loc & 1 else "not at this spot")
    facts += [word for name, word in _ABLE.items() if getattr(home, name) >> o & 1]
    facts += [word for name, word in _BEING.items() if getattr(state, name) >> o & 1]
    facts += [f"{'fits' if home.fits[o] >> r & 1 else 'does not fit'} in/on {home.receptacles[r]}" for r in holders]
    return f"{home.objects[o]}: {', '.join(facts)}"


def _taken_from_here(state: State) -> list[str]:
    """What was taken from the receptacles at hand and not put back into them: the game's `look` speaks of it."""
    home = state.home
    near = home.here[state.loc]
    gone = [
        f"{home.objects[o]} ({'at this spot' if state.where[o] >> state.loc & 1 else 'not at this spot'})"
        for o in sorted({o for o, r in state.left if r in near})
        for r in near
        if (o, r) in state.left
    ]
    return [f"taken from here before: {'; '.join(gone)}"] if gone else []


def _bounded(lines: list[str], limit: int) -> str:
    text = "\n".join(lines)
    if len(text) <= limit:
        return text
    cut = text[: limit + 1]
    return cut[: max(cut.rfind("; "), cut.rfind("\n"), 0)]


def _list(names: list[str]) -> str:
    """`mug 1; pen 2; and cup 3`."""
    return "; ".join([*names[:-1], f"and {names[-1]}"] if len(names) > 1 else names) or "nothing"
