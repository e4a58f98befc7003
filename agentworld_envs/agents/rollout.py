"""`rollout`: plays a number of episodes with an agent, with the same results whatever the number of slots."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from agentworld_envs.agents.base import Agent
from agentworld_envs.agents.summary import EpisodeResult, RolloutSummary, Status
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ConfigError, Failure, Usage
from agentworld_envs.vector import AgentWorldVectorEnv

Progress = Callable[[EpisodeResult], None]
"""Called with every episode that has ended, in the order in which they end."""


class Rollout:
    """A rollout under way. `summary` may be asked at any time, also after an interrupted `run`."""

    def __init__(
        self,
        env: AgentWorldVectorEnv,
        agent: Agent,
        episodes: int,
        *,
        seed: int = 0,
        seeds: Sequence[int] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Prepare; nothing is opened yet.

        Args:
            env: with `autoreset_mode=DISABLED`; stays the caller's to close. With more slots than `episodes`, the
                first reset opens episodes that are not played (and that a recording shows as such).
            agent: chooses the actions; stays the caller's to close.
            episodes: how many are played (>= 1).
            seed: episode `i` is played with `seed + i` (>= 0).
            seeds: of the episodes one by one, in place of `seed`; `episodes` many (>= 0).
            progress: called with every result.

        Raises:
            ConfigError: a number out of range, or another autoreset mode.
        """
        if episodes < 1:
            raise ConfigError(f"Expected the number of episodes to be at least 1, got {episodes}.")
        if seed < 0:
            raise ConfigError(f"Expected the seed to be at least 0, got {seed}.")
        if seeds is not None and (len(seeds) != episodes or min(seeds) < 0):
            raise ConfigError(f"Expected {episodes} seeds of at least 0, one per episode, got {list(seeds)[:10]}.")
        if env.metadata["autoreset_mode"] is not AutoresetMode.DISABLED:
            raise ConfigError(
                "A rollout starts episodes itself, each with its own seed: make the environment with "
                f"autoreset_mode='Disabled', got {env.metadata['autoreset_mode'].value!r}."
            )
        self._env, self._agent, self._episodes = env, agent, episodes
        self._seeds = range(seed, seed + episodes) if seeds is None else seeds
        self._progress = progress
        self._playing: dict[int, int] = {}
        """Slot -> index of the episode in it."""
        self._next = 0
        self._observations: list[str] = [""] * env.num_envs
        self._infos: list[dict[str, Any]] = [{}] * env.num_envs
        self._returns = [0.0] * env.num_envs
        self._results: list[EpisodeResult] = []
        self._steps = 0
        self._seconds = 0.0
        self._started: float | None = None

    def run(self) -> RolloutSummary:
        """Play all episodes. A `KeyboardInterrupt` passes through; `summary` then tells what is done."""
        self._started = time.perf_counter()
        for episode in self._env.episodes:  # left over from an earlier use of the environment
            self._abandon(episode)
        try:
            self._fill(list(range(self._env.num_envs)))
            while self._playing:
                self._step()
        finally:
            self._seconds += time.perf_counter() - self._started
            self._started = None
        return self.summary()

    def summary(self) -> RolloutSummary:
        """What has been played so far; unfinished episodes only count in `steps`."""
        running = time.perf_counter() - self._started if self._started is not None else 0.0
        results = sorted(self._results, key=lambda result: result.index)
        return RolloutSummary(results, self._seconds + running, self._steps, self._episodes)

    def _step(self) -> None:
        """One decision of the agent for all live slots, and one step of the environment."""
        slots = sorted(self._playing)
        decisions = self._agent.act(slots, [self._observations[s] for s in slots], [self._infos[s] for s in slots])
        actions = [""] * self._env.num_envs
        for slot, decision in zip(slots, decisions, strict=True):
            if isinstance(decision, Failure):
                self._env.runner.abandon([self._env.episodes[slot]], decision)
                self._end(slot, "agent_failure", decision)
            else:
                actions[slot] = decision
        if self._playing:
            self._advance(sorted(self._playing), actions)
        self._fill([slot for slot in range(self._env.num_envs) if slot not in self._playing])

    def _advance(self, live: Sequence[int], actions: Sequence[str]) -> None:
        observations, rewards, terminations, truncations, infos = self._env.step(actions)
        self._steps += len(live)
        for slot in live:
            self._observations[slot] = observations[slot]
            self._infos[slot] = _of_slot(infos, slot)
            self._returns[slot] += float(rewards[slot])
            if terminations[slot] or truncations[slot]:
                valid = bool(self._infos[slot]["reward_valid"])
                self._end(slot, "valid" if valid else "invalid", self._infos[slot]["failure"])

    def _fill(self, free: Sequence[int]) -> None:
        """Start the next episodes in free slots. One that cannot be opened ends at once, and the next one takes its
        place."""
        while free and self._next < self._episodes:
            starting = list(free)[: self._episodes - self._next]
            self._start(starting)
            free = [slot for slot in starting if slot not in self._playing]

    def _start(self, slots: Sequence[int]) -> None:
        env = self._env
        first = not env.episodes
        if first:  # the first reset has to start every slot; those beyond the last episode are never stepped
            indices = {slot: min(slot, self._episodes - 1) for slot in range(env.num_envs)}
        else:
            indices = {slot: self._next + offset for offset, slot in enumerate(slots)}
        seeds = [self._seeds[indices[slot]] if slot in indices else None for slot in range(env.num_envs)]
        mask = np.zeros(env.num_envs, dtype=np.bool_)
        mask[list(slots)] = True
        observations, infos = env.reset(seed=seeds, options=None if first else {"reset_mask": mask})
        episodes = env.episodes
        if first:
            for slot in range(len(slots), env.num_envs):
                self._abandon(episodes[slot])
        for slot in slots:
            self._playing[slot] = indices[slot]
            self._next += 1
            self._observations[slot] = observations[slot]
            self._infos[slot] = _of_slot(infos, slot)
            self._returns[slot] = 0.0
            if episodes[slot].failure is not None:
                self._abandon(episodes[slot])
                self._end(slot, "invalid", episodes[slot].failure)
                continue
            self._agent.reset(slot, observations[slot], self._infos[slot], episodes[slot])

    def _end(self, slot: int, status: Status, failure: Failure | None) -> None:
        """Book the end of the episode in `slot` and free the slot."""
        episode = self._env.episodes[slot]
        usage: dict[str, Usage] = {}
        for entry in episode.ledger:
            usage.setdefault(entry.line, Usage()).add(entry.usage)
        if episode.step_count or status == "agent_failure":  # else the agent was never asked
            spent = self._agent.usage(slot)
            if spent != Usage():
                usage["agent"] = spent
        result = EpisodeResult(
            index=self._playing.pop(slot),
            task_id=episode.task.id,
            seed=episode.seed,
            status=status,
            score=episode.score,
            success=episode.success,
            steps=episode.step_count,
            total_reward=self._returns[slot],
            terminated=episode.terminated,
            truncated=episode.truncated,
            failure=None if failure is None else failure.kind,
            message="" if failure is None else failure.message,
            usage=usage,
            faults=tuple(episode.ledger.faults),
        )
        self._results.append(result)
        if self._progress is not None:
            self._progress(result)

    @staticmethod
    def _abandon(episode: Episode) -> None:
        """Take an episode out of play: the environment then leaves it as it is instead of stepping it."""
        episode.truncated = True


