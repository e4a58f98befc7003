"""`RolloutSummary`: what a number of episodes came to, with failures kept apart from unsolved tasks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agentworld_envs.agents.faults import FaultCount, count_faults
from agentworld_envs.interface import Injection, Usage

Z95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""

Status = Literal["valid", "invalid", "agent_failure"]
"""`valid`: the score counts. `invalid`: the environment failed (`reward_valid` is False). `agent_failure`: the agent's
own machinery failed. Only valid episodes enter rates and means."""


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """How one episode ended."""

    index: int
    """Position in the rollout; the episode's seed is the rollout's plus this."""
    task_id: str
    seed: int
    status: Status
    score: float
    """Final score in [0, 1]."""
    success: bool
    steps: int
    total_reward: float
    """Sum of the rewards, undiscounted."""
    terminated: bool
    truncated: bool
    failure: str | None = None
    """Kind of the failure, `None` when there was none."""
    message: str = ""
    """The failure in words."""
    usage: dict[str, Usage] = field(default_factory=dict)
    """Cost by line: `world`, `simulator`, `judge`, `sandbox`, `agent`."""
    faults: tuple[Injection, ...] = ()
    """What went wrong on purpose, in order."""

    @property
    def reward_valid(self) -> bool:
        """Whether the rewards may be learned from, as a recording of the episode says, too."""
        return self.status == "valid"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        data = {"return" if key == "total_reward" else key: value for key, value in asdict(self).items()}
        data["faults"] = [fault._asdict() for fault in self.faults]
        return data | {"reward_valid": self.reward_valid}


@dataclass(frozen=True, slots=True)
class RolloutSummary:
    """Episodes in order of their index, and what they come to."""

    episodes: list[EpisodeResult]
    seconds: float
    """Wall-clock time, environment and agent together."""
    steps: int
    """All steps that were made, those of unfinished episodes included."""
    requested: int
    """Episodes that were asked for; more than `n` when the rollout was interrupted."""

    @property
    def n(self) -> int:
        """Finished episodes."""
        return len(self.episodes)

    @property
    def valid(self) -> list[EpisodeResult]:
        """Episodes whose score counts."""
        return [episode for episode in self.episodes if episode.status == "valid"]

    @property
    def n_valid(self) -> int:
        return len(self.valid)

    @property
    def successes(self) -> int:
        """Solved episodes among the valid ones."""
        return sum(episode.success for episode in self.valid)

    @property
    def success_rate(self) -> float | None:
        """Share of solved episodes among the valid ones, `None` without any."""
        return self.successes / self.n_valid if self.n_valid else None

    @property
    def success_interval(self) -> tuple[float, float] | None:
        """Wilson 95 % interval of the success rate, `None` without a valid episode."""
        return wilson_interval(self.successes, self.n_valid) if self.n_valid else None

    @property
    def mean_score(self) -> float | None:
        """Over valid episodes, `None` without any."""
        return _mean([episode.score for episode in self.valid])

    @property
    def mean_steps(self) -> float | None:
        """Over valid episodes, `None` without any."""
        return _mean([episode.steps for episode in self.valid])

    @property
    def steps_per_s(self) -> float:
        """All steps over wall-clock time."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def failures(self) -> dict[str, int]:
        """Episodes that the machinery ended, by kind; the agent's own are prefixed with `agent:`. Most frequent first.

        They are not counted as unsolved.
        """
        kinds = Counter(
            f"agent:{episode.failure}" if episode.status == "agent_failure" else str(episode.failure)
            for episode in self.episodes
            if episode.status != "valid"
        )
        return dict(sorted(kinds.items(), key=lambda item: (-item[1], item[0])))

    @property
    def usage(self) -> dict[str, Usage]:
        """Cost of all finished episodes by line."""
        total: dict[str, Usage] = {}
        for episode in self.episodes:
            for line, usage in episode.usage.items():
                total.setdefault(line, Usage()).add(usage)
        return total

    @property
    def faults(self) -> dict[str, FaultCount]:
        """What went wrong on purpose, by kind; empty without a control."""
        return count_faults(fault for episode in self.episodes for fault in episode.faults)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: aggregates first, then every episode."""
        return {
            "requested": self.requested,
            "n": self.n,
            "n_valid": self.n_valid,
            "successes": self.successes,
            "success_rate": self.success_rate,
            "success_interval_95": list(self.success_interval) if self.success_interval else None,
            "mean_score": self.mean_score,
            "mean_steps": self.mean_steps,
            "steps": self.steps,
            "seconds": self.seconds,
            "steps_per_s": self.steps_per_s,
            "failures": self.failures,
            "faults": {kind: count.to_dict() for kind, count in self.faults.items()},
            "usage": {line: asdict(usage) for line, usage in self.usage.items()},
            "episodes": [episode.to_dict() for episode in self.episodes],
        }


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a proportion; honest for few episodes and for rates near 0 and 1.

    Args:
        successes: between 0 and `n`.
        n: number of trials, at least 1.
    """
    rate, z2 = successes / n, Z95 * Z95
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # At the ends the exact bounds are 0 and 1; rounding leaves 1e-17 there.
    return (0.0 if successes == 0 else centre - half), (1.0 if successes == n else centre + half)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
