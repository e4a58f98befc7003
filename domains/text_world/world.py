"""`HouseWorld`: the real dynamics of one game."""

from __future__ import annotations

from agentworld_envs.domains.text_world.evidence import Facts
from agentworld_envs.domains.text_world.rules import admissible, apply
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.domains.text_world.wording import NOTHING, answer, intro
from agentworld_envs.interface import Action, World


def command_of(action: Action) -> str:
    """The command text of an action, without blanks around it; empty when there is none."""
    command = action.arguments.get("command", action.command)
    return command.strip() if isinstance(command, str) else ""


class HouseWorld(World):
    """Pure Python, no process, no random choice. `fork` costs a few microseconds."""

    def __init__(self, state: State, sentence: str) -> None:
        """Args: state: where the game begins, owned from here on. sentence: the goal in words."""
        self.state = state
        self._sentence = sentence

    def reset(self) -> str:
        return intro(self.state, self._sentence)

    def act(self, action: Action) -> str:
        state = self.state
        op = admissible(state).get(command_of(action))
        if op is None:
            return NOTHING
        apply(state, op)
        return answer(state, op)

    def evidence(self) -> Facts:
        return Facts(self.state)

    def fork(self) -> HouseWorld:
        return HouseWorld(self.state.fork(), self._sentence)

    def commands(self) -> list[str]:
        return sorted(admissible(self.state))
