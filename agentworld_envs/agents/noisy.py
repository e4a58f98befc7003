"""`NoisyExpert`: the expert, who now and then does something else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentworld_envs.agents.base import Decision, Info
from agentworld_envs.agents.expert import ExpertAgent
from agentworld_envs.agents.random import random_action
from agentworld_envs.backends.real import RealSession
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ConfigError, TaskError


def slips(seed: int, episode_seed: int, step: int, epsilon: float) -> bool:
    """Whether the agent of that seed slips at a step (1-based) of an episode. A pure function."""
    return bool(_rng(seed, episode_seed, step).random() < epsilon)


def _rng(seed: int, episode_seed: int, step: int) -> np.random.Generator:
    return np.random.default_rng([seed, episode_seed, step])


class NoisyExpert(ExpertAgent):
    """Epsilon-greedy: at each step, with probability epsilon, an action that the plan does not have there.

    That is an admissible command, where the domain lists them; else one that was planned for any other step, which is
    early, late or done again. Without it, data would only show what happens on the way of those who make no mistake.

    After a slip the plan is made anew from the state of the real world, where the domain can do so; on a machine, whose
    solution is a fixed list, it goes on where it was.
    """

    def __init__(self, epsilon: float, seed: int = 0) -> None:
        """Args: epsilon: in [0, 1]. seed: of the slips (>= 0), mixed with the episode's.

        Raises:
            ConfigError: a number out of range.
        """
        if not 0.0 <= epsilon <= 1.0:
            raise ConfigError(f"Expected epsilon to be between 0 and 1, got {epsilon}.")
        if seed < 0:
            raise ConfigError(f"Expected the agent's seed to be at least 0, got {seed}.")
        super().__init__()
        self.epsilon = epsilon
        self._seed = seed
        self._episodes: dict[int, Episode] = {}
        self._astray: dict[int, bool] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        super().reset(slot, observation, info, episode)
        self._episodes[slot], self._astray[slot] = episode, False

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [self._decide(slot, info) for slot, info in zip(slots, infos, strict=True)]

    def _decide(self, slot: int, info: Info) -> Decision:
        rng = _rng(self._seed, self._episodes[slot].seed, int(info["step"]) + 1)
        if slot not in self._failures and rng.random() < self.epsilon:
            self._astray[slot] = True
            return self._slip(slot, info, rng)
        if self._astray[slot]:
            self._astray[slot] = False
            self._replan(self._episodes[slot], slot)
        return self._next(slot)

    def _slip(self, slot: int, info: Info, rng: np.random.Generator) -> str:
        plan = self._plans[slot]
        if info["admissible_commands"] or not plan:
            return random_action(rng, info)
        return plan[int(rng.integers(len(plan)))]

    def _replan(self, episode: Episode, slot: int) -> None:
        session = episode.session
        if session.domain.needs_sandbox or not isinstance(session, RealSession) or session.world is None:
            return
        try:
            plan = list(session.domain.expert(episode.task, session.world))
        except TaskError:  # the slip has spoilt the task: what is left of the old plan is as good as any
            return
        if plan:
            self._plans[slot], self._steps[slot] = plan, 0
