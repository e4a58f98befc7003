"""Fictional worlds: the same bytes everywhere, facts that stand on several pages."""

from __future__ import annotations

import pickle

import pytest

from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.interface.errors import ConfigError


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_equal_seeds_give_equal_worlds(size: str) -> None:
    first, second = FictionalWorld(7, size), pickle.loads(pickle.dumps(FictionalWorld(7, size)))
    assert first.pages == second.pages
    assert [first.question(n, 2) for n in range(5)] == [second.question(n, 2) for n in range(5)]
    assert first.pages != FictionalWorld(8, size).pages


def test_unknown_size_and_level() -> None:
    with pytest.raises(ConfigError, match="small"):
        FictionalWorld(1, "huge")
    with pytest.raises(ConfigError, match="level"):
        FictionalWorld(1, "tiny").question(0, 4)
