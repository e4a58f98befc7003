"""`Facts`: the evidence of an episode, a live mapping over a `State`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentworld_envs.domains.text_world.household import STATES, Household
from agentworld_envs.domains.text_world.naming import bits
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.interface import TaskError

_KEYS = ("location", "holding", "inside", "locations", "opened", *STATES)


class Facts(Mapping[str, Any]):
    """Ids throughout: `location` (of the agent), `holding` (an object or `None`), `inside` (receptacle to objects),
    `locations` (object to locations), `opened`, `clean`, `hot`, `cool`, `sliced`, `toggled` (lists). JSON values,
    computed when they are asked for.
    """

    __slots__ = ("state",)

    def __init__(self, state: State) -> None:
        self.state = state

    def __getitem__(self, key: str) -> Any:
        state, home = self.state, self.state.home
        if key == "location":
            return home.location_ids[state.loc]
        if key == "holding":
            return None if state.hold < 0 else home.object_ids[state.hold]
        if key == "inside":
            return {name: [home.object_ids[o] for o in state.inside[r]] for r, name in enumerate(home.receptacle_ids)}
        if key == "locations":
            return {
                name: [home.location_ids[place] for place in bits(state.where[o])]
                for o, name in enumerate(home.object_ids)
            }
        if key == "opened":
            return [home.receptacle_ids[r] for r in bits(state.opened)]
        if key in STATES:
            return [home.object_ids[o] for o in bits(getattr(state, key))]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(_KEYS)

    def __len__(self) -> int:
        return len(_KEYS)


def state_from(home: Household, evidence: Mapping[str, Any]) -> State:
    """The state that evidence speaks of: that of a live view, or one rebuilt from plain JSON.

    Args:
        home: household of the task; plain evidence may only name its entities.

    Raises:
        TaskError: plain evidence lacks a key or names something unknown.
    """
    if isinstance(evidence, Facts):
        return evidence.state
    state = home.start()
    try:
        objects = {name: o for o, name in enumerate(home.object_ids)}
        receptacles = {name: r for r, name in enumerate(home.receptacle_ids)}
        places = {name: i for i, name in enumerate(home.location_ids)}
        state.loc = places[evidence["location"]]
        state.hold = -1 if evidence["holding"] is None else objects[evidence["holding"]]
        for name, items in evidence["inside"].items():
            state.inside[receptacles[name]] = tuple(sorted(objects[item] for item in items))
        for name, spots in evidence["locations"].items():
            state.where[objects[name]] = sum(1 << places[spot] for spot in set(spots))
        state.opened = sum(1 << receptacles[name] for name in set(evidence["opened"]))
        for word in STATES:
            setattr(state, word, sum(1 << objects[name] for name in set(evidence[word])))
    except KeyError as error:
        raise TaskError(f"Evidence: {error} is missing or unknown; expected the keys {', '.join(_KEYS)}.") from error
    return state
