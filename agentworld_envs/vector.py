"""`AgentWorldVectorEnv`: many episodes, one backend step (for a world model: one batched generation) per step."""

from __future__ import annotations

import operator
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from agentworld_envs.backends import BackendConfig
from agentworld_envs.env import RENDER_MODES, show
from agentworld_envs.episode import MAX_OBSERVATION_CHARS, Episode, StepResult
from agentworld_envs.factory import build_runner
from agentworld_envs.interface import Backend, ConfigError, Domain, RewardModel, Task, TaskSource, unknown_name
from agentworld_envs.ledger import Ledger
from agentworld_envs.parsing import MAX_ACTION_CHARS
from agentworld_envs.runner import EpisodeRunner
from agentworld_envs.selection import SEED_RANGE
from agentworld_envs.spaces import AnyText

Infos = dict[str, Any]
Flags = NDArray[np.bool_]


class AgentWorldVectorEnv(VectorEnv[tuple[str, ...], Sequence[str], NDArray[Any]]):
    """`num_envs` independent episodes with the same results as as many `AgentWorldEnv`, step by step.

    Observations are a tuple of `num_envs` strings, rewards a float64 array, terminations and truncations bool arrays,
    infos as Gymnasium's vector environments merge them (one array a key, with a mask `_key`).
    """

    def __init__(
        self,
        domain: str | Domain,
        num_envs: int = 1,
        *,
        backend: str | BackendConfig | Backend = "real",
        tasks: str | os.PathLike[str] | TaskSource | Sequence[Task] | None = None,
        reward: str | RewardModel = "verifier",
        max_steps: int | None = None,
        model: str | None = None,
        cassette: Any = None,
        control: Any = None,
        record: str | os.PathLike[str] | None = None,
        sandbox: Any = None,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Build the environments; arguments as in `AgentWorldEnv`, and:

        Args:
            num_envs: number of episodes at a time.
            autoreset_mode: when an episode ends: reset at the next step, whose action is ignored (`NEXT_STEP`, the
                default); reset at once and put the end into `infos["final_obs"]` and `infos["final_info"]`
                (`SAME_STEP`); or leave it to `reset(options={"reset_mask": mask})` (`DISABLED`; until then the slot
                repeats its last observation and flags with reward 0).
            max_episode_steps: what `gym.make_vec` passes on; the smaller of this and `max_steps` holds.

        Raises:
            ConfigError: an argument names something that does not exist or cannot be used.
        """
        if num_envs < 1:
            raise ConfigError(f"Expected num_envs to be at least 1, got {num_envs}.")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ConfigError(f"Expected render_mode to be None, 'ansi' or 'human', got {render_mode!r}.")
        modes = {key: mode for mode in AutoresetMode for key in (mode, mode.name, mode.value)}
        if autoreset_mode not in modes:
            raise unknown_name("autoreset_mode", autoreset_mode, [mode.value for mode in AutoresetMode])
        self._autoreset = modes[autoreset_mode]
        limits = [limit for limit in (max_steps, max_episode_steps) if limit is not None]
        self._runner: EpisodeRunner | None = build_runner(
            domain,
            backend=backend,
            tasks=tasks,
            reward=reward,
            max_steps=min(limits) if limits else None,
            model=model,
            cassette=cassette,
            control=control,
            record=record,
            sandbox=sandbox,
        )
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": 4, "autoreset_mode": self._autoreset}
        self.single_observation_space = AnyText(MAX_OBSERVATION_CHARS)
        self.single_action_space = AnyText(MAX_ACTION_CHARS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._episodes: list[Episode] = []

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[tuple[str, ...], Infos]:
        """Start episodes in all slots, or in those of `options["reset_mask"]` (bool array of shape `(num_envs,)`).

        Args:
            seed: `s` gives slot `i` the seed `s + i`; a sequence gives each slot its own; `None` goes on drawing.
            options: `reset_mask`; `task_id` or `task` for all slots, or a list of them, one per slot.

        Raises:
            ConfigError: wrong length or mask, unknown option or task, or a mask before the first full reset.
        """
        options = dict(options or {})
        mask = self._mask(options.pop("reset_mask", None))
        slots = [slot for slot in range(self.num_envs) if mask[slot]]
        if len(slots) < self.num_envs and not self._episodes:
            raise ConfigError("The first reset has to start every slot: leave out reset_mask.")
        infos = self._start(slots, self._seeds(seed), options)
        merged = self._merge(dict(zip(slots, infos, strict=True)))
        return tuple(episode.observation for episode in self._episodes), merged

    def step(self, actions: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.float64], Flags, Flags, Infos]:
        """Advance all slots; one backend step for all of them.

        Raises:
            ConfigError: wrong number of actions, before the first reset, or after `close`.
        """
        if not self._episodes:
            raise ConfigError("There are no episodes yet: call reset() first.")
        if isinstance(actions, str) or not isinstance(actions, Sequence | np.ndarray):
            raise ConfigError(f"Expected a sequence of {self.num_envs} actions, got {type(actions).__name__}.")
        if len(actions) != self.num_envs:
            raise ConfigError(f"Expected {self.num_envs} actions, one per slot, got {len(actions)}.")
        over = [slot for slot, episode in enumerate(self._episodes) if episode.over]
        waiting = set(over) if self._autoreset is AutoresetMode.NEXT_STEP else set()
        live = [slot for slot in range(self.num_envs) if slot not in waiting]
        results = dict(
            zip(
                live,
                self._open_runner().step([self._episodes[s] for s in live], [actions[s] for s in live]),
                strict=True,
            )
        )
        infos = {slot: result.info for slot, result in results.items()}
        finals: dict[int, StepResult] = {}
        if self._autoreset is AutoresetMode.SAME_STEP:
            finals = {slot: result for slot, result in results.items() if result.terminated or result.truncated}
        restarted = sorted(waiting) or sorted(finals)
        if restarted:
            nothing: list[int | None] = [None] * self.num_envs
            infos.update(zip(restarted, self._start(restarted, nothing, {}), strict=True))
        rewards = np.zeros(self.num_envs, dtype=np.float64)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        for slot, result in results.items():
            rewards[slot] = result.reward
            terminations[slot] = result.terminated
            truncations[slot] = result.truncated
        merged = self._merge(infos)
        if finals:
            merged.update(self._finals(finals))
        observations = tuple(episode.observation for episode in self._episodes)
        if self.render_mode == "human":
            self._show()
        return observations, rewards, terminations, truncations, merged

    @property
    def ledgers(self) -> list[Ledger]:
        """What the present episode of each slot has cost on the environment's side."""
        return [episode.ledger for episode in self._episodes]

    @property
    def episodes(self) -> list[Episode]:
        """The present episode of each slot."""
        return list(self._episodes)

    @property
    def runner(self) -> EpisodeRunner:
        """The machinery behind this environment: domain, backend, tasks, reward."""
        return self._open_runner()

    def render(self) -> tuple[str, ...] | None:
        """The latest observations in mode `ansi`; `None` otherwise."""
        if self.render_mode != "ansi":
            return None
        return tuple(episode.observation for episode in self._episodes)

    def close_extras(self, **kwargs: Any) -> None:
        """Release episodes, backend and recording; `close` calls it once."""
        if self._runner is not None:
            self._runner.close(self._episodes)
            self._runner.release()
            self._runner = None

    # -- parts -----------------------------------------------------------------------------------------------------

    def _open_runner(self) -> EpisodeRunner:
        if self._runner is None:
            raise ConfigError("The environment is closed; make a new one.")
        return self._runner

    def _mask(self, mask: Any) -> Flags:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise ConfigError(
                f"Expected options['reset_mask'] to be a bool array of shape ({self.num_envs},), got {mask!r}."
            )
        if not mask.any():
            raise ConfigError("Expected options['reset_mask'] to select at least one slot, got none.")
        return mask

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray):
            if len(seed) != self.num_envs:
                raise ConfigError(f"Expected {self.num_envs} seeds, one per slot, got {len(seed)}.")
            return [None if s is None else operator.index(s) for s in seed]
        first = operator.index(seed)
        return [first + slot for slot in range(self.num_envs)]

    def _start(self, slots: Sequence[int], seeds: Sequence[int | None], options: dict[str, Any]) -> list[Infos]:
        """Open an episode in each of `slots`; returns their reset infos."""
        runner = self._open_runner()
        episode_seeds = []
        for slot in slots:
            seed = seeds[slot]
            if seed is not None or self._rngs[slot] is None:
                self._rngs[slot], _ = seeding.np_random(seed)
            rng = self._rngs[slot]
            assert rng is not None
            episode_seeds.append(int(rng.integers(SEED_RANGE)) if seed is None else seed)
        opened = runner.start(episode_seeds, [self._slot_options(options, slot) for slot in slots])
        replaced = []
        if self._episodes:
            for slot, episode in zip(slots, opened, strict=True):
                replaced.append(self._episodes[slot])
                self._episodes[slot] = episode
        else:
            self._episodes = opened
        runner.close(replaced)
        return [episode.info(at_reset=True) for episode in opened]

    def _slot_options(self, options: dict[str, Any], slot: int) -> dict[str, Any]:
        chosen = {}
        for key, value in options.items():
            if isinstance(value, list | tuple):
                if len(value) != self.num_envs:
                    raise ConfigError(f"Expected options[{key!r}] to have {self.num_envs} entries, got {len(value)}.")
                value = value[slot]
            chosen[key] = value
        return chosen

    def _merge(self, infos: dict[int, Infos]) -> Infos:
        """What `VectorEnv._add_info` builds slot by slot, built key by key: 5 times faster with 1,000 slots."""
        merged: Infos = {}
        if not infos:
            return merged
        slots = list(infos)
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[slots] = True
        for key, sample in infos[slots[0]].items():
            kind: Any = type(sample) if type(sample) in (int, float, bool) else object
            array = np.zeros(self.num_envs, dtype=kind) if kind is not object else np.full(self.num_envs, None)
            for slot in slots:
                array[slot] = infos[slot][key]
            merged[key] = array
            merged[f"_{key}"] = mask.copy()
        return merged

    def _finals(self, finals: dict[int, StepResult]) -> Infos:
        """`final_obs` and `final_info` of the slots that ended in this step."""
        mask = np.zeros(self.num_envs, dtype=np.bool_)
        mask[list(finals)] = True
        observations = np.full(self.num_envs, None, dtype=object)
        for slot, result in finals.items():
            observations[slot] = result.observation
        return {
            "final_obs": observations,
            "_final_obs": mask,
            "final_info": self._merge({slot: result.info for slot, result in finals.items()}),
            "_final_info": mask.copy(),
        }

    def _show(self) -> None:
        for slot, episode in enumerate(self._episodes):
            show(f"[{slot}] > {episode.command}\n{episode.observation}")
