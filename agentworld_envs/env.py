"""`AgentWorldEnv`: one episode at a time, behind Gymnasium's interface."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Sequence
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from agentworld_envs.backends import BackendConfig
from agentworld_envs.episode import MAX_OBSERVATION_CHARS, Episode
from agentworld_envs.factory import build_runner
from agentworld_envs.interface import Backend, ConfigError, Domain, RewardModel, Task, TaskSource
from agentworld_envs.ledger import Ledger
from agentworld_envs.parsing import MAX_ACTION_CHARS
from agentworld_envs.runner import EpisodeRunner
from agentworld_envs.selection import SEED_RANGE
from agentworld_envs.spaces import AnyText

RENDER_MODES = ["ansi", "human"]


class Snapshot:
    """A frozen moment of an episode, from `AgentWorldEnv.snapshot`. Restorable any number of times."""

    def __init__(self, runner: EpisodeRunner, episode: Episode) -> None:
        self._runner = runner.acquire()
        self._episode: Episode | None = episode

    def episode(self, runner: EpisodeRunner) -> Episode:
        """A new episode that continues from this moment."""
        if self._episode is None:
            raise ConfigError("The snapshot is closed; take a new one.")
        if runner is not self._runner:
            raise ConfigError("The snapshot belongs to another environment; restore it there or in one of its forks.")
        return runner.fork(self._episode)

    def close(self) -> None:
        """Release what the snapshot holds. Idempotent."""
        if self._episode is not None:
            self._runner.close([self._episode])
            self._runner.release()
            self._episode = None


class AgentWorldEnv(gym.Env[str, str]):
    """An agent environment in text: observations and actions are strings, wherever transitions come from.

    *Observation*: what is new this turn; the reset observation carries the task. *Action*: a command, a tool call or
    a whole completion, see `agentworld_envs.parsing`. A bad action never raises: it gets an observation, and the step
    counts. *Reward*: per-step differences that sum to the final score in [0, 1]. *Terminated*: the domain's own end.
    *Truncated*: step limit or failure. After the end, `step` returns the last observation, 0.0 and the same flags.

    *Failure is not a reward*: when a sandbox, simulator, judge or provider fails, the step ends the episode with
    `truncated=True`, `info["failure"]` set and `info["reward_valid"] = False`. Mask such episodes when you learn.

    `info` has the same keys at reset and at every step: `task_id, seed, step, backend, source, action_valid, command,
    admissible_commands, score, max_score, success, reward_valid, failure, instructions, tools` (the last two are
    filled at reset only). Timings and tokens are in `ledger`.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 4}

    def __init__(
        self,
        domain: str | Domain,
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
    ) -> None:
        """Build the environment. Opens no world and loads no model yet.

        Args:
            domain: name of a domain, or a `Domain`; set by the registered id.
            backend: `"real"`, `"world_model"`, `"replay:FILE"`, a configuration object, or a `Backend` (then it stays
                yours to shut down).
            tasks: name of a task set, a path in the domain's public format, a `TaskSource` or a list of tasks;
                default: the domain's first set.
            reward: `"verifier"`, `"replay"`, `"judge:MODEL"`, or a `RewardModel`.
            max_steps: step limit of an episode; default: the task's own. Prefer it to `max_episode_steps` of
                `gym.make`, a wrapper of which the environment does not know: rewards that are given at the end
                (`reward="replay"`) are never given then.
            model: for simulating backends: `"openai:URL#MODEL"`, `"transformers:PATH"`, `"scripted:NAME"`.
            cassette: for simulating backends: a file that records and replays the model's answers (`"FILE"`,
                `"record:FILE"`, `"replay-or-fail:FILE"`).
            control: what goes wrong on purpose (see `Control` and docs/control.md): a level (`"E0"` to `"E3"`), a
                `Fault` or a list of them, a `Control`, or a dict of either; default: nothing.
            record: trajectory file (JSONL) that every episode is appended to.
            sandbox: for domains whose real worlds run in sandboxes: `"namespace"`, `"docker"`, `"local"`, a
                configuration (`sandbox_config`) or a `Provider`; default: the best that works here, see
                `agentworld doctor`.
            render_mode: `None`, `"ansi"` (`render` returns text) or `"human"` (every step is written to stdout).

        Raises:
            ConfigError: an argument names something that does not exist or cannot be used.
        """
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ConfigError(f"Expected render_mode to be None, 'ansi' or 'human', got {render_mode!r}.")
        self._runner: EpisodeRunner | None = build_runner(
            domain,
            backend=backend,
            tasks=tasks,
            reward=reward,
            max_steps=max_steps,
            model=model,
            cassette=cassette,
            control=control,
            record=record,
            sandbox=sandbox,
        )
        self.render_mode = render_mode
        self.observation_space = self._observation_space = AnyText(MAX_OBSERVATION_CHARS)
        self.action_space = self._action_space = AnyText(MAX_ACTION_CHARS)
        self._episode: Episode | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: decides task and randomness alone, in any process (>= 0). `None`: drawn from the generator that the
                last seed made; `info["seed"]` tells the drawn one, and `reset(seed=info["seed"])` plays it again.
            options: `{"task_id": ID}` or `{"task": Task | dict}` to play a given task.

        Returns:
            The first observation, which carries the task, and `info` with `instructions` and `tools` filled. When the
            world cannot be opened, `info["failure"]` says why, and the first step is truncated.

        Raises:
            ConfigError: unknown option, task id or task.
        """
        runner = self._open_runner()
        seed = None if seed is None else operator.index(seed)
        super().reset(seed=seed)
        episode_seed = int(self.np_random.integers(SEED_RANGE)) if seed is None else seed
        [episode] = runner.start([episode_seed], [options or {}])
        self._release_episode()
        self._episode = episode
        if self.render_mode == "human":
            show(episode.observation)
        return episode.observation, episode.info(at_reset=True)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Advance by one action; see the class for the meaning of the five values.

        Raises:
            ConfigError: before the first `reset`, or after `close`.
        """
        episode = self._current()
        [result] = self._open_runner().step([episode], [action])
        if self.render_mode == "human":
            show(f"> {episode.command}\n{result.observation}")
        return result

    def fork(self) -> AgentWorldEnv:
        """An independent environment in the same state of the same episode, on every backend.

        The twin shares backend, model and recording with its parent and may outlive it; close both. Its generator
        continues where the parent's is now.
        """
        episode = self._current()
        twin = self._twin()
        twin._episode = self._open_runner().fork(episode)
        return twin

    def snapshot(self) -> Snapshot:
        """The present moment, to come back to with `restore`. Close it when it is no longer needed."""
        runner = self._open_runner()
        return Snapshot(runner, runner.fork(self._current()))

    def restore(self, snapshot: Snapshot) -> None:
        """Put this environment at the moment of `snapshot` (taken from it or from a fork of it).

        Raises:
            ConfigError: the snapshot is closed or belongs to an unrelated environment.
        """
        episode = snapshot.episode(self._open_runner())
        self._release_episode()
        self._episode = episode

    @property
    def ledger(self) -> Ledger:
        """What the present episode has cost on the environment's side."""
        return self._current().ledger

    @property
    def runner(self) -> EpisodeRunner:
        """The machinery behind this environment: domain, backend, tasks, reward."""
        return self._open_runner()

    @property
    def episode(self) -> Episode:
        """The present episode."""
        return self._current()

    def render(self) -> str | None:
        """The latest command and observation as text in mode `ansi`; `None` otherwise."""
        if self.render_mode != "ansi" or self._episode is None:
            return None
        episode = self._episode
        return f"> {episode.command}\n{episode.observation}" if episode.step_count else episode.observation

    def close(self) -> None:
        """Release the episode and, with the last fork, backend and recording. Idempotent."""
        if self._runner is not None:
            self._release_episode()
            self._runner.release()
            self._runner = None
        super().close()

    def _twin(self) -> AgentWorldEnv:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._runner = self._open_runner().acquire()
        twin.observation_space = self._observation_space.twin()
        twin.action_space = self._action_space.twin()
        if self._np_random is not None:
            bits = self._np_random.bit_generator
            copied = type(bits)(0)
            copied.state = bits.state
            twin._np_random = np.random.Generator(copied)
        return twin

    def _open_runner(self) -> EpisodeRunner:
        if self._runner is None:
            raise ConfigError("The environment is closed; make a new one.")
        return self._runner

    def _current(self) -> Episode:
        if self._episode is None:
            raise ConfigError("There is no episode yet: call reset() first.")
        return self._episode

    def _release_episode(self) -> None:
        if self._episode is not None and self._runner is not None:
            self._runner.close([self._episode])
            self._episode = None


def show(text: str) -> None:
    """Write text to stdout, whatever characters an agent has put into it."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    sys.stdout.flush()
