"""`Chance`: how much of what a searcher decides is left to chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Chance:
    """Draws of one episode. At temperature 0 there are none."""

    def __init__(self, temperature: float, seed: int, episode: int) -> None:
        """Args: temperature: 0 keeps every order; at 1 the second of two ranks wins more than every fourth time.
        seed: of the agent (>= 0).
        episode: seed of the episode (>= 0), so that the draws depend on nothing that is played beside it.
        """
        self._temperature = temperature
        self._rng = np.random.default_rng([seed, episode])

    def order(self, items: Sequence[T]) -> list[T]:
        """The items, best first as given; a sample without replacement with weights `exp(-rank / temperature)`
        (Gumbel's trick), so that what is better mostly stays in front."""
        if self._temperature == 0.0 or len(items) < 2:
            return list(items)
        keys = self._rng.gumbel(size=len(items)) - np.arange(len(items)) / self._temperature
        return [items[int(i)] for i in np.argsort(-keys, kind="stable")]

    def first(self, items: Sequence[T]) -> T:
        """The first of `order`."""
        return self.order(items)[0]