def rollout(
    env: AgentWorldVectorEnv | Mapping[str, Any],
    agent: Agent,
    episodes: int,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> RolloutSummary:
    """Play `episodes` episodes; episode `i` has seed `seed + i`, whatever the number of slots.

    Args:
        env: an `AgentWorldVectorEnv` with `autoreset_mode=DISABLED`, or keyword arguments for one that is closed
            afterwards.
        agent: chooses the actions; stays the caller's to close.
        episodes: how many are played (>= 1).
        seed: of episode 0 (>= 0).
        progress: called with every result.

    Raises:
        ConfigError: an argument cannot be.
    """
    if isinstance(env, AgentWorldVectorEnv):
        return Rollout(env, agent, episodes, seed=seed, progress=progress).run()
    slots = min(int(env.get("num_envs", 1)), max(episodes, 1))
    own = AgentWorldVectorEnv(**{**env, "num_envs": slots, "autoreset_mode": AutoresetMode.DISABLED})
    try:
        return Rollout(own, agent, episodes, seed=seed, progress=progress).run()
    finally:
        own.close()


def _of_slot(infos: Mapping[str, Any], slot: int) -> dict[str, Any]:
    """The `info` of one slot out of the vector environment's merged arrays, in plain Python values."""
    info = {}
    for key, array in infos.items():
        if f"_{key}" in infos:
            value = array[slot]
            info[key] = value.item() if isinstance(value, np.generic) else value
    return info
