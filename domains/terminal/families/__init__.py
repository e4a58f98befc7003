"""The families of generated tasks, one file each. A family is a pure function of a generator and a level."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from agentworld_envs.domains.terminal.scenario import Level, Scenario

FAMILIES: tuple[str, ...] = (
    "find_files",
    "text_processing",
    "permissions",
    "archives",
    "git_history",
    "log_analysis",
    "data_munging",
    "databases",
    "builds",
    "links",
    "config_repair",
    "shell_scripts",
    "encodings",
    "processes",
    "scheduling",
)
"""Names of the families, which are the names of the modules here. Their order decides the order of tasks: append."""

Build = Callable[[np.random.Generator, Level], Scenario]


def load_family(name: str) -> Build:
    """The `build` of a family. `name` has to be one of `FAMILIES`."""
    build: Build = importlib.import_module(f"{__name__}.{name}").build
    return build
