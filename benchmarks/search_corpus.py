"""Synthetic pages and queries for `search.py`: a pure function of seed and number, fast enough for a million pages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from agentworld_envs.domains.search.engine.words import STOP_WORDS
from agentworld_envs.domains.search.pages import Page

VOCABULARY = 200_000
BLOCK = 1000
_ONSETS = ("b", "br", "d", "dr", "f", "g", "gl", "k", "kr", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "v", "z")
_RIMES = ("a", "an", "ar", "e", "el", "en", "i", "in", "o", "ol", "on", "or", "u", "un")


def _vocabulary() -> list[str]:
    """Function words first, as in any language; then made-up words, the shorter the more frequent."""
    words = sorted(STOP_WORDS, key=lambda word: (len(word), word))
    syllables = ["".join(pair) for pair in itertools.product(_ONSETS, _RIMES)]
    made = itertools.chain.from_iterable(
        map("".join, itertools.product(syllables, repeat=count)) for count in (2, 3, 4)
    )
    return words + list(itertools.islice(made, VOCABULARY - len(words)))


WORDS = np.array(_vocabulary(), dtype=object)
_WEIGHTS = 1.0 / (np.arange(VOCABULARY) + 2.7) ** 1.07
_CUMULATED = np.cumsum(_WEIGHTS / _WEIGHTS.sum())


def _draw(rng: np.random.Generator, count: int) -> list[str]:
    """Words by Zipf's law (Mandelbrot's form)."""
    drawn: list[str] = WORDS[np.searchsorted(_CUMULATED, rng.random(count))].tolist()
    return drawn


def pages(count: int, seed: int = 0) -> Iterator[Page]:
    """Pages of 100 to 150 words in sentences, with a title of 2 to 4 words."""
    for start in range(0, count, BLOCK):
        rng = np.random.default_rng((seed, start))
        for number in range(start, min(start + BLOCK, count)):
            length = int(rng.integers(100, 151))
            words = _draw(rng, length)
            title = " ".join(WORDS[rng.integers(200, VOCABULARY, int(rng.integers(2, 5)))].tolist()).title()
            text = ". ".join(" ".join(words[at : at + 14]).capitalize() for at in range(0, length, 14)) + "."
            yield Page(str(number), f"https://site{number % 997}.example/page/{number}", title, text, "2031-04-07")


def queries(count: int, corpus: int, seed: int = 1) -> list[str]:
    """Two of five: one to three rare words; two of five: 3 to 6 words in a row of a page; one of five: a question of
    9 to 14 words, half of them function words."""
    rng = np.random.default_rng((seed, corpus))
    found = []
    sources = [page.text.replace(".", "").lower().split() for page in pages(min(corpus, BLOCK))]
    common = WORDS[: len(STOP_WORDS)]
    for number in range(count):
        source = sources[int(rng.integers(len(sources)))]
        kind = number % 5
        if kind < 2:
            rare = [word for word in source if len(word) > 5] or source
            words = [rare[int(i)] for i in rng.integers(0, len(rare), int(rng.integers(1, 4)))]
        elif kind < 4:
            start, length = int(rng.integers(0, len(source) - 6)), int(rng.integers(3, 7))
            words = source[start : start + length]
        else:
            half = int(rng.integers(4, 7))
            content = [word for word in source if word not in STOP_WORDS] or source
            words = [content[int(i)] for i in rng.integers(0, len(content), half)]
            words = [w for pair in zip(words, common[rng.integers(0, len(common), half)], strict=True) for w in pair]
            words = ["what", *words]
        found.append(" ".join(words))
    return found
