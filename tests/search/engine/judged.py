"""A judged set: pages and queries whose relevance is known because both are drawn from the same topics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentworld_envs.domains.search.pages import Page

FUNCTION = "the of and in to a is was for on as with by that".split()  # noqa: SIM905


@dataclass(frozen=True)
class Judged:
    """Pages, and for every query the grades (1 to 3) of the pages that bear on it, by address."""

    pages: list[Page]
    queries: list[tuple[str, dict[str, int]]]


def judged(topics: int = 300, others: int = 3000, seed: int = 0) -> Judged:
    """Pages of a topic mention some of its words; the more relevant, the more of them and the more often. Topics share
    words, and other pages have them by chance, as often as Zipf's law says."""
    rng = np.random.default_rng(seed)
    vocabulary = [
        f"{a}{b}{c}" for a in "bdfgklmnprstvz" for b in "aeiou" for c in ("n", "r", "st", "lka", "mer", "dos")
    ]
    vocabulary = [x + y for x in vocabulary for y in ("", "ing", "ed", "ton", "al", "ity", "ova", "er")]
    weights = 1 / (np.arange(len(vocabulary)) + 5.0)
    weights /= weights.sum()
    words = rng.permutation(np.array(vocabulary, dtype=object))

    def filler(count: int) -> list[str]:
        drawn: list[str] = rng.choice(words, count, p=weights).tolist()
        return [word if rng.random() < 0.6 else FUNCTION[int(rng.integers(len(FUNCTION)))] for word in drawn]

    def page(number: int, body: Sequence[str]) -> Page:
        text = " ".join(np.array(body, dtype=object)[rng.permutation(len(body))].tolist())
        return Page(str(number), f"https://judged.example/{number}", " ".join(filler(3)), text)

    pages: list[Page] = []
    queries: list[tuple[str, dict[str, int]]] = []
    for _ in range(topics):
        topic = rng.choice(words[20:], 6, replace=False).tolist()
        grades: dict[str, int] = {}
        for grade, mentions in ((3, 9), (3, 7), (2, 5), (2, 4), (2, 4), (1, 2), (1, 2), (1, 1)):
            body = filler(int(rng.integers(40, 160)))
            body += [topic[int(i)] for i in rng.integers(0, 2 + grade, mentions)]
            pages.append(page(len(pages), body))
            grades[pages[-1].url] = grade
        asked = [topic[int(i)] for i in rng.permutation(5)[: int(rng.integers(2, 5))]]
        asked += [FUNCTION[int(i)] for i in rng.integers(0, len(FUNCTION), int(rng.integers(0, 5)))]
        queries.append((" ".join(asked), grades))
    pages += [page(number, filler(int(rng.integers(40, 160)))) for number in range(len(pages), len(pages) + others)]
    return Judged(pages, queries)


def ndcg(found: Sequence[str], grades: dict[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain, gains 2^grade - 1 (Järvelin and Kekäläinen, 2002)."""
    gained = sum((2 ** grades.get(url, 0) - 1) / math.log2(place + 2) for place, url in enumerate(found[:depth]))
    ideal = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(ideal))
