"""Examples for the text world's small model, made when they are asked for: facts and a command in, the answer out.

Some of the households are those of the split `train`. The others are drawn more widely, so that the model learns the
rules and not the names.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from agentworld_envs.backends.world_model.codec import render_compact
from agentworld_envs.domains.text_world.generate import SPLITS, Draw, generate
from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.naming import bits
from agentworld_envs.domains.text_world.recall import recall
from agentworld_envs.domains.text_world.rules import admissible, apply
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.domains.text_world.wording import NOTHING, answer
from agentworld_envs.training.text_world_households import (
    OBJECTS,
    RECEPTACLES,
    any_name,
    piled_household,
    wide_household,
)

_STREAM: Final = 9127  # these keep the draws apart from any other use of the same seeds
_LISTS_STREAM: Final = 9128
_LISTS_OR_ALL: Final = 77
_LISTS: Final = 0.4
"""Share of households that are only there for the lists of their contents, which are what is learned last."""
STEPS: Final = 24
"""Steps of one walk through a household."""
PER_STEP: Final = 2
"""Commands that are asked about at each step."""
LIMIT: Final = 4000
"""Characters of tracked state, as `Domain.recall_characters` has them by default."""

_WEIGHTS: Final = {
    "go": 4.0,
    "open": 4.0,
    "close": 1.5,
    "examine": 3.0,
    "inspect": 2.5,
    "take": 3.0,
    "move": 4.0,
    "heat": 8.0,
    "clean": 8.0,
    "cool": 8.0,
    "slice": 20.0,
    "use": 2.0,
    "look": 1.0,
    "inventory": 0.4,
    "help": 0.05,
}
"""How often each possible verb is asked about: those that are seldom possible weigh more."""
_WALK: Final = _WEIGHTS | {"go": 5.0, "inspect": 0.2, "examine": 0.2, "look": 0.1, "inventory": 0.1, "help": 0.0}
_LOOKS: Final = ("go", "open", "examine")
_FORMS: Final = (
    "go to {r}",
    "open {r}",
    "close {r}",
    "examine {r}",
    "examine {o}",
    "take {o} from {r}",
    "take {o} from {r}",
    "move {o} to {r}",
    "move {o} to {r}",
    "put {o} in/on {r}",
    "heat {o} with {r}",
    "clean {o} with {r}",
    "cool {o} with {r}",
    "slice {o} with {k}",
    "slice {o} with {k}",
    "use {o}",
    "look",
)


class Example(NamedTuple):
    """One question and its only right answer."""

    prompt: str
    answer: str
    verb: str
    """First word of the command, `inspect` for an object that is examined, `refused` where nothing happens."""


def examples(seed: int, index: int) -> list[Example]:
    """Examples from one household: a pure function of both numbers."""
    if Draw(_LISTS_OR_ALL, seed, index).real() < _LISTS:
        return _of_lists(Draw(_LISTS_STREAM, seed, index))
    draw = Draw(_STREAM, seed, index)
    if index % 2:
        data = wide_household(draw)
    else:
        data = dict(generate(SPLITS[0], draw.between(0, 10**9)).initial_state)
        if draw.real() < 0.3:
            data["put"] = True
    state = Household(data).start()
    found = []
    for _ in range(STEPS):
        for _ in range(PER_STEP):
            command = asked(draw, state)
            found.append(example(state.fork(), command))
        menu = admissible(state)
        command = _errand(draw, state) if draw.real() < 0.35 else ""
        apply(state, menu.get(command) or menu[_possible(draw, state, _WALK)])
    return found


def _of_lists(draw: Draw) -> list[Example]:
    """Looks at receptacles with much in them."""
    state = Household(piled_household(draw)).start()
    found = []
    for _ in range(16):
        menu = admissible(state)
        long = [command for command, op in menu.items() if op.verb in _LOOKS and len(state.inside[op.first]) > 2]
        if long:
            found += [example(state.fork(), draw.choice(long)) for _ in range(2)]
        apply(state, menu[_possible(draw, state, _WALK)])
    return found


def example(state: State, command: str) -> Example:
    """The example of one command; `state` takes the command's effect."""
    prompt = render_compact(recall(state, command, LIMIT), command)
    op = admissible(state).get(command)
    if op is None:
        return Example(prompt, NOTHING, "refused")
    apply(state, op)
    return Example(prompt, answer(state, op), op.verb)


def asked(draw: Draw, state: State) -> str:
    """A command to ask about: mostly a possible one, often one that is wrong in one respect."""
    if draw.real() < 0.75:
        return _possible(draw, state, _WEIGHTS)
    if draw.real() < 0.02:
        return draw.choice(["help", "jump", "sing a song", "go to", "take", "look around", "examine", "open door"])
    form = draw.choice(_FORMS)
    return form.format(o=_object(draw, state), r=_receptacle(draw, state), k=_object(draw, state, knife=True))


def _possible(draw: Draw, state: State, weights: dict[str, float]) -> str:
    by_verb: dict[str, list[str]] = {}
    filled: dict[str, list[str]] = {}
    menu = admissible(state)
    for command, op in menu.items():
        by_verb.setdefault(op.verb, []).append(command)
        if op.verb in _LOOKS and state.inside[op.first]:
            filled.setdefault(op.verb, []).append(command)
    total = sum(weights[verb] for verb in by_verb)
    point = draw.real() * total
    for verb in sorted(by_verb):
        point -= weights[verb]
        if point < 0:
            # Most receptacles are empty; what is in the others is the harder part.
            return draw.choice(filled[verb] if verb in filled and draw.real() < 0.75 else by_verb[verb])
    return "look"


def _errand(draw: Draw, state: State) -> str:
    """A walk to where what is held can be used, or to a thing; may be impossible."""
    home = state.home
    spots = [r for mask in home.appliance.values() for r in bits(mask)]
    if state.hold >= 0 and home.knives >> state.hold & 1:
        spots = [r for r, items in enumerate(state.inside) for o in items if home.sliceable >> o & 1] or spots
    elif state.hold < 0:
        spots = [r for r, items in enumerate(state.inside) if items]
    return f"go to {home.receptacles[draw.choice(spots)]}" if spots else ""


def _object(draw: Draw, state: State, knife: bool = False) -> str:
    home, kind = state.home, draw.real()
    if kind < 0.45 and state.hold >= 0:
        return home.objects[state.hold]
    if knife and kind < 0.8 and home.knives:
        return draw.choice([home.objects[o] for o in range(len(home.objects)) if home.knives >> o & 1])
    near = [o for r in home.here[state.loc] for o in state.inside[r]]
    if kind < 0.75 and near:
        return home.objects[draw.choice(near)]
    if kind < 0.93 and home.objects:
        return draw.choice(home.objects)
    return any_name(draw, draw.choice(OBJECTS)) if kind < 0.98 else draw.choice(home.receptacles)


def _receptacle(draw: Draw, state: State) -> str:
    home, kind = state.home, draw.real()
    near = home.here[state.loc]
    if kind < 0.7 and near:
        return home.receptacles[draw.choice(near)]
    if kind < 0.95:
        return draw.choice(home.receptacles)
    return any_name(draw, draw.choice(RECEPTACLES)) if kind < 0.98 or not home.objects else draw.choice(home.objects)
