"""`RewardModel`: who decides success. A separate choice from where transitions come from."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from agentworld_envs.interface.action import Action
from agentworld_envs.interface.backend import Session
from agentworld_envs.interface.domain import Domain
from agentworld_envs.interface.errors import Failure
from agentworld_envs.interface.transition import Usage, Verdict


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """What a reward model may look at."""

    session: Session
    """The episode's session, with its domain and task."""
    transcript: Sequence[tuple[Action, str]]
    """Every action that was executed, with the observation it got, in order. Those that never reached the backend, or
    that an injected fault kept from being executed (`Transition.executed`), are not among them."""
    steps: int
    """Steps so far, those included whose action never reached the backend."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a reward model says: a verdict, or a failure in place of one."""

    verdict: Verdict
    failure: Failure | None = None
    """Set when the reward could not be determined; the step is then not valid for learning."""
    usage: Usage | None = None
    """Cost of judging, booked in the ledger apart from the simulator's."""


class RewardModel(ABC):
    """Scores episodes. Batch first, so that a judge can ask for many opinions at once."""

    name: ClassVar[str]
    at_end: ClassVar[bool] = False
    """Whether the reward is given at the end of the episode only, so that leaving it earlier loses the reward."""

    def check(self, domain: Domain) -> None:  # noqa: B027 - most can score any domain
        """Find out early that this model cannot score a domain.

        Raises:
            ConfigError: it cannot; says what can.
        """

    def step(self, episodes: Sequence[EpisodeView]) -> list[Judgement]:
        """Score after each step. `verdict.done` ends the episode. Default: the session's own verdict."""
        return [Judgement(view.session.verdict()) for view in episodes]

    def final(self, episodes: Sequence[EpisodeView], latest: Sequence[Judgement]) -> list[Judgement]:
        """Score once more at the end of an episode. Default: `latest` as it is."""
        return list(latest)

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the model holds. Idempotent."""
