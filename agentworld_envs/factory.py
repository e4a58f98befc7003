"""Builds the `EpisodeRunner` behind both environments from the keyword arguments of `gym.make`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from agentworld_envs.backends import BackendConfig, build_backend
from agentworld_envs.backends.control import control_backend
from agentworld_envs.backends.sandbox import SharedMachines
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Backend, ConfigError, Control, Domain, RewardModel, Task, TaskList, TaskSource
from agentworld_envs.interface.machines import Machines
from agentworld_envs.rewards import build_reward
from agentworld_envs.runner import EpisodeRunner
from agentworld_envs.task_files import named_tasks
from agentworld_envs.trajectories import TrajectoryWriter


def build_runner(
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
) -> EpisodeRunner:
    """See `agentworld_envs.env.AgentWorldEnv` for the arguments. Everything that can be wrong raises here."""
    if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
        raise ConfigError(f"Expected max_steps to be an int of at least 1, got {max_steps!r}.")
    played = load_domain(domain) if isinstance(domain, str) else domain
    judge = build_reward(reward)
    judge.check(played)
    control = Control.of(control)
    machines = _machines(played, sandbox)
    try:
        built, owned = build_backend(backend, model=model, cassette=cassette, default_model=played.default_model)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"backend={backend!r}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    try:
        built = control_backend(built, control)
        source = _task_source(played, built, tasks)
        writer = TrajectoryWriter(record) if record is not None else None
    except BaseException:
        if owned:
            built.shutdown()
        raise
    return EpisodeRunner(
        played,
        built,
        judge,
        source,
        max_steps=max_steps,
        writer=writer,
        machines=machines,
        owns_backend=owned,
        owns_reward=isinstance(reward, str),
    )


def _machines(domain: Domain, sandbox: Any) -> Machines | None:
    """What the domain's worlds take sandboxes from; given to the domain unless it has some already.

    A domain that needs none ignores `sandbox`, so that one loop may go over all ids.
    """
    if not domain.needs_sandbox:
        if sandbox is not None:
            SharedMachines(sandbox)  # a kind that does not exist is an error all the same
        return None
    if domain.machines is not None:
        if sandbox is not None:
            raise ConfigError("The domain object has its machines already: give it those that you want.")
        return domain.machines.acquire()
    machines = SharedMachines(sandbox, **(domain.sandbox_settings if isinstance(sandbox, str | None) else {}))
    if sandbox is not None and machines.kind not in domain.sandbox_kinds:
        raise ConfigError(
            f"The domain {domain.name!r} runs in sandboxes of kind {' or '.join(domain.sandbox_kinds)}, not "
            f"{machines.kind!r}: its tasks are written for folders that only those have."
        )
    domain.machines = machines
    return machines


def _task_source(
    domain: Domain, backend: Backend, tasks: str | os.PathLike[str] | TaskSource | Sequence[Task] | None
) -> TaskSource:
    if isinstance(tasks, TaskSource):
        return tasks
    if tasks is None:
        return backend.tasks() or domain.tasks(None)
    if isinstance(tasks, (str, os.PathLike)):
        return named_tasks(domain, os.fspath(tasks))
    if isinstance(tasks, Sequence):
        given = [task for task in tasks if isinstance(task, Task)]
        if len(given) == len(tasks):
            return TaskList(given)
    raise ConfigError(
        f"Expected tasks to be a name, a path, a TaskSource or a list of tasks, got {type(tasks).__name__}."
    )
