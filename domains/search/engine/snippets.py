"""Snippets: the part of a page that shows why it matched, without what one has to open the page for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from agentworld_envs.domains.search.engine.words import STOP_WORDS, query_words, telling

LENGTH: Final = 240
"""Characters of a snippet, without the marks of what is left out."""
ELISION: Final = "[...]"

_SCANNED: Final = 200_000
"""Characters of a page that are looked at."""
_NEEDLES: Final = 8
_PLACES: Final = 3
"""Occurrences of one word that are looked at."""
_LEAD: Final = 60
"""Characters shown before the first word that matched."""
_AROUND: Final = 1_500
"""Of a page with withheld texts: characters on both sides of the best window that are looked at once these are out."""
_RUN: Final = re.compile(
    r"\[\.\.\.\](?:(?:[\s|,;:*_`~/-]|\b(?:and|or)\b)*+(?:\[\.\.\.\]|\(\[\.\.\.\](?:-\[\.\.\.\])?\)))+"
)
"""Withheld texts with nothing to read between them."""
_EMPTY: Final = re.compile(r"\|(?:\s*(?::?-{2,}:?\s*)?\|)+")
"""Cells of a table with nothing in them, or with the rule below its heading."""

_MOST_KNOWN = 2
"""Numbers and dates, or other withheld texts of a page, that a query may have: who lists more of them is guessing."""
_MOST_WORDS = 24
"""Words of a query that may have withheld texts, stop words aside. Questions of the task sets have at most 15."""
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_NUMBERS: Final = re.compile(
    r"\d{4}-\d\d?-\d\d?|\d\d?[./-]\d\d?[./-]\d{4}"
    rf"|\d\d?\.? {_MONTH},? \d{{4}}|{_MONTH} \d\d?,? \d{{4}}|\d+(?:[.,]\d+)*",
    re.IGNORECASE,
)
"""A date is one number."""

_Hidden = tuple[str, re.Pattern[str], int]
"""A withheld text: its first word in lower case, which is cheap to look for; the whole; its length."""


class Snippets:
    """Makes the snippets of one query.

    Args:
        query: as the agent wrote it.
        words: its distinct terms with the words they were made of, see `words.query_words`.
        withheld: texts that no snippet shows unless the query has them, see `sealed`.
        length: characters of a snippet.
    """

    __slots__ = ("_length", "_needles", "_query", "_withheld")

    def __init__(
        self, query: str, words: Mapping[str, str], withheld: Sequence[str] = (), length: int = LENGTH
    ) -> None:
        self._query = query
        self._length = length
        self._needles = _needles(words)
        self._withheld = self._hidden(withheld) if withheld else []

    def of(self, text: str, withheld: Sequence[str] = ()) -> str:
        """The snippet of a page, one line. Its beginning when no word of the query is found.

        Args:
            text: of the page.
            withheld: texts of this page that are left out, in addition.
        """
        lower = text.lower()
        hidden = self._withheld
        if withheld:
            hidden = hidden + self._hidden(withheld)
        if hidden:
            hidden = [one for one in hidden if one[0] in lower]
            if hidden:
                return self._clear(text, lower, hidden)
        if len(text) <= self._length:
            return _cut(text, 0, self._length)
        if len(lower) != len(text):
            lower = _lowered(text)
        return _cut(text, self._window(lower), self._length)

    def _clear(self, text: str, lower: str, hidden: Sequence[_Hidden]) -> str:
        """The snippet of a page with withheld texts: these are taken out, then the window is chosen in what is left.

        So there is something to read in it, and words that stay hidden do not draw it.
        """
        low, high = 0, len(text)
        if high > 2 * _AROUND:
            start = self._window(lower if len(lower) == high else _lowered(text))
            low, high = max(0, start - _AROUND), min(high, start + _AROUND)
            low = text.find(" ", low, start) + 1 or start if low else 0
        shown = _EMPTY.sub("|", _RUN.sub(ELISION, _without(text, low, high, hidden)))
        shown = " ".join(shown.split())
        start = self._window(_lowered(shown), shown) if len(shown) > self._length else 0
        return _cut(shown, start, self._length, low > 0, high < len(text))

    def _hidden(self, withheld: Sequence[str]) -> list[_Hidden]:
        return _sealed(self._query, withheld)

    def _window(self, lower: str, shown: str = "") -> int:
        """Where the best window begins: most distinct words of the query, the earliest of equals.

        Args:
            lower: the text in lower case.
            shown: the text with its elisions. Then, of equals, the window with most to read.
        """
        find = lower.find
        places: list[tuple[int, str, int]] = []
        few = 1 if len(self._needles) == 1 and not shown else _PLACES
        for needle, weight, inside in self._needles:
            at, found = find(needle, 0, _SCANNED), 0
            while at >= 0:
                if inside or at == 0 or not lower[at - 1].isalnum():
                    places.append((at, needle, weight))
                    found += 1
                    if found == few:
                        break
                at = find(needle, at + len(needle), _SCANNED)
        if not places:
            return 0
        best = places[0][0]
        if len(places) > 1:
            places.sort()
            best = places[0][0]
            reach = self._length - _LEAD
            if places[-1][0] - best > reach:
                best = _densest(places, reach, shown)
        return best - _LEAD if best > _LEAD else 0


def _densest(places: list[tuple[int, str, int]], reach: int, shown: str = "") -> int:
    """The first of the places from where the heaviest set of distinct words is within reach; where elisions are shown,
    of equals that with most words besides them."""
    best, best_weight, best_told = 0, -1, 0
    last = places[-1][0]
    for i, (at, _, _) in enumerate(places):
        weight, seen = 0, set()
        for other, needle, value in places[i:]:
            if other - at > reach:
                break
            if needle not in seen:
                seen.add(needle)
                weight += value
        if shown:
            if weight >= best_weight:
                left, right = max(0, at - _LEAD), at + reach
                told = shown.count(" ", left, right) - shown.count(ELISION, left, right)
                if weight > best_weight or told > best_told:
                    best, best_weight, best_told = at, weight, told
            continue
        if weight > best_weight:
            best, best_weight = at, weight
        if last - at <= reach:  # all that follow see less
            break
    return best


def _lowered(text: str) -> str:
    """In lower case and as long as before: a few letters are two in lower case, as "İ"."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
    return lower


