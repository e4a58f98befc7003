"""`EpisodeBootstrap`: means over steps, with intervals that know that the steps of an episode belong together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

RESAMPLES = 2000
"""Bootstrap samples of an interval."""


class Estimate(BaseModel):
    """A mean over steps, and its 95 % interval."""

    model_config = ConfigDict(frozen=True)

    mean: float | None
    """`None` without any value."""
    low: float | None
    """`None` when fewer than two episodes have a value: nothing can be said of the spread then."""
    high: float | None
    steps: int
    """Values that the mean is taken over."""
    episodes: int
    """Episodes that they come from."""


class EpisodeBootstrap:
    """Percentile intervals by resampling whole episodes (cluster bootstrap; Efron and Tibshirani 1993, chapter 8).

    All estimates of one object are made from the same resamples, so that they can be compared with each other.
    """

    def __init__(self, episodes: int, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        """Args: episodes: how many there are. seed: of the resampling (>= 0). resamples: how many (>= 1)."""
        rng = np.random.default_rng([seed, episodes])
        self.episodes = episodes
        self._drawn = rng.integers(episodes, size=(resamples, episodes)) if episodes else np.zeros((0, 0), np.int64)

    def estimate(self, values: Sequence[Sequence[float]]) -> Estimate:
        """The mean over all values.

        Args:
            values: those of each episode, in the order of the episodes; an episode may have none.
        """
        sums = np.array([sum(own) for own in values], dtype=np.float64)
        counts = np.array([len(own) for own in values], dtype=np.int64)
        steps, episodes = int(counts.sum()), int((counts > 0).sum())
        if not steps:
            return Estimate(mean=None, low=None, high=None, steps=0, episodes=0)
        mean = float(sums.sum() / steps)
        if episodes < 2:
            return Estimate(mean=mean, low=None, high=None, steps=steps, episodes=episodes)
        drawn_counts = counts[self._drawn].sum(axis=1)
        usable = drawn_counts > 0  # a resample may miss the few episodes that have values
        means = sums[self._drawn].sum(axis=1)[usable] / drawn_counts[usable]
        low, high = (float(value) for value in np.quantile(means, [0.025, 0.975]))
        return Estimate(mean=mean, low=low, high=high, steps=steps, episodes=episodes)
