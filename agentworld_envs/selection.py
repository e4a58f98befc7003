"""`choose_task`: what an episode plays, from its seed and the options of `reset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from agentworld_envs.interface import ConfigError, Domain, Task, TaskSource, unknown_name

RESET_OPTIONS = ("task_id", "task")
"""Keys that `reset(options=...)` knows."""
SEED_RANGE = 2**31
"""Seeds that an environment draws for itself are below this."""


def choose_task(domain: Domain, source: TaskSource, seed: int, options: Mapping[str, Any]) -> Task:
    """The task of an episode: from `options` when they name one, else drawn from `seed` alone.

    Raises:
        ConfigError: unknown option or task id, a task that is not valid, or one of another domain.
        TaskError: the task's data is broken.
    """
    for key in options:
        if key not in RESET_OPTIONS:
            raise unknown_name("reset option", key, RESET_OPTIONS)
    task = options.get("task")
    if task is None:
        task_id = options.get("task_id")
        return source[source.index_for(seed)] if task_id is None else source.find(str(task_id))
    if not isinstance(task, Task):
        try:
            task = Task.model_validate(task)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ConfigError(f"options['task'] is not a valid task: {where}: {first['msg']}") from error
    if task.domain != domain.name:
        raise ConfigError(f"Expected a task of domain {domain.name!r}, got one of {task.domain!r}.")
    return task
