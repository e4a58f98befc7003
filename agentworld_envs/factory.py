"""Builds the `EpisodeRunner` behind both environments from the keyword arguments of `gym.make`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from agentworld_envs.backends import BackendConfig, build_backend
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Backend, ConfigError, Domain, RewardModel, Task, TaskSource, unknown_name
from agentworld_envs.rewards import build_reward
from agentworld_envs.runner import EpisodeRunner
from agentworld_envs.trajectories import TrajectoryWriter

RESET_OPTIONS = ("task_id", "task")
"""Keys that `reset(options=...)` knows."""


def build_runner(
    domain: str | Domain,
    *,
    backend: str | BackendConfig | Backend = "real",
    tasks: str | os.PathLike[str] | TaskSource | None = None,
    reward: str | RewardModel = "verifier",
    max_steps: int | None = None,
    model: str | None = None,
    cassette: Any = None,
    record: str | os.PathLike[str] | None = None,
) -> EpisodeRunner:
    """See `agentworld_envs.env.AgentWorldEnv` for the arguments. Everything that can be wrong raises here."""
    played = load_domain(domain) if isinstance(domain, str) else domain
    judge = build_reward(reward)
    try:
        built, owned = build_backend(backend, model=model, cassette=cassette)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"backend={backend!r}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    try:
        source = _task_source(played, built, tasks)
        writer = TrajectoryWriter(record) if record is not None else None
        return EpisodeRunner(played, built, judge, source, max_steps=max_steps, writer=writer, owns_backend=owned)
    except BaseException:
        if owned:
            built.shutdown()
        raise


def _task_source(domain: Domain, backend: Backend, tasks: str | os.PathLike[str] | TaskSource | None) -> TaskSource:
    if isinstance(tasks, TaskSource):
        return tasks
    if tasks is None:
        return backend.tasks() or domain.tasks(None)
    if isinstance(tasks, (str, os.PathLike)):
        return domain.tasks(os.fspath(tasks))
    raise ConfigError(f"Expected tasks to be a name, a path or a TaskSource, got {type(tasks).__name__}.")


def choose_task(runner: EpisodeRunner, seed: int, options: Mapping[str, Any] | None) -> Task:
    """The task of an episode: from `options` when they name one, else drawn from `seed` alone.

    Raises:
        ConfigError: unknown option or task id, a task that is not valid, or one of another domain.
    """
    options = options or {}
    for key in options:
        if key not in RESET_OPTIONS:
            raise unknown_name("reset option", key, RESET_OPTIONS)
    task = options.get("task")
    if task is not None:
        if not isinstance(task, Task):
            try:
                task = Task.model_validate(task)
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(map(str, first["loc"]))
                raise ConfigError(f"options['task'] is not a valid task: {where}: {first['msg']}") from error
        if task.domain != runner.domain.name:
            raise ConfigError(f"Expected a task of domain {runner.domain.name!r}, got one of {task.domain!r}.")
        return task
    if options.get("task_id") is not None:
        return runner.tasks.find(str(options["task_id"]))
    return runner.tasks[runner.tasks.index_for(seed)]
