"""The held-out examples of the text world: real games of a split that training never sees, played in two ways."""

from __future__ import annotations

from functools import cache
from typing import Final

from agentworld_envs.domains.text_world.expert import plan
from agentworld_envs.domains.text_world.generate import Draw, generate
from agentworld_envs.domains.text_world.goal import compile_goal
from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.rules import admissible
from agentworld_envs.training.text_world_examples import Example, asked, example

GAMES: Final = 30
"""Tasks that a training looks at."""
_STREAM: Final = 5501


@cache
def held_out(split: str = "valid_unseen", games: int = GAMES, steps: int = 20) -> tuple[Example, ...]:
    """Steps of expert and of random play.

    Args:
        split: of the generated tasks, not `train`.
        games: how many tasks; each is played by the expert and at random.
        steps: of random play per task; every fifth command is one of those that training asks about, possible or not.
    """
    found = []
    for index in range(games):
        task = generate(split, index)
        home = Household(task.initial_state)
        goal = compile_goal(task.verifier["goal"], home)
        state = home.start()
        found += [example(state, command) for command in plan(state, goal)]
        state, draw = home.start(), Draw(_STREAM, index)
        for step in range(steps):
            command = draw.choice(sorted(admissible(state))) if step % 5 else asked(draw, state)
            found.append(example(state, command))
    return tuple(found)
