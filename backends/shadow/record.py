"""What a shadow episode keeps of every step, and of its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agentworld_envs.interface import Action, Failure, Verdict

Side = Literal["real", "world_model"]
"""The two halves of a shadow episode, named as in `info["source"]`."""


@dataclass(frozen=True, slots=True)
class Half:
    """One side's share of one step."""

    observation: str
    """As it was given, not clipped; empty when the side failed."""
    terminated: bool = False
    """This side's episode ended of itself in this step."""
    failure: Failure | None = None
    verdict: Verdict | None = None
    """After this step; `None` when there is none to be had. With teacher forcing the simulated side's verdict is that
    on the real observations, as its tracker reads them."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "observation": self.observation,
            "terminated": self.terminated,
            "failure": None if self.failure is None else self.failure._asdict(),
            "verdict": None if self.verdict is None else asdict(self.verdict),
        }


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One action, and what came of it on both sides."""

    step: int
    """1-based, of the actions that reached the backend."""
    action: Action
    shown: Side
    """Whose observation the agent got."""
    forced: bool
    """Whether the simulator's history goes on with the real observation."""
    beyond: bool
    """Free-running, and the hidden side's own episode was over before this step: its verdict was done. It is stepped
    on, but alone it would not have been."""
    real: Half | None
    """`None` when this side was not stepped: it could not be opened, has ended, or failed before."""
    simulated: Half | None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    """The scorer's numbers; empty unless both sides gave an observation."""
    scoring_failure: Failure | None = None
    """Why there are no scores, when the scorer itself failed."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Flags of the simulated transition: `tag_found`, `contradictions`, `finish_reason`, ..."""

    @property
    def answered(self) -> bool:
        """Whether both sides gave an observation."""
        halves = (self.real, self.simulated)
        return all(half is not None and half.failure is None for half in halves)

    def to_json(self) -> dict[str, Any]:
        """Plain values for a recording, without what its line has anyway (action, flags).

        The shown observation is among them: what the agent read may have been cut or altered since.
        """
        real, simulated = self.real, self.simulated
        return {
            "shown": self.shown,
            "forced": self.forced,
            "beyond": self.beyond,
            "real": None if real is None else real.to_json(),
            "simulated": None if simulated is None else simulated.to_json(),
            "scores": dict(self.scores),
            "scoring_failure": None if self.scoring_failure is None else self.scoring_failure._asdict(),
        }


@dataclass(frozen=True, slots=True)
class Parting:
    """Where the two sides stopped being the same length."""

    step: int
    """0 when a side could not be opened."""
    side: Side
    """The side whose episode was over while the other went on."""
    why: Literal["ended", "decided", "failed"]
    """It ended of itself, its verdict was done, or it failed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one side's episode came out."""

    verdict: Verdict | None
    """`None` when there is none to be had."""
    failure: Failure | None = None
    step: int = 0
    """The step after which the verdict was taken: an episode is over with the first verdict that is done, even where
    its side was stepped on."""