def snippet(text: str, query: str, withheld: Sequence[str] = (), length: int = LENGTH) -> str:
    """The snippet of one text for one query; `Snippets` for many texts."""
    return Snippets(query, query_words(query), withheld, length).of(text)


def occurs(needle: str, text: str) -> bool:
    """Whether a withheld text stands in another: whole words, in any case, whatever markup or space is between them."""
    compiled = _compiled(needle)
    return compiled is not None and compiled[1].search(text) is not None


def sealed(query: str, withheld: Sequence[str]) -> list[str]:
    """Those of the texts that are withheld together (of a page, of a task) that a snippet for a query must not show.

    A query that has a text may see it, so that what is known is found again. It does not get more by listing whatever
    the text could be: more than two numbers or dates open no number or date, and more than two other texts of these,
    or more than `_MOST_WORDS` words, open nothing else.
    """
    hidden = _sealed(query, withheld)
    return [text for text in withheld if _compiled(text) in hidden]


def _sealed(query: str, withheld: Sequence[str]) -> list[_Hidden]:
    found = [hidden for text in withheld if (hidden := _compiled(text)) is not None]
    asked = query.lower()
    # The expression is slow: it is only tried where the first word is.
    known = [hidden for hidden in found if hidden[0] in asked and hidden[1].search(query) is not None]
    if not known:
        return found
    numbers, others = _opens(query)
    others = others and sum(not _has_digit(hidden) for hidden in dict.fromkeys(known)) <= _MOST_KNOWN
    return [hidden for hidden in found if hidden not in known or not (numbers if _has_digit(hidden) else others)]


@lru_cache(maxsize=64)
def _opens(query: str) -> tuple[bool, bool]:
    """Whether a query is short enough to have numbers and dates, and to have other texts."""
    few = len({match[0] for match in _NUMBERS.finditer(query)}) <= _MOST_KNOWN
    return few, len(telling(query_words(query))) <= _MOST_WORDS


def _has_digit(hidden: _Hidden) -> bool:
    return any(character.isdigit() for character in hidden[1].pattern)


