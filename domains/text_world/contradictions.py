"""`contradictions`: what a simulator's answer says against the state that the episode has established."""

from __future__ import annotations

import re

from agentworld_envs.domains.text_world.household import Op
from agentworld_envs.domains.text_world.rules import admissible, apply
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.domains.text_world.tracker import LIST, listed_names
from agentworld_envs.domains.text_world.wording import NOTHING, acknowledgement

_CARRYING = re.compile(r"You are carrying: a (?P<held>[a-z]+ [0-9]{1,4})\.|You are not carrying anything\.")
_DONE = re.compile(
    r"You (arrive at|(open|close|pick up|put|move|turn on|sliced|heat|clean|cool) the)"
    r" [a-z]+ [0-9]{1,4}\b.*",
    re.DOTALL,
)


def contradictions(state: State, command: str, observation: str) -> list[str]:
    """Contradictions between one answer and the state before it, a line each; none where code is not certain.

    Looked at: whether something happens at all, the sentence that confirms a command, lists of contents, doors, and
    what is carried. What an object looks like in the hand and what stands nearby are not.

    Args:
        state: what the simulator was told, changed by what it has acknowledged since. Left as it is.
        command: the action.
        observation: the simulator's answer.
    """
    text = observation.strip()
    op = admissible(state).get(command)
    if op is None:
        return [f"the answer confirms {command!r}, which is not possible here"] if _DONE.fullmatch(text) else []
    if text == NOTHING:
        return [f"the answer to {command!r} is that nothing happens, though it is possible here"]
    if op.verb == "inventory":
        return _carried(state, text)
    if op.verb == "examine":
        return _contents(state, op.first, text)
    if op.verb in ("go", "open"):
        return _arrival(state, op, text)
    if _DONE.fullmatch(text) and op.verb in ("close", "take", "move", "heat", "clean", "cool", "use", "slice"):
        expected = acknowledgement(state, op)
        return [] if text == expected else [f"the answer to {command!r} confirms something else"]
    return []


def _arrival(state: State, op: Op, text: str) -> list[str]:
    expected = acknowledgement(state, op)
    if not text.startswith(expected):
        wrong = _DONE.fullmatch(text) is not None
        return ["the answer confirms something else than the command"] if wrong else []
    after = state.fork()
    apply(after, op)
    return _contents(after, op.first, text[len(expected) :].strip())


def _contents(state: State, r: int, text: str) -> list[str]:
    """What a list of contents gets wrong; only for a well-formed one."""
    home = state.home
    match = LIST.fullmatch(text)
    if match is None:
        return []
    name = home.receptacles[r]
    shown = match["on"] or match["open"] or match["shut"]
    if shown != name:
        return [f"the answer shows {shown}, not {name}"]
    if (match["on"] is None) != bool(home.openable >> r & 1):
        return [f"{name} {'has a door' if home.openable >> r & 1 else 'has no door'}, unlike in the answer"]
    if match["on"] is None and (match["open"] is not None) != bool(state.opened >> r & 1):
        return [f"{name} is {'open' if state.opened >> r & 1 else 'closed'}, unlike in the answer"]
    names = None if match["items"] is None else listed_names(match["items"])
    if names is None:
        return []
    there = [home.objects[o] for o in state.inside[r]]
    return [f"{item} is not in {name}" for item in dict.fromkeys(names) if item not in there] + [
        f"{item} is in {name}, but the answer does not list it" for item in there if item not in names
    ]


def _carried(state: State, text: str) -> list[str]:
    match = _CARRYING.fullmatch(text)
    held = None if state.hold < 0 else state.home.objects[state.hold]
    if match is None or match["held"] == held:
        return []
    return [f"the agent carries {held or 'nothing'}, unlike in the answer"]
