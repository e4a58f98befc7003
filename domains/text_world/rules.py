"""The rules: which commands are admissible and what they change.

They are those of ALFWorld's `alfred.pddl` as TextWorld plays it, with its consequences: an object can be examined only
while it is held, heating, cleaning and cooling need neither an open door nor a free appliance, a lamp can be switched
in a closed drawer, and nothing is ever switched off.
"""

from __future__ import annotations

from agentworld_envs.domains.text_world.household import Op
from agentworld_envs.domains.text_world.state import State

WATCHING = frozenset({"examine", "help", "inspect", "inventory", "look"})
"""Verbs that change nothing."""


def admissible(state: State) -> dict[str, Op]:
    """Every admissible command of `state` with what it means. Shared with the state: do not change."""
    if state.menu is not None:
        return state.menu
    home, held = state.home, state.hold
    menu = home.moves(state.loc).copy()
    for r in home.here[state.loc]:
        name = home.receptacles[r]
        menu[f"examine {name}"] = Op("examine", r)
        reachable = True
        if home.openable >> r & 1:
            reachable = bool(state.opened >> r & 1)
            menu[f"close {name}" if reachable else f"open {name}"] = Op("close" if reachable else "open", r)
        for o in state.inside[r]:
            if reachable and held < 0 and home.pickupable >> o & 1:
                menu[f"take {home.objects[o]} from {name}"] = Op("take", o, r)
            if home.toggleable >> o & 1:
                menu[f"use {home.objects[o]}"] = Op("use", o, r)
        if held >= 0:
            _with_full_hand(state, r, reachable, menu)
    if held >= 0:
        menu[f"examine {home.objects[held]}"] = Op("inspect", held)
        if home.knives >> held & 1:
            for o in home.slices:
                if state.where[o] >> state.loc & 1:
                    menu[f"slice {home.objects[o]} with {home.objects[held]}"] = Op("slice", o, held)
    state.menu = menu
    return menu


def _with_full_hand(state: State, r: int, reachable: bool, menu: dict[str, Op]) -> None:
    home, held = state.home, state.hold
    item, name = home.objects[held], home.receptacles[r]
    if reachable and home.fits[held] >> r & 1:
        menu[f"put {item} in/on {name}" if home.uses_put else f"move {item} to {name}"] = Op("move", held, r)
    for verb, appliances in home.appliance.items():
        if appliances >> r & 1 and home.treatable[verb] >> held & 1:
            menu[f"{verb} {item} with {name}"] = Op(verb, held, r)


def apply(state: State, op: Op) -> None:
    """Carry out one admissible command."""
    verb, first, second = op
    if verb in WATCHING:
        return
    state.menu = None
    if verb == "go":
        state.loc = state.home.location[first]
    elif verb == "open":
        state.opened |= 1 << first
    elif verb == "close":
        state.opened &= ~(1 << first)
    elif verb == "take":
        state.inside[second] = tuple(o for o in state.inside[second] if o != first)
        state.hold = first
        state.where[first] &= ~(1 << state.loc)
        state.left |= {(first, second)}
    elif verb == "move":
        state.inside[second] = tuple(sorted({*state.inside[second], first}))
        state.hold = -1
        state.where[first] |= 1 << state.loc
        state.left -= {(first, second)}
    elif verb == "clean":
        state.clean |= 1 << first
    elif verb == "heat":
        state.hot |= 1 << first
        state.cool &= ~(1 << first)
    elif verb == "cool":
        state.cool |= 1 << first
        state.hot &= ~(1 << first)
    elif verb == "use":
        state.toggled |= 1 << first
    else:
        state.sliced |= 1 << first
