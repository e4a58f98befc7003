"""AnyText: O(1) containment, short samples, and no silent shared memory."""

from __future__ import annotations

import copy
import pickle
import time

import pytest
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_empty_array, create_shared_memory

from agentworld_envs import AnyText


def test_contains_any_string_within_the_bounds() -> None:
    space = AnyText(10, min_length=1)
    assert "🧪 \x00 ü" in space
    assert "" not in space
    assert "x" * 11 not in space
    assert 5 not in space


def test_containment_does_not_look_at_the_characters() -> None:
    space = AnyText(10_000_000)
    text = "x" * 10_000_000
    started = time.perf_counter()
    for _ in range(100):
        assert text in space
    assert time.perf_counter() - started < 1  # scanning would take minutes


def test_samples_are_short_seeded_and_contained() -> None:
    a, b = AnyText(seed=3), AnyText(seed=3)
    samples = [a.sample() for _ in range(50)]
    assert samples == [b.sample() for _ in range(50)]
    assert all(sample in a and len(sample) <= 64 for sample in samples)
    assert AnyText(4).sample_length == 4


def test_pickle_and_copy_are_equal() -> None:
    space = AnyText(100)
    assert pickle.loads(pickle.dumps(space)) == space == copy.deepcopy(space)


def test_shared_memory_is_refused_with_the_way_out() -> None:
    with pytest.raises(CustomSpaceError, match="shared_memory=False"):
        create_shared_memory(AnyText(), n=2)
    assert create_empty_array(AnyText(), n=2) is not None