def elided(text: str, withheld: Sequence[str], query: str = "") -> str:
    """`text` with `[...]` in the place of every withheld text that a snippet for the query must not show."""
    for _, pattern, _ in sorted(_sealed(query, withheld), key=lambda hidden: hidden[2], reverse=True):
        text = pattern.sub(ELISION, text)
    return text


def _needles(words: Mapping[str, str]) -> list[tuple[str, int, bool]]:
    """What is looked for in a page: the beginning that a word and its stem share, the longest first, with its weight
    and whether it may stand within a word (in scripts that put no space between them)."""
    found: dict[str, int] = {}
    for term, word in words.items():
        if word in STOP_WORDS or (len(word) < 2 and word.isascii() and not word.isdigit()):
            continue
        shared = 0
        for left, right in zip(term, word, strict=False):
            if left != right:
                break
            shared += 1
        needle = word[:shared] if shared >= 3 else word
        found[needle] = min(len(needle), 9) + 1
    heaviest = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_NEEDLES]
    return [(needle, weight, not needle.isascii()) for needle, weight in heaviest]


def _cut(text: str, start: int, length: int, before: bool = False, after: bool = False) -> str:
    """`length` characters from `start`, at the borders of words, in one line.

    Args:
        before: whether there is more before the text.
        after: whether there is more after it.
    """
    end = min(len(text), start + length)
    if start:  # not in the middle of a word
        space = text.find(" ", start, start + 30)
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", end - 30, end)
        end = space if space > start else end
    shown = text[start:end]
    if not shown.isprintable() or "  " in shown:  # what is printable is one line; splitting costs five times as much
        shown = " ".join(shown.split())
    return f"{'... ' if start or before else ''}{shown}{' ...' if after or end < len(text) else ''}"


def _without(text: str, start: int, end: int, withheld: Sequence[_Hidden]) -> str:
    """`text[start:end]` without the withheld texts, also where an edge cuts through one."""
    margin = max([size for _, _, size in withheld]) * 2 + 20
    low, high = max(0, start - margin), min(len(text), end + margin)
    region = text[low:high]
    lower = region.lower()
    spans = [span for hidden in withheld for span in _spans(hidden, region, lower)]
    if not spans:
        return text[start:end]
    spans.sort()
    pieces, at, stop = [], start - low, end - low
    for left, right in spans:
        if right > at and left < stop:
            if left > at:
                pieces.append(region[at:left])
            if left >= at or not pieces:
                pieces.append(ELISION)
            at = right
    if at < stop:
        pieces.append(region[at:stop])
    return "".join(pieces)


def _spans(hidden: _Hidden, region: str, lower: str) -> Iterator[tuple[int, int]]:
    """Where a withheld text stands. The expression is slow: it is only tried where the first word is."""
    first, pattern, _ = hidden
    if len(lower) != len(region):  # places in one are not those in the other
        if first in lower:
            yield from (match.span() for match in pattern.finditer(region))
        return
    at = lower.find(first)
    while at >= 0:
        match = pattern.match(region, at)
        if match is not None:
            yield match.span()
        at = lower.find(first, at + 1 if match is None else match.end())


@lru_cache(maxsize=16_384)
def _compiled(needle: str) -> _Hidden | None:
    """Whole words; a number is not found within a longer one (`204` not in `1,204` or `204.5`)."""
    words = needle.split()
    if not words:
        return None
    while len(words) > 1 and not words[0].strip("*_`~[]"):  # mere markup, at every place of which a search would begin
        words.pop(0)
    before = r"(?<![\w])(?<!\d[.,])" if words[0][0].isdigit() else (r"(?<!\w)" if _is_word(words[0][0]) else "")
    after = r"(?!\w)(?![.,]\d)" if words[-1][-1].isdigit() else (r"(?!\w)" if _is_word(words[-1][-1]) else "")
    pattern = re.compile(before + r"[\s*_`~\[\]]+".join(map(re.escape, words)) + after, re.IGNORECASE)
    return words[0].lower(), pattern, len(needle)


def _is_word(character: str) -> bool:
    """Whether a border of words makes sense there; scripts without spaces have none."""
    return (character.isalnum() and character < "\u0e00") or character == "_"
