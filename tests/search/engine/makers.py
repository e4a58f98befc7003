"""What the tests of the engine share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec

import pytest

from agentworld_envs.domains.search.pages import Page, PageIndex

Make = Callable[[Sequence[Page]], PageIndex]


def need(package: str) -> None:
    """Skip where a package is missing, unless `AGENTWORLD_REQUIRE` names it."""
    if find_spec(package) is None and package not in os.environ.get("AGENTWORLD_REQUIRE", "").split(","):
        pytest.skip(f"{package} is not installed")
