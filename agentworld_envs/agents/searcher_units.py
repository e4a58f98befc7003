"""Units: the steps that lead from the name in a question to its answer, as its grammar tells them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from agentworld_envs.agents.searcher_words import Word, synonyms, words_of

Unit = tuple[Word, ...]
"""Words that together say one step: `seat` and `town` of the town where something has its seat."""

LARGEST: Final = re.compile(
    r"\b(?:latest|later|last|newest|newer|younger|youngest|more|most|larger|largest|bigger|biggest|higher|highest"
    r"|longer|longest|taller|tallest|greater|greatest|recent(?:ly)?|heavier|heaviest|maximum)\b",
    re.IGNORECASE,
)
SMALLEST: Final = re.compile(
    r"\b(?:earliest|earlier|first|oldest|older|fewer|fewest|less|least|smaller|smallest|lower|lowest|shorter|shortest"
    r"|lighter|lightest|cheaper|cheapest|minimum|before)\b",
    re.IGNORECASE,
)
COMPARISON: Final = re.compile(rf"{LARGEST.pattern}|{SMALLEST.pattern}|\bdifference\b", re.IGNORECASE)
_PREPOSITIONS: Final = frozenset({"of", "by", "for", "in", "at", "from", "to", "with", "on"})
_RELATIVES: Final = frozenset({"where", "that", "who", "whom", "whose", "which"})
_ASKING: Final = _RELATIVES - {"that"} | {"what", "when", "how"}
_DETERMINERS: Final = frozenset({"the", "a", "an", "its", "their", "his", "her"})
_COUNTING: Final = frozenset({"number", "total", "name", "titl"})
"""Stems that are no step of their own: the number of letters of X."""


def units_of(text: str, names: Sequence[str]) -> tuple[Unit, ...]:
    """The steps of a question, the innermost first; the last one asks for the answer.

    What stands before the last name is a chain of noun phrases, `the seat of the maker of X`; a relative clause,
    `the town where the maker of X lives`, takes its verb from behind the name; what is left over asks.
    """
    words = words_of(text)
    first, last = _place(words, text, names[-1] if names else "")
    if first == last:
        return _plain([words])
    asking = next((i for i, word in enumerate(words) if word.text.lower() in _ASKING), -1)
    parts, stop = _before(words, first, asking, text, names)
    after = [word for word in words[last:] if not word.stop]
    units: list[list[Word]] = []
    joined = open_clause = False
    for part in parts:
        if isinstance(part, bool):
            joined, open_clause = True, part
        elif open_clause:  # the head of a clause whose verb stands behind the name
            units.append([*part, *after[:1]])
            after = after[1:]
            joined = open_clause = False
        elif joined and units:  # the head of a clause whose verb stands before the name
            units[-1] += part
            joined = False
        else:
            units.append(part)
    inside = {word.stem for name in names for word in words_of(name)}
    rest = [word for word in reversed(words[: stop + 1]) if not word.stop and word.stem not in inside]
    if units and not after and all(word.generic for word in rest):
        units[-1] += rest
    else:
        units.append([*after, *rest])
    return _plain(units)


def _place(words: Sequence[Word], text: str, name: str) -> tuple[int, int]:
    """First word of the last place of a name, and the word behind it; twice the same when it is not there."""
    at = text.rfind(name) if name else -1
    inside = [i for i, word in enumerate(words) if at <= word.start < at + len(name)] if at >= 0 else []
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _before(
    words: Sequence[Word], first: int, asking: int, text: str, names: Sequence[str]
) -> tuple[list[list[Word] | bool], int]:
    """What stands before a name, the nearest first: phrases, and for a relative clause whether its verb is missing;
    and where that ends."""
    parts: list[list[Word] | bool] = []
    phrase: list[Word] = []
    apart = True  # whether a preposition or a relative stands between this phrase and the one before
    i = first - 1
    if i >= 1 and not words[i].stop and words[i - 1].text.lower() == "the":
        i -= 2  # the novel X: that word only says what the name is the name of
    while i >= 0:
        word, low = words[i], words[i].text.lower()
        if i == asking or low in ("and", "or"):
            break
        if low in _RELATIVES or low in _PREPOSITIONS or low in _DETERMINERS:
            if phrase:
                parts.append(phrase)
                phrase = []
                apart = False
            apart = apart or low not in _DETERMINERS
            if low in _RELATIVES:
                behind = words[i + 1]
                parts.append(behind.text.lower() in _DETERMINERS or behind.capital)
        elif word.auxiliary and not (i and words[i - 1].text.lower() in _RELATIVES and i - 1 != asking):
            break
        elif not word.stop:
            phrase.append(word)
        i -= 1
    if phrase and not apart and isinstance(parts[-1], list) and not any(synonyms(word.text) for word in phrase):
        parts[-1] += phrase  # who is honoured as the patron of X: no step of its own
    elif phrase:
        parts.append(phrase)
    return parts, i


def _plain(units: Iterable[Sequence[Word]]) -> tuple[Unit, ...]:
    """Without words of comparison, doubles, and steps that say nothing."""
    plain = []
    for unit in units:
        kept = {word.stem: word for word in unit if not word.stop and not COMPARISON.fullmatch(word.text)}
        if kept.keys() - _COUNTING:
            plain.append(tuple(kept.values()))
    return tuple(plain)
