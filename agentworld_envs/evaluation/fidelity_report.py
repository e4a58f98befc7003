"""What a measurement of fidelity comes to: frozen numbers, and JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from agentworld_envs.agents.summary import wilson_interval
from agentworld_envs.evaluation.episode_bootstrap import Estimate
from agentworld_envs.evaluation.shadow_episodes import ScoredEpisode


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Rate(_Frozen):
    """A proportion of episodes, with Wilson's 95 % interval."""

    count: int
    n: int
    rate: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, count: int, n: int) -> Rate:
        """`count` out of `n`; no rate for `n` = 0."""
        low, high = wilson_interval(count, n) if n else (None, None)
        return cls(count=count, n=n, rate=count / n if n else None, low=low, high=high)


class HorizonPoint(_Frozen):
    """All episodes at one step."""

    step: int
    scores: dict[str, Estimate]


class ModeReport(_Frozen):
    """One model in one mode: per-step numbers."""

    mode: str
    """`teacher_forced`: every prediction is made from a true past, the agent acts on reality. `free_running`: the
    simulator goes on from its own predictions, on which the agent acts, too."""
    episodes: int
    steps: int
    """Of all episodes."""
    answered: int
    """Steps whose observation the model predicted: those that are scored."""
    by_code: int
    """Steps that the domain's code answered without the model: not scored."""
    failed: int
    beyond: int
    """Steps after one side's own episode was over (what the agent does then says nothing): not scored."""
    absent: int
    """Steps after one side had failed or ended, and those in which reality failed."""
    unscored: int
    """Answered steps whose comparison failed."""
    scores: dict[str, Estimate]
    """By name (`step_scores.SCORES`), over answered steps."""
    with_failures: dict[str, Estimate]
    """`exact`, `edit` and `token_f1` with failed steps counted as 0."""
    contradicting: Estimate
    """Share of answered steps that contradict the tracked state."""
    format: dict[str, Estimate]
    """Shares of the steps in which the model was asked: `tag_found`, `tag_closed`, `empty`, `cut`; mean `retries`."""
    failures: dict[str, int]
    """Failed steps by kind, most frequent first."""
    by_verb: dict[str, dict[str, Estimate]]
    """Scores by kind of command, most frequent first."""
    by_step: list[HorizonPoint]
    """Scores at step 1, 2, ... over the episodes that got there: the drift."""
    first_difference: Estimate
    """Step of the first observation that is not the same, over the episodes that have one."""
    parted: dict[str, int]
    """Episodes in which one side ended or failed before the other, as `SIDE WHY`."""
    usage: dict[str, float]
    """What the simulator has cost: tokens, US dollars, seconds."""
    runs: list[ScoredEpisode]


class SuccessAgreement(_Frozen):
    """Whether a success in the simulator is one in reality.

    `simulated`, `replay` and below are of the same episodes: the agent acts on simulated observations, and its actions
    are executed in reality in lock-step. Undetermined and failed verdicts are no failures of the agent and enter no
    rate.
    """

    real: Rate
    """Success of the agent when it acts on real observations. No episodes when that was not played."""
    simulated: Rate
    """By the tracker's evidence: what the simulator showed."""
    replay: Rate
    """The same actions in reality."""
    agreement: Rate
    """Both verdicts are the same, of the episodes in which both are determined, like the next two."""
    deceived: Rate
    """The simulator says success, and reality says no."""
    missed: Rate
    """Reality says success, and the simulator says no."""
    undetermined: int
    """Episodes whose simulated verdict is undetermined: what was shown does not tell."""
    failed: int
    """Episodes that have no verdict on one side, because simulator, reality or agent failed."""


class ModelReport(_Frozen):
    """One model."""

    model: str
    label: str
    """Short name for tables and pictures, unique in the report."""
    settings: dict[str, Any]
    """What the backend says of itself: revision, sampling, prompt."""
    modes: dict[str, ModeReport]
    success: SuccessAgreement


class FidelityReport(_Frozen):
    """How far simulators can be trusted in one environment."""

    environment: str
    agent: str
    tasks: str | None
    episodes: int
    """That were asked for, of each model in each mode."""
    seed: int
    max_steps: int | None
    interrupted: bool
    models: list[ModelReport]

    def to_json(self) -> str:
        """Indented JSON with all numbers and every episode's steps, without texts."""
        return self.model_dump_json(indent=2) + "\n"
