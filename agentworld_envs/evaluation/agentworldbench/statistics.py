"""Means as they are published, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESAMPLES: Final = 2000
LEVEL: Final = 0.95


def normalise(raw: float) -> float:
    """(raw - 1) / 4 * 100: a mean score of 1 to 5 on the published scale of 0 to 100."""
    return (raw - 1.0) / 4.0 * 100.0


def macro(means: Mapping[str, float]) -> float:
    """Mean of the domains' means: the published column. Raises `ValueError` without any domain."""
    if not means:
        raise ValueError("expected at least one domain")
    return sum(means.values()) / len(means)


def micro(means: Mapping[str, float], counts: Mapping[str, int]) -> float:
    """Mean over all rows: what the official program prints as Overall. Raises `ValueError` without any row.

    Args:
        means: domain -> mean. counts: domain -> rows behind it.
    """
    total = sum(counts[name] for name in means)
    if not total:
        raise ValueError("expected at least one row")
    return sum(mean * counts[name] for name, mean in means.items()) / total


Clusters = Mapping[str, Sequence[float]]
"""Trajectory -> values of its rows."""


def bootstrap(domains: Mapping[str, Clusters], seed: int, resamples: int = RESAMPLES) -> dict[str, tuple[float, float]]:
    """Percentile 95 % intervals of each domain's mean, and of `macro` and `micro` over all.

    Rows of one trajectory share a history, so whole trajectories are drawn (a cluster bootstrap), within each domain;
    the domains are fixed. With fewer than two trajectories in a domain, the interval is that domain's point.

    Args:
        domains: domain -> trajectory -> values. Domains without values have no interval.
        seed: of the draws; domain number i, in the given order, has a generator of (seed, i).
        resamples: how many draws.

    Returns:
        Name -> (low, high), for every domain, `macro` and `micro`; empty without any value.
    """
    sums: list[NDArray[np.float64]] = []
    counts: list[NDArray[np.float64]] = []
    intervals: dict[str, tuple[float, float]] = {}
    for index, (name, clusters) in enumerate(domains.items()):
        values = [clusters[key] for key in sorted(clusters) if clusters[key]]
        if not values:
            continue
        generator = np.random.default_rng([seed, index])
        drawn = generator.integers(len(values), size=(resamples, len(values)))
        total = np.array([sum(cluster) for cluster in values], dtype=np.float64)
        size = np.array([len(cluster) for cluster in values], dtype=np.float64)
        sums.append(total[drawn].sum(axis=1))
        counts.append(size[drawn].sum(axis=1))
        intervals[name] = _interval(sums[-1] / counts[-1])
    if sums:
        means = [one / count for one, count in zip(sums, counts, strict=True)]
        intervals["macro"] = _interval(np.mean(means, axis=0))
        # Domains keep their weight, as in the published set: only which trajectories stand for them is drawn.
        weights = [float(sum(map(len, clusters.values()))) for clusters in domains.values() if any(clusters.values())]
        intervals["micro"] = _interval(np.average(means, axis=0, weights=weights))
    return intervals


def _interval(values: NDArray[np.float64]) -> tuple[float, float]:
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return float(low), float(high)
