"""`RandomAgent`: any admissible command."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.episode import Episode
from agentworld_envs.spaces import AnyText

SAMPLE_SEEDS = 2**31
"""Seeds of the action space are below this."""


class RandomAgent(Agent):
    """Uniform over `info["admissible_commands"]`; where there are none, short random text.

    Its draws are a function of its own seed and the episode's, so that they depend neither on the slot nor on what is
    played beside it.
    """

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        """Args: seed: of the agent (>= 0); another seed plays the same episodes differently."""
        self._seed = seed
        self._rngs: dict[int, np.random.Generator] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self._rngs[slot] = np.random.default_rng([self._seed, episode.seed])

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [random_action(self._rngs[slot], info) for slot, info in zip(slots, infos, strict=True)]


def random_action(rng: np.random.Generator, info: Info) -> str:
    """One draw: an admissible command, or short random text where no command is listed."""
    commands: list[str] = info["admissible_commands"]
    if commands:
        return commands[int(rng.integers(len(commands)))]
    return AnyText(seed=int(rng.integers(SAMPLE_SEEDS))).sample()
