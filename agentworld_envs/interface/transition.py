"""What one step produced: `Transition`, with its `Usage` (cost) and the domain's `Verdict` (score)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agentworld_envs.interface.errors import Failure
from agentworld_envs.interface.fault import Injection

Source = Literal["real", "world_model", "replay"]
"""Where an observation came from."""


@dataclass(slots=True)
class Usage:
    """What one step cost on the environment's side. Zero everywhere for a local, real step."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    """Part of `completion_tokens` that was spent on thinking, where the server says so."""
    cost: float = 0.0
    """US dollars, 0 when unknown."""
    cache_hits: int = 0
    """Generations answered from a cassette or joined to an identical one in flight."""
    retries: int = 0
    seconds: float = 0.0
    """Wall-clock time that this episode waited. The slots of a batch wait together, so sums over slots overlap. Kept
    out of `info`, which has to be deterministic."""
    cached_tokens: int = 0
    """Part of `prompt_tokens` that an engine's prefix cache knew already, where it says so."""

    def add(self, other: Usage) -> None:
        """Add `other` to this one, field by field."""
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.reasoning_tokens += other.reasoning_tokens
        self.cost += other.cost
        self.cache_hits += other.cache_hits
        self.retries += other.retries
        self.seconds += other.seconds
        self.cached_tokens += other.cached_tokens


@dataclass(slots=True)
class Transition:
    """The answer to one action, whoever gave it."""

    observation: str
    """Only what is new this turn."""
    source: Source
    terminated: bool = False
    """The world itself ended (an answer was submitted, the process is gone by the agent's own act)."""
    failure: Failure | None = None
    """Set when the machinery failed; no reward may be drawn from it. The observation is what there was until then
    (partial output, say); when it is empty, the agent keeps the previous one."""
    usage: Usage | None = None
    """Cost of a simulator; `None` when there is nothing to bill."""
    other_usage: Sequence[tuple[Source, Usage]] = ()
    """Cost of steps that were made along with this one and whose observations are not shown (a shadow's)."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """How the observation was obtained (`tag_found`, `finish_reason`, ...): for the ledger, not for the agent."""
    fault: Injection | None = None
    """The fault that hit this action on purpose, see `Control`. It is no `failure`: the reward stays valid."""

    @property
    def executed(self) -> bool:
        """Whether the action was executed, as far as the environment is concerned."""
        return self.fault is None or self.fault.executed


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a domain's code makes of the evidence."""

    score: float
    """Partial credit in [0, 1]."""
    success: bool
    """The task is solved."""
    done: bool = False
    """Nothing that the agent does from here on can change the score: the episode ends."""
    determined: bool = True
    """Whether the evidence is enough to tell. At the end of an episode a verdict that is not determined makes the
    reward invalid: it is never a score of 0."""
