"""`Fidelity`: measures simulators against the real world, episode by episode and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentworld_envs.agents import Agent
from agentworld_envs.backends.real import RealConfig
from agentworld_envs.backends.shadow import Mode, ShadowBackend, ShadowConfig
from agentworld_envs.backends.shadow.backend import ShownSimulation
from agentworld_envs.backends.world_model import WorldModelBackend, WorldModelConfig
from agentworld_envs.evaluation.episode_bootstrap import EpisodeBootstrap, Estimate
from agentworld_envs.evaluation.fidelity_report import (
    FidelityReport,
    HorizonPoint,
    ModelReport,
    ModeReport,
    Rate,
    SuccessAgreement,
)
from agentworld_envs.evaluation.shadow_episodes import ScoredEpisode, ScoredStep, play_shadow
from agentworld_envs.evaluation.step_scores import SCORES
from agentworld_envs.interface import ConfigError, Domain, Usage

MODES: tuple[Mode, ...] = ("teacher_forced", "free_running")
"""Both are played unless told otherwise."""
STRICT = ("exact", "edit", "token_f1")
"""Scores that are given with failures counted as 0, too."""

Progress = Callable[[str, str, int, int], None]
"""Called with label, mode, episodes done and episodes wanted, after every episode."""


class Fidelity:
    """A measurement under way. `report` may be asked at any time, also after an interrupted `run`.

    Every model plays the same tasks with the same seeds. Teacher-forced, the agent acts on reality, and every
    prediction is made from a true past: errors of single steps. Free-running, the agent acts on what the simulator
    shows, which goes on from its own predictions, and reality follows with the same actions: how errors add up, and
    what a success is worth (after Word2World and the shadow runs that users of Qwen-AgentWorld have published:
    real, simulated and replayed success, and how often one is deceived).
    """

    def __init__(
        self,
        domain: str | Domain,
        models: Sequence[str | WorldModelConfig],
        agent: Agent,
        *,
        episodes: int = 20,
        modes: Sequence[Mode] = MODES,
        seed: int = 0,
        num_envs: int = 8,
        tasks: Any = None,
        max_steps: int | None = None,
        sandbox: Any = None,
        record: str | Path | None = None,
        environment: str = "",
        progress: Progress | None = None,
    ) -> None:
        """Prepare; no model is loaded or contacted yet.

        Args:
            domain: a domain or its name.
            models: model strings or settings of the simulators, at least one.
            agent: stays the caller's to close.
            episodes: of each model in each mode (>= 1); episode `i` has seed `seed + i`.
            modes: `teacher_forced`, `free_running` or both.
            seed: of episode 0, and of the bootstrap (>= 0).
            num_envs: episodes at a time, for one batched generation per step; changes speed, never results.
            tasks, max_steps, sandbox: as of `AgentWorldEnv`.
            record: trajectory file that every episode is appended to, with all texts and scores.
            environment: name for the report; default: the domain's.
            progress: called after every episode.

        Raises:
            ConfigError: no model, a mode or number that cannot be, or a model that cannot be used here.
        """
        if not models:
            raise ConfigError("Expected at least one model, e.g. models=['scripted:oracle'].")
        if episodes < 1 or seed < 0 or num_envs < 1:
            raise ConfigError(
                f"Expected episodes >= 1, seed >= 0 and num_envs >= 1, got {episodes}, {seed} and {num_envs}."
            )
        wrong = [mode for mode in modes if mode not in MODES]
        if wrong or not modes:
            raise ConfigError(f"Expected modes out of {', '.join(MODES)}, got {', '.join(map(str, modes)) or 'none'}.")
        self._domain, self._agent, self._progress = domain, agent, progress
        self._episodes, self._modes, self._seed = episodes, tuple(dict.fromkeys(modes)), seed
        self._arguments: dict[str, Any] = {
            "num_envs": num_envs,
            "tasks": tasks,
            "max_steps": max_steps,
            "sandbox": sandbox,
            "record": record,
        }
        self._environment = environment or (domain if isinstance(domain, str) else domain.name)
        self._configs = [WorldModelConfig.of(model=m) if isinstance(m, str) else m for m in models]
        self._labels = _labels([config.model for config in self._configs])
        self._scorer = ShadowConfig.of(world_model=self._configs[0]).load_scorer()
        self._settings: list[dict[str, Any]] = []
        for config in self._configs:
            config.engine().close()  # what is wrong with any of them is said before the first one is run
            self._settings.append({})
        self._played: dict[tuple[int, Mode], list[ScoredEpisode]] = {}
        self._complete = False

    def run(self) -> FidelityReport:
        """Play all episodes. A `KeyboardInterrupt` passes through; `report` then tells what is done."""
        for index, config in enumerate(self._configs):
            simulator = config.build()
            self._settings[index] = simulator.describe()
            try:
                for mode in self._modes:
                    self._play(index, mode, simulator)
            finally:
                simulator.shutdown()
        self._complete = True
        return self.report()

    def _play(self, index: int, mode: Mode, simulator: WorldModelBackend) -> None:
        kind = ShadowBackend if mode == "teacher_forced" else ShownSimulation
        real = RealConfig().build()
        backend = kind(real, simulator, forced=mode == "teacher_forced", scorer=self._scorer)
        done = self._played.setdefault((index, mode), [])

        def progress(_: ScoredEpisode) -> None:
            if self._progress is not None:
                self._progress(self._labels[index], mode, len(done), self._episodes)

        try:
            play_shadow(
                self._domain,
                backend,
                self._agent,
                self._episodes,
                into=done,
                seed=self._seed,
                progress=progress,
                **self._arguments,
            )
        finally:
            backend.release()
            real.shutdown()

    def report(self) -> FidelityReport:
        """What has been played so far."""
        return FidelityReport(
            environment=self._environment,
            agent=self._agent.name,
            tasks=None if self._arguments["tasks"] is None else str(self._arguments["tasks"]),
            episodes=self._episodes,
            seed=self._seed,
            max_steps=self._arguments["max_steps"],
            interrupted=not self._complete,
            models=[self._model(index) for index in range(len(self._configs))],
        )

    def _model(self, index: int) -> ModelReport:
        played = {mode: self._played.get((index, mode), []) for mode in self._modes}
        return ModelReport(
            model=self._configs[index].model,
            label=self._labels[index],
            settings=self._settings[index],
            modes={mode: mode_report(mode, episodes, seed=self._seed) for mode, episodes in played.items()},
            success=agreement(played.get("teacher_forced", []), played.get("free_running", [])),
        )


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


def _labels(models: Sequence[str]) -> list[str]:
    """The ends of model strings, as long as they differ; numbered where even the strings are the same."""
    short = [model.rpartition("#")[2].rpartition("/")[2] or model for model in models]
    if len(set(short)) < len(short):
        short = list(models)
    seen: Counter[str] = Counter()
    labels = []
    for name in short:
        seen[name] += 1
        labels.append(name if short.count(name) == 1 else f"{name} ({seen[name]})")
    return labels
