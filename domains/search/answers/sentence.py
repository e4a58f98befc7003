"""`number_in` and `date_in`: the only number or date that a sentence has.

A sentence counts when nobody can doubt which value it gives. One that denies, compares, bounds, asks, or has a second
number or date gives none.
"""

from __future__ import annotations

import re

from agentworld_envs.domains.search.answers.dates import MONTHS, Day, parse_date
from agentworld_envs.domains.search.answers.normal import fold
from agentworld_envs.domains.search.answers.numbers import NUMBER_WORDS, SCALES, Quantity, parse_number
from agentworld_envs.domains.search.answers.units import convert, says_more, unit_name

LONGEST = 300
"""Characters of a sentence."""
_DOUBT = frozenset(
    (
        *("not", "no", "never", "none", "neither", "nor", "without", "except", "but", "instead", "wrong", "false"),
        *("or", "either", "maybe", "perhaps", "possibly", "unless", "unsure", "unknown", "if", "whether"),
        *("than", "over", "under", "above", "below", "least", "most", "more", "less", "fewer", "up", "beyond"),
        *("between", "before", "after", "until", "till", "through", "range", "per", "plus", "minus", "times"),
        *("bc", "bce", "b.c", "b.c.e", "ah", "bh", "half", "twice", "double", "another", "first", "second", "third"),
    )
)
_BOUNDS = frozenset({"by", "to"})
"""Right before a value."""
_EACH = frozenset({"a", "an"})
"""Right behind a unit, which is a part of another one then: crowns a year."""
_NUMBER = re.compile(r"[(\"'\u201c]?(?P<number>[+-]?[$€£¥]?\d(?:[\d.,' ]*\d)?(?:%|[kKMBT])?)[)\"'\u201d]?[.,;:!]*")
_MARKS = " .,;:!()[]\"'\u201c\u201d*_"


def number_in(text: str, unit: str | None) -> Quantity | None:
    """The only number of a sentence, in digits, with a scale behind it; `None` when there is not just one.

    Args:
        text: the sentence.
        unit: what the number has to be given in. When words follow it, they have to begin with a unit of that kind;
            without a unit, `%` and scales are read and all other words are not.
    """
    words = _words(text)
    places = [place for place, word in enumerate(words) if any(map(str.isdigit, word))]
    if not places or places[-1] - places[0] != len(places) - 1:
        return None
    start, end = places[0], places[-1] + 1
    plain = [_plain(word) for word in words]
    around = plain[:start] + plain[end:]
    match = _NUMBER.fullmatch(" ".join(words[start:end]).replace("\u2212", "-"))
    near = {*plain[max(0, start - 1) : start], *plain[end : end + 1]}
    if match is None or near & (MONTHS | _BOUNDS) or any(_parts(word) & NUMBER_WORDS for word in around):
        return None
    scales = 0
    while _follows(words, end + scales) and plain[end + scales] in SCALES:
        scales += 1
    if any(word in SCALES for word in plain[:start] + plain[end + scales :]):
        return None
    said = " ".join((match["number"], *plain[end : end + scales]))
    number = parse_number(said)
    behind = plain[end + scales :] if _follows(words, end + scales) else []
    if number is None or not behind or number.unit:
        return number
    if any(says_more(" ".join(behind[:count])) for count in range(1, len(behind) + 1)):
        return None
    if unit is None:
        return Quantity(number.value, "%") if unit_name(behind[0]) == "%" else number
    named = [(unit_name(" ".join(behind[:count])), behind[count : count + 1]) for count in (1, 2, 3)]
    fitting = [(name, then) for name, then in named if convert(1.0, name, unit_name(unit)) is not None]
    if not fitting or (fitting[-1][1] and fitting[-1][1][0] in _EACH):
        return None
    return Quantity(number.value, fitting[-1][0])


def date_in(text: str) -> tuple[Day, ...]:
    """What the only date of a sentence may mean, as `parse_date` gives it; nothing when there is not just one.

    A year alone is a date behind `in`, `year` or `since`, or at the end.
    """
    words = _words(text)
    plain = [_plain(word) for word in words]
    places = [place for place, word in enumerate(plain) if word in MONTHS or any(map(str.isdigit, word))]
    if not places:
        return ()
    start, end = places[0], places[-1] + 1
    lead = plain[start - 1] if start else ""
    if lead in _BOUNDS or any(_parts(word) & NUMBER_WORDS for word in plain[:start] + plain[end:]):
        return ()
    if end - start == 1 and plain[start].isdigit() and lead not in ("in", "year", "since") and end < len(words):
        return ()
    return parse_date(" ".join(words[start:end]).strip(_MARKS))


def _words(text: str) -> list[str]:
    """The words of a sentence; none when it is too long, leaves a doubt, or is not one."""
    words = text.split() if len(text) <= LONGEST and "?" not in text else []
    doubt = any(_plain(word) in _DOUBT or _parts(_plain(word)) & _DOUBT or "n't" in fold(word) for word in words)
    return [] if len(words) < 2 or doubt or any(sign in text for sign in "<>~\u2260") else words


def _plain(word: str) -> str:
    return fold(word).strip(_MARKS)


def _parts(word: str) -> set[str]:
    return set(re.split(r"[^\w]+", word))


def _follows(words: list[str], place: int) -> bool:
    """Whether the word at a place belongs to what stands before it: no mark separates them."""
    return 0 < place < len(words) and words[place - 1][-1] not in ".,;:!)"
