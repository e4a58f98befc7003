"""How alike two observations are, by rule: no model, no judge, and the same number on every machine.

Three measures, from strict to lenient:

* `exact`: the texts are the same, character for character.
* `edit_similarity`: one minus the Levenshtein distance over the longer length.
* `token_f1`: overlap of the two bags of tokens; order does not count.

All are pure functions. `edit_similarity` and `token_f1` are symmetric and lie in [0, 1].
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

TOKEN = re.compile(r"\w+|[^\w\s]")
"""A token of `token_f1`: a run of word characters, or one mark. White space is none."""

_PIECE = re.compile(r"\w+|\W")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

EXACT_CELLS = 2_000_000_000
"""Largest table (product of the two lengths, after the common ends are cut) compared unit by unit.

A second or two at most: 45,000 characters against as many."""


def exact(a: str, b: str) -> bool:
    """True when the texts are equal, white space and case included."""
    return a == b


def edit_similarity(a: str, b: str) -> float:
    """1 - Levenshtein(a, b) / max(len(a), len(b)), in [0, 1]; 1.0 when both are empty.

    Characters are compared up to `EXACT_CELLS`. Longer pairs are compared by words and marks, and pairs too long for
    that by lines: the number is then the share of those units, a coarser reading of the same ratio.
    """
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    for units in (_characters, _pieces, _lines):
        left, right = units(a), units(b)
        start, stop_left, stop_right = _middle(left, right)
        if units is _lines or (stop_left - start) * (stop_right - start) <= EXACT_CELLS:
            distance = _levenshtein(left[start:stop_left], right[start:stop_right])
            return 1.0 - distance / max(len(left), len(right))
    raise AssertionError("the loop above always returns: lines are compared at any length")


def token_f1(a: str, b: str) -> float:
    """F1 of the bags of tokens (words and marks, case kept), in [0, 1].

    1.0 when neither text has a token, 0.0 when only one has.
    """
    left, right = Counter(TOKEN.findall(a)), Counter(TOKEN.findall(b))
    total = left.total() + right.total()
    if not total:
        return 1.0
    return 2.0 * (left & right).total() / total


def _characters(text: str) -> Sequence[Hashable]:
    return text


def _pieces(text: str) -> Sequence[Hashable]:
    return _PIECE.findall(text)


def _lines(text: str) -> Sequence[Hashable]:
    return _LINE.findall(text)


def _middle(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[int, int, int]:
    """Where the common start ends, and where the common end begins in each.

    Observations of neighbouring turns share most of their text, so this is where most of the time is saved.
    """
    shorter = min(len(a), len(b))
    # Halving slices: comparing slices is done in C, a loop over characters is not.
    start = _common(shorter, lambda low, high: a[low:high] == b[low:high])
    rest = shorter - start
    end = _common(rest, lambda low, high: a[len(a) - high : len(a) - low] == b[len(b) - high : len(b) - low])
    return start, len(a) - end, len(b) - end


def _common(limit: int, same: Callable[[int, int], bool]) -> int:
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _levenshtein(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """Edit distance, one column of the table per big integer (Myers 1999, with Hyyro's 2003 form for global distance).

    Bit i of `plus` and `minus` says whether the table grows or falls by one between rows i and i + 1. Python's integers
    have any width, so one step handles a whole column.
    """
    if len(a) < len(b):
        a, b = b, a
    if not b:
        return len(a)
    where: dict[Hashable, int] = {}
    for index, unit in enumerate(b):
        where[unit] = where.get(unit, 0) | (1 << index)
    mask = (1 << len(b)) - 1
    last = 1 << (len(b) - 1)
    plus, minus, distance = mask, 0, len(b)
    for unit in a:
        equal = where.get(unit, 0)
        diagonal = (((equal & plus) + plus) ^ plus) | equal | minus
        rises = (minus | ~(diagonal | plus)) & mask
        falls = diagonal & plus
        if rises & last:
            distance += 1
        elif falls & last:
            distance -= 1
        rises = (rises << 1) | 1
        falls <<= 1
        plus = (falls | ~(diagonal | rises)) & mask
        minus = diagonal & rises & mask
    return distance
