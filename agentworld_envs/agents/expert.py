"""`ExpertAgent`: plays the domain's own solution, open loop."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.episode import Episode
from agentworld_envs.interface import Failure, classify


class ExpertAgent(Agent):
    """Plans once per episode in a real world of its own and plays that plan, whatever is observed.

    It works on every backend: on a world model it plays the real solution against the simulator, which tells how far
    the simulator can be trusted. It knows hidden answers; never compare it with policies.
    """

    name = "expert"

    def __init__(self) -> None:
        self._plans: dict[int, list[str]] = {}
        self._steps: dict[int, int] = {}
        self._failures: dict[int, Failure] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self._steps[slot] = 0
        self._failures.pop(slot, None)
        try:
            self._plans[slot] = self._plan(episode)
        except Exception as error:  # noqa: BLE001 - a task that cannot be planned is the failure of this slot alone
            self._failures[slot] = classify(error)

    @staticmethod
    def _plan(episode: Episode) -> list[str]:
        domain = episode.session.domain
        world = domain.world(episode.task)
        try:
            world.reset()
            return list(domain.expert(episode.task, world))
        finally:
            world.close()

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [self._next(slot) for slot in slots]

    def _next(self, slot: int) -> Decision:
        if slot in self._failures:
            return self._failures[slot]
        plan, step = self._plans[slot], self._steps[slot]
        self._steps[slot] = step + 1
        if not plan:
            return Failure("expert", "The domain's expert has no action for this task.", False)
        # Behind the end of the plan (the simulator did not see it succeed) the last action is as harmless as any.
        return plan[min(step, len(plan) - 1)]
