"""`Fidelity`: measures simulators against the real world, episode by episode and step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agentworld_envs.agents import Agent
from agentworld_envs.backends.real import RealConfig
from agentworld_envs.backends.shadow import Mode, ShadowBackend, ShadowConfig
from agentworld_envs.backends.shadow.backend import ShownSimulation
from agentworld_envs.backends.world_model import WorldModelBackend, WorldModelConfig
from agentworld_envs.evaluation.fidelity_numbers import agreement, mode_report
from agentworld_envs.evaluation.fidelity_report import FidelityReport, ModelReport
from agentworld_envs.evaluation.shadow_episodes import ScoredEpisode, play_shadow
from agentworld_envs.interface import ConfigError, Domain

MODES: tuple[Mode, ...] = ("teacher_forced", "free_running")
"""Both are played unless told otherwise."""

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
