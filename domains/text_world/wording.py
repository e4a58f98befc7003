"""The game's texts. They are those of ALFWorld's grammar (`alfred.twl2`), character by character."""

from __future__ import annotations

from collections.abc import Iterable

from agentworld_envs.domains.text_world.household import Op
from agentworld_envs.domains.text_world.state import State

NOTHING = "Nothing happens."
"""The answer to every command that is not admissible."""
WELCOME = "-= Welcome to TextWorld, ALFRED! =-"

_HELP = (
    ("look:", "look around your current location"),
    ("inventory:", "check your current inventory"),
    ("go to (receptacle):", "move to a receptacle"),
    ("open (receptacle):", "open a receptacle"),
    ("close (receptacle):", "close a receptacle"),
    ("take (object) from (receptacle):", "take an object from a receptacle"),
    ("", "place an object in or on a receptacle"),
    ("examine (something):", "examine a receptacle or an object"),
    ("use (object):", "use an object"),
    ("heat (object) with (receptacle):", "heat an object using a receptacle"),
    ("clean (object) with (receptacle):", "clean an object using a receptacle"),
    ("cool (object) with (receptacle):", "cool an object using a receptacle"),
    ("slice (object) with (object):", "slice an object using a sharp object"),
)


def help_text(uses_put: bool = False) -> str:
    """The answer to `help`."""
    lines = [f"  {left:<34}{right}" for left, right in _HELP]
    # The line about placing is two blanks short in the original since `put` was renamed to `move`.
    place = "put (object) in/on (receptacle):" if uses_put else "move (object) to (receptacle):"
    lines[6] = f"  {place}  {_HELP[6][1]}"
    return "Available commands:\n" + "\n".join(lines) + "\n"


def enumerate_names(names: Iterable[str], article: str = "a ") -> str:
    """`a mug 1, a pen 2, and a cup 3`; `nothing` when there are none."""
    words = [article + name for name in names]
    if len(words) < 2:
        return words[0] if words else "nothing"
    return ", ".join(words[:-1]) + ", and " + words[-1]


def contents(state: State, r: int) -> str:
    """What a look at a receptacle shows."""
    home = state.home
    name = home.receptacles[r]
    if not home.openable >> r & 1:
        return f"On the {name}, you see {enumerate_names([home.objects[o] for o in state.inside[r]])}."
    if not state.opened >> r & 1:
        return f"The {name} is closed."
    return f"The {name} is open. In it, you see {enumerate_names([home.objects[o] for o in state.inside[r]])}."


def _object(state: State, o: int) -> str:
    home, name = state.home, state.home.objects[o]
    if home.vessel >> o & 1:
        inner = enumerate_names([home.objects[i] for i in home.inside_of[o] if i != o])
        return f"This is a normal {name}. In it, you see {inner}."
    clean, hot, cool, sliced = (mask >> o & 1 for mask in (state.clean, state.hot, state.cool, state.sliced))
    if clean and (hot or cool):
        word = "hot and clean" if hot else "cool and clean"
    elif sliced:
        word = "clean" if clean else "hot" if hot else "cool" if cool else ""
    else:
        word = "hot" if hot else "clean" if clean else "cold" if cool else ""
    if word:
        return f"This is a {word} sliced {name}." if sliced else f"This is a {word} {name}."
    if home.toggleable >> o & state.toggled >> o & 1:
        return f"This {name} is on."
    if home.sliceable >> o & sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."


def look(state: State, first: bool = False) -> str:
    """What is around the agent. `first`: before the game begins, when the original lists the whole room."""
    home = state.home
    near = home.here[state.loc]
    if not near:
        # Later on the original's rule looks for furniture at this very spot and finds none.
        seen = [name for r, name in enumerate(home.receptacles) if first and home.location[r] >= 0]
        return f"You are in the middle of a room. Looking quickly around you, you see {enumerate_names(seen)}."
    floor: list[str] = []
    if state.left:
        # An object moved between two receptacles of one spot still counts as missing from the first of them.
        floor = [
            home.objects[o]
            for o in range(len(home.objects))
            if state.where[o] >> state.loc & 1
            for r in near
            if (o, r) in state.left
        ]
    facing = enumerate_names([home.receptacles[r] for r in near], article="")
    return f"You are facing the {facing}. Next to it, you see {enumerate_names(floor)}."


def intro(state: State, sentence: str) -> str:
    """The first observation. `sentence`: the goal, e.g. `put a mug in desk.`"""
    return f"{WELCOME}\n\n{look(state, first=True)}\n\nYour task is to: {sentence}"


def acknowledgement(state: State, op: Op) -> str:
    """The sentence that confirms a command which changes something, without what is then seen. Never empty."""
    verb, first, second = op
    home = state.home
    if verb == "go":
        return f"You arrive at {home.receptacles[first]}."
    if verb in ("open", "close"):
        return f"You {verb} the {home.receptacles[first]}."
    item = home.objects[first]
    if verb == "take":
        return f"You pick up the {item} from the {home.receptacles[second]}."
    if verb == "move":
        name = home.receptacles[second]
        return f"You put the {item} in/on the {name}." if home.uses_put else f"You move the {item} to the {name}."
    if verb == "use":
        return f"You turn on the {item}."
    if verb == "slice":
        return f"You sliced the {item} with the {home.objects[second]}."
    return f"You {verb} the {item} using the {home.receptacles[second]}."


def answer(state: State, op: Op) -> str:
    """The observation after `op`, which has been applied to `state`."""
    verb = op.verb
    if verb in ("go", "open"):
        return f"{acknowledgement(state, op)} {contents(state, op.first)}"
    if verb == "examine":
        return contents(state, op.first)
    if verb == "inspect":
        return _object(state, op.first)
    if verb == "look":
        return look(state)
    if verb == "inventory":
        held = state.hold
        return "You are not carrying anything." if held < 0 else f"You are carrying: a {state.home.objects[held]}."
    if verb == "help":
        return help_text(state.home.uses_put)
    return acknowledgement(state, op)
