"""Turn masking: which turns teach a world model something, by how much their observations repeat.

Names, thresholds and kept shares are those of the Qwen-AgentWorld report (arXiv 2606.24597, continual pre-training).
The report does not say over which units it measures and against what; both are our choice:

- A *shingle* is a run of two consecutive words of a text, a *word* a run of letters, digits and underscores, whatever
  its case. A text of a single word has that word as its shingle, a text without words has none.
- The *reference* of an observation is the one text of its history (the actions, its own included, and the earlier
  observations) with the highest Jaccard similarity to it, the latest of several; it is what the observation could most
  easily have been copied from.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, get_args

import numpy as np

from agentworld_envs.interface import ConfigError

MaskClass = Literal["retrieval", "expansion", "action", "transform", "boilerplate", "echo", "other"]
"""What a turn's observation is to its history."""
CLASSES: Final[tuple[MaskClass, ...]] = get_args(MaskClass)

KEPT_SHARE: Final[dict[MaskClass, float]] = {
    "retrieval": 1.0,
    "expansion": 1.0,
    "action": 1.0,
    "transform": 0.5,
    "boilerplate": 0.1,
    "echo": 0.05,
    "other": 1.0,
}
"""Share of the turns of each class whose loss counts."""

SHORT_WORDS: Final = 16
"""An observation of at most so many words is short."""

_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Similarity:
    """An observation Y compared with its reference X, as sets of shingles."""

    overlap: float
    """OL, the overlap coefficient: 100 * |X & Y| / min(|X|, |Y|). 0 when one has no shingles, 100 when neither has."""
    novelty: float
    """Nov: 100 * |Y - X| / |Y|; 0 when Y has no shingles."""
    jaccard: float
    """|X & Y| / |X | Y|, in [0, 1]; 1 when neither has shingles."""
    length_ratio: float
    """R: words of Y over words of X, repetitions counted; X counts at least one word."""
    words: int
    """Words of Y, repetitions counted."""


def measure(observation: str, history: Sequence[str]) -> Similarity:
    """Compare an observation with the text of its history that is most similar to it.

    Args:
        observation: of the turn.
        history: what came before, the oldest first, the turn's own action last. Empty: compared with an empty text.
    """
    length, own = _shingles(observation)
    best = (-1.0, 0, frozenset[str]())
    for text in dict.fromkeys(history) or ("",):
        words, shingles = _shingles(text)
        similarity = _jaccard(own, shingles)
        if similarity >= best[0]:
            best = (similarity, words, shingles)
    jaccard, words, reference = best
    common, smaller = len(own & reference), min(len(own), len(reference))
    return Similarity(
        overlap=100.0 * common / smaller if smaller else 100.0 * (own == reference),
        novelty=100.0 * (len(own) - common) / len(own) if own else 0.0,
        jaccard=jaccard,
        length_ratio=length / max(words, 1),
        words=length,
    )


def classify_turn(similarity: Similarity) -> MaskClass:
    """The class of a turn.

    The report's conditions overlap; the first that holds decides, in this order: retrieval (Nov >= 60, R > 1),
    expansion (OL >= 50, Nov >= 50, R > 1.5), action (Nov >= 50, and R <= 1 or short), echo (OL >= 70, Nov < 30),
    transform (Nov < 50, R < 1), boilerplate (OL >= 50, Nov < 50), other.
    """
    overlap, novelty, ratio = similarity.overlap, similarity.novelty, similarity.length_ratio
    if novelty >= 60 and ratio > 1:
        return "retrieval"
    if overlap >= 50 and novelty >= 50 and ratio > 1.5:
        return "expansion"
    if novelty >= 50 and (ratio <= 1 or similarity.words <= SHORT_WORDS):
        return "action"
    if overlap >= 70 and novelty < 30:
        return "echo"
    if novelty < 50 and ratio < 1:
        return "transform"
    if overlap >= 50 and novelty < 50:
        return "boilerplate"
    return "other"


def digest(*parts: object) -> str:
    """Name of a turn, from what identifies it: 32 hexadecimal digits, the same in every process.

    Args:
        parts: JSON values.
    """
    text = json.dumps(parts, separators=(",", ":"), sort_keys=True)  # ASCII: lone surrogates have no bytes otherwise
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def keeps(kind: MaskClass, turn: str, seed: int) -> bool:
    """Whether the loss of a turn counts: a draw with the class's share from a generator of (seed, digest).

    Args:
        kind: class of the turn.
        turn: its `digest`.
        seed: of the masking (>= 0).

    Raises:
        ConfigError: a negative seed.
    """
    if seed < 0:
        raise ConfigError(f"Expected the seed of the masking to be at least 0, got {seed}.")
    share = KEPT_SHARE[kind]
    return share >= 1.0 or bool(np.random.default_rng([seed, int(turn, 16)]).random() < share)


@lru_cache(maxsize=512)
def _shingles(text: str) -> tuple[int, frozenset[str]]:
    """Number of words, and the distinct shingles. Cached, since a history is compared with every later turn."""
    words = _WORD.findall(text.casefold())
    if len(words) == 1:
        return 1, frozenset(words)
    return len(words), frozenset(f"{first} {second}" for first, second in pairwise(words))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 1.0
