"""Drawing tokens from a `NumpyLlama`, many rows at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from agentworld_envs.backends.world_model.engines.base import Sampling
from agentworld_envs.backends.world_model.engines.bundled_model import Floats, NumpyLlama


@dataclass(slots=True)
class Row:
    """One prompt and what is written after it."""

    prompt: list[int]
    sampling: Sampling
    seed: int
    limit: int
    """Most tokens to write."""
    end: float
    """Deadline on `time.monotonic`'s clock."""
    tokens: list[int] = field(default_factory=list)
    """What is written, without the end token."""
    reason: str = ""
    """`stop`, `length` or `deadline`."""
    rng: np.random.Generator | None = None


def decode(model: NumpyLlama, rows: Sequence[Row], end_token: int, text_of: Callable[[list[int]], str]) -> None:
    """Write every row to its end, all in one batch. The rows take the results.

    Rows leave the batch as soon as they are done. What is drawn for a row depends on its own seed only.

    Args:
        model: what to draw from.
        rows: with prompts within the model's context.
        end_token: ends an answer.
        text_of: tokens to text, for stop strings.
    """
    scores, cache, lengths = model.prefill([row.prompt for row in rows])
    open_rows = list(rows)
    while True:
        taken = [_draw(row, scores[i]) for i, row in enumerate(open_rows)]
        for row, token in zip(open_rows, taken, strict=True):
            _take(row, token, end_token, text_of)
        alive = np.array([i for i, row in enumerate(open_rows) if not row.reason], dtype=np.int64)
        if not len(alive):
            return
        if len(alive) < len(open_rows):
            cache.keep(alive)
            lengths = lengths[alive]
            open_rows = [open_rows[i] for i in alive]
        scores = model.extend(np.array([row.tokens[-1] for row in open_rows], dtype=np.int64), cache, lengths)
        lengths = lengths + 1


def _take(row: Row, token: int, end_token: int, text_of: Callable[[list[int]], str]) -> None:
    if token == end_token:
        row.reason = "stop"
        return
    row.tokens.append(token)
    if row.sampling.stop and any(stop in text_of(row.tokens) for stop in row.sampling.stop):
        row.reason = "stop"
    elif len(row.tokens) >= row.limit:
        row.reason = "length"
    elif time.monotonic() > row.end:
        row.reason = "deadline"


def _draw(row: Row, scores: Floats) -> int:
    sampling = row.sampling
    if sampling.temperature == 0:
        return int(scores.argmax())
    if row.rng is None:
        row.rng = np.random.default_rng(row.seed)
    scaled: Any = scores.astype(np.float64) / sampling.temperature
    order = np.argsort(-scaled, kind="stable")
    if sampling.top_k:
        order = order[: sampling.top_k]
    chances = np.exp(scaled[order] - scaled[order[0]])
    chances /= chances.sum()
    before = np.cumsum(chances) - chances
    kept = chances * (before < sampling.top_p)  # the likeliest is always kept
    return int(order[int(np.searchsorted(np.cumsum(kept), row.rng.random() * kept.sum(), side="right"))])
