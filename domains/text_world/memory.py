"""`Memory` and `HouseTracker`: what the simulator of an episode knows, next to what the episode has shown."""

from __future__ import annotations

from agentworld_envs.domains.text_world.contradictions import contradictions
from agentworld_envs.domains.text_world.evidence import Facts
from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.recall import recall
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.domains.text_world.tracker import Belief
from agentworld_envs.domains.text_world.world import command_of
from agentworld_envs.interface import Action, Tracker


class Memory(Belief):
    """A `Belief` that begins with the whole household, which the simulator is told anyway.

    From there on it changes by the same rule: only by the game's own sentence for exactly this command, and by lists of
    contents, which replace what was believed. It is no evidence for anything.
    """

    def __init__(self, home: Household) -> None:
        """Args: home: the task's household."""
        super().__init__(home)
        self._state = home.start()
        self._known = (1 << len(home.receptacles)) - 1

    @property
    def state(self) -> State:
        """What is so by now. Do not change."""
        return self._state


class HouseTracker(Tracker):
    """Evidence from a `Belief`, and what to tell the simulator from a `Memory`: the two never mix."""

    def __init__(self, home: Household) -> None:
        """Args: home: the task's household."""
        self._belief = Belief(home)
        self._memory = Memory(home)

    def observe(self, action: Action, observation: str) -> None:
        self._belief.observe(action, observation)
        self._memory.observe(action, observation)

    def evidence(self) -> Facts:
        return self._belief.evidence()

    def recall(self, action: Action, limit: int) -> str:
        """Facts on the agent and on what the action names; see `recall`. A line each."""
        return recall(self._memory.state, command_of(action), limit)

    def contradictions(self, action: Action, observation: str) -> list[str]:
        return contradictions(self._memory.state, command_of(action), observation)

    def fork(self) -> HouseTracker:
        twin = HouseTracker.__new__(HouseTracker)
        twin._belief, twin._memory = self._belief.fork(), self._memory.fork()
        return twin

    def commands(self) -> list[str]:
        return self._belief.commands()
