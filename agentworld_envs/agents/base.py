"""`Agent`: who chooses the actions. Batch first, so that a language model answers for all slots at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from agentworld_envs.episode import Episode
from agentworld_envs.interface import Failure, Usage

Info = Mapping[str, Any]
"""`info` of one slot, as a single environment returns it."""

Decision = str | Failure
"""What an agent does: an action, or a failure of its own machinery in place of one. A failure is not a bad action: the
rollout ends the episode and reports it apart, neither as solved nor as unsolved."""


class Agent(ABC):
    """Plays episodes in numbered slots, one episode per slot at a time.

    An agent sees what a policy may see: observations and `info`. The `episode` that `reset` gets is for agents that
    are allowed to know more (the expert) and for identity (the replay agent).
    """

    name: ClassVar[str]
    """What a user types."""

    @abstractmethod
    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        """A new episode starts in `slot`; what was known of the one before is forgotten."""

    @abstractmethod
    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        """Decide for every slot; same order, same length. Never raises for a slot: see `Decision`.

        Args:
            slots: those whose episodes go on.
            observations: the latest of each; at the first step that of the reset.
            infos: the latest of each.
        """

    def usage(self, slot: int) -> Usage:
        """What the present episode of `slot` has cost on the agent's side, apart from the environment's ledger."""
        return Usage()

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """Release what the agent holds (a model, worlds). Idempotent."""
