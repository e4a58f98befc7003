"""From scored episodes to the numbers of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from agentworld_envs.evaluation.episode_bootstrap import EpisodeBootstrap, Estimate
from agentworld_envs.evaluation.fidelity_report import HorizonPoint, ModeReport, Rate, SuccessAgreement
from agentworld_envs.evaluation.shadow_episodes import ScoredEpisode, ScoredStep
from agentworld_envs.evaluation.step_scores import SCORES
from agentworld_envs.interface import Usage

STRICT = ("exact", "edit", "token_f1")
"""Scores that are given with failures counted as 0, too."""


def mode_report(mode: str, episodes: Sequence[ScoredEpisode], *, seed: int = 0) -> ModeReport:
    """The numbers of the episodes of one model in one mode. `seed`: of the bootstrap (>= 0)."""
    bootstrap = EpisodeBootstrap(len(episodes), seed=seed)
    steps = [step for episode in episodes for step in episode.steps]
    answered = [[step for step in episode.steps if step.status == "answered"] for episode in episodes]
    asked = [[step for step in episode.steps if step.status in ("answered", "failed")] for episode in episodes]
    status = Counter(step.status for step in steps)
    verbs = Counter(step.verb for own in answered for step in own)
    last = max((step.step for own in answered for step in own), default=0)
    failures = Counter(str(step.failure) for step in steps if step.status == "failed")
    partings = Counter(f"{e.parting['side']} {e.parting['why']}" for e in episodes if e.parting is not None)
    return ModeReport(
        mode=mode,
        episodes=len(episodes),
        steps=len(steps),
        answered=status["answered"],
        by_code=status["by_code"],
        failed=status["failed"],
        beyond=status["beyond"],
        absent=status["absent"],
        unscored=sum(step.unscored for step in steps),
        scores=_scores(bootstrap, answered),
        with_failures={name: bootstrap.estimate(_with_failures(asked, name)) for name in STRICT},
        contradicting=bootstrap.estimate([[float(step.contradictions > 0) for step in own] for own in answered]),
        format={name: _of(bootstrap, asked, name) for name in ("tag_found", "tag_closed", "empty", "cut", "retries")},
        failures=_ordered(failures),
        by_verb={
            verb: _scores(bootstrap, [[step for step in own if step.verb == verb] for own in answered])
            for verb in _ordered(verbs)
        },
        by_step=[
            HorizonPoint(
                step=number,
                scores=_scores(bootstrap, [[step for step in own if step.step == number] for own in answered]),
            )
            for number in range(1, last + 1)
        ],
        first_difference=bootstrap.estimate(
            [[] if e.first_difference is None else [float(e.first_difference)] for e in episodes]
        ),
        parted=_ordered(partings),
        usage=_usage(episodes),
        runs=list(episodes),
    )


def agreement(acted_on_reality: Sequence[ScoredEpisode], acted_on_model: Sequence[ScoredEpisode]) -> SuccessAgreement:
    """Whether success in the simulator is success in reality.

    Args:
        acted_on_reality: teacher-forced episodes.
        acted_on_model: free-running episodes.
    """
    real = [e.real.success for e in acted_on_reality if e.real.status == "determined" and e.failure is None]
    simulated = [e.simulated.success for e in acted_on_model if e.simulated.status == "determined"]
    replayed = [e.real.success for e in acted_on_model if e.real.status == "determined"]
    both = [
        (e.simulated.success, e.real.success)
        for e in acted_on_model
        if e.simulated.status == "determined" and e.real.status == "determined"
    ]
    return SuccessAgreement(
        real=Rate.of(sum(real), len(real)),
        simulated=Rate.of(sum(simulated), len(simulated)),
        replay=Rate.of(sum(replayed), len(replayed)),
        agreement=Rate.of(sum(told == true for told, true in both), len(both)),
        deceived=Rate.of(sum(told and not true for told, true in both), len(both)),
        missed=Rate.of(sum(true and not told for told, true in both), len(both)),
        undetermined=sum(e.simulated.status == "undetermined" for e in acted_on_model),
        failed=sum("failed" in (e.simulated.status, e.real.status) for e in acted_on_model),
    )


def _scores(bootstrap: EpisodeBootstrap, episodes: Sequence[Sequence[ScoredStep]]) -> dict[str, Estimate]:
    """Estimates of all scores that any step has."""
    estimates = {}
    for name in SCORES:
        values = [[value for step in own if (value := step.scores.get(name)) is not None] for own in episodes]
        if any(values):
            estimates[name] = bootstrap.estimate(values)
    return estimates


def _with_failures(episodes: Sequence[Sequence[ScoredStep]], name: str) -> list[list[float]]:
    return [
        [0.0 if step.status == "failed" else float(step.scores.get(name) or 0.0) for step in own if not step.unscored]
        for own in episodes
    ]


def _of(bootstrap: EpisodeBootstrap, episodes: Sequence[Sequence[ScoredStep]], name: str) -> Estimate:
    return bootstrap.estimate([[float(getattr(step, name)) for step in own] for own in episodes])


def _ordered(counts: Counter[str]) -> dict[str, int]:
    """Most frequent first, names where they are equal."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _usage(episodes: Iterable[ScoredEpisode]) -> dict[str, float]:
    total = Usage()
    for episode in episodes:
        total.add(Usage(**episode.simulator))
    return asdict(total)
