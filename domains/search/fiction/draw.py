"""`Draw`: everything random about a fictional world."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Draws that depend on the key alone.

    Built on `random.Random.random` only: Python promises its sequence for a seed, which it does not for `choice` or
    `sample`. The key is text, so that no two purposes share a stream and no process-dependent `hash` is involved.
    """

    __slots__ = ("_random",)

    def __init__(self, *key: int | str) -> None:
        self._random = random.Random("/".join(map(str, key))).random

    def below(self, bound: int) -> int:
        """An integer in [0, bound)."""
        return int(self._random() * bound)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + int(self._random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """A new list (Fisher and Yates)."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = int(self._random() * (last + 1))
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different ones, or all when there are fewer."""
        if count * 3 >= len(items):
            return self.shuffled(items)[:count]
        chosen: dict[int, None] = {}
        while len(chosen) < count:
            chosen[int(self._random() * len(items))] = None
        return [items[index] for index in chosen]
