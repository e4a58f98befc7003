"""`Question`: what the words of a question say about what to look up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentworld_envs.agents.searcher_words import PLACES, Word, names_in, words_of

Kind = Literal["number", "date", "year", "person", "place", "name", "list", "table", "boolean", "text"]
"""What an answer looks like."""

_MOST: Final = 4_000
_QUOTED_QUESTION: Final = re.compile(r"(?:^|\n)\s*(?:Question|Task|Query)\s*:\s*(.+?)(?=\n\s*\n|\Z)", re.DOTALL)
_ASKING: Final = re.compile(
    r"\b(?:who|whom|whose|what|which|when|where|how|list|name|give|is|was|are|were|did|does|do|has|had|can|find|tell"
    r"|compare|fill|make|in|on|at|by|for|of|to|from|under|during|among|between|with)\b",
    re.IGNORECASE,
)
_WH: Final = re.compile(r"\b(who|whom|whose|what|which|when|where|how)\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"\b(?:what|which) year\b|\byear\b.*\?", re.IGNORECASE)
_DATE: Final = re.compile(r"\bwhen\b|\b(?:what|which|exact|on what) (?:date|day|month)\b|\bthe date\b", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"\bhow (?:many|much|old|long|tall|high|far|large|big|deep|heavy|wide)\b"
    r"|\b(?:what|which|give|the) (?:\w+ ){0,3}(?:number|population|height|length|area|price|budget|revenue|cost|age"
    r"|total|sum|average|mean|difference|percentage|share|elevation|weight|attendance|capacity|distance|duration)\b",
    re.IGNORECASE,
)
_LIST: Final = re.compile(
    r"^(?:please )?(?:list|name|give|enumerate|find)\b.*\b(?:all|every|each|names|titles)\b|^(?:list|enumerate)\b"
    r"|\bwhich (?:\w+ ){0,2}(?:people|persons|works|books|novels|films|cities|towns|products|organisations|events"
    r"|companies|places)\b.*\b(?:are|were|have|did|do)\b|\bwhat are (?:all )?the names\b",
    re.IGNORECASE,
)
_TABLE: Final = re.compile(r"\btable\b|\bcolumns?\b|\bfor each\b.*\b(?:give|list|with)\b", re.IGNORECASE)
_BOOLEAN: Final = re.compile(r"^(?:is|was|are|were|did|does|do|has|had|can|could|will)\b", re.IGNORECASE)
_LARGEST: Final = re.compile(
    r"\b(?:latest|later|last|newest|newer|younger|youngest|more|most|larger|largest|bigger|biggest|higher|highest"
    r"|longer|longest|taller|tallest|greater|greatest|recent(?:ly)?|heavier|heaviest|maximum)\b",
    re.IGNORECASE,
)
_SMALLEST: Final = re.compile(
    r"\b(?:earliest|earlier|first|oldest|older|fewer|fewest|less|least|smaller|smallest|lower|lowest|shorter|shortest"
    r"|lighter|lightest|minimum|before)\b",
    re.IGNORECASE,
)
_COMPARISON: Final = re.compile(rf"{_LARGEST.pattern}|{_SMALLEST.pattern}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what its wording tells. Nothing of it is certain."""

    text: str
    kind: Kind
    names: tuple[str, ...]
    """Proper names and quoted titles, in order."""
    start: str
    """The name that one starts from, empty without any."""
    chain: tuple[Word, ...]
    """The words that say what is asked, the innermost (closest to the name that one starts from) first."""
    extreme: int = 0
    """1 when the larger or later one is asked for, -1 for the smaller or earlier one, else 0."""

    @property
    def compared(self) -> bool:
        """Whether two named things are compared."""
        return bool(self.extreme) and len(self.names) >= 2

    @classmethod
    def read(cls, observation: str) -> Question:
        """The question of a task, out of its first observation. Anything can be read."""
        text = question_in(observation)
        names = names_in(text)
        words = words_of(text)
        return cls(
            text=text,
            kind=_kind(text),
            names=tuple(names),
            start=names[-1] if names else "",
            chain=tuple(_chain(words, names)),
            extreme=_extreme(text),
        )


def question_in(observation: str) -> str:
    """The part of an observation that asks: what is marked as a question, else the last paragraph with a question
    mark, else the first paragraph."""
    observation = observation[:_MOST].encode("utf-8", "replace").decode("utf-8").strip()
    marked = _QUOTED_QUESTION.search(observation)
    if marked:
        return " ".join(marked[1].split())
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", observation) if p.strip()]
    asking = [p for p in paragraphs if "?" in p]
    return asking[-1] if asking else paragraphs[0] if paragraphs else ""


def _kind(text: str) -> Kind:
    if _TABLE.search(text):
        return "table"
    if _LIST.search(text):
        return "list"
    wh = _WH.search(text)
    if wh is None and _BOOLEAN.search(text):
        return "boolean"
    if _NUMBER.search(text):
        return "number"
    if _YEAR.search(text):
        return "year"
    if _DATE.search(text):
        return "date"
    if wh is None:
        return "text"
    first = wh[1].lower()
    following = words_of(text[wh.end() : wh.end() + 40])
    if first == "where" or (following and following[0].stem in PLACES):
        return "place"
    return "person" if first.startswith("who") else "name" if first == "which" else "text"


def _extreme(text: str) -> int:
    small, large = _SMALLEST.search(text), _LARGEST.search(text)
    if not small and not large:
        return 0
    return 1 if large and (not small or large.start() < small.start()) else -1  # the older one has the earlier date


def _stems(names: Sequence[str]) -> frozenset[str]:
    return frozenset(word.stem for name in names for word in words_of(name))


def _chain(words: Sequence[Word], names: Sequence[str]) -> list[Word]:
    """Content words from the last name outwards: the noun phrase that ends in it, then what follows, then the rest."""
    inside = _stems(names)
    spans = [i for i, word in enumerate(words) if word.stem in inside and word.capital]
    if not spans:
        return _distinct(word for word in reversed(words) if not _COMPARISON.fullmatch(word.text))
    start, end = _last_run(spans)
    left: list[Word] = []
    position = start - 1
    while position > 0 and not words[position].stop and words[position - 1].text.lower() == "the":
        position -= 1  # the novel "Blue Ash": that word only says what the name is the name of
    while position >= 0 and not words[position].auxiliary:
        left.append(words[position])
        position -= 1
    right = list(words[end + 1 :])
    rest = list(words[: position + 1][::-1])
    ordered = right + left + rest if end + 1 < len(words) and words[end].possessive else left + right + rest
    return _distinct(word for word in ordered if word.stem not in inside and not _COMPARISON.fullmatch(word.text))


def _distinct(words: Iterable[Word]) -> list[Word]:
    """Those that carry meaning, the first of every stem."""
    found: dict[str, Word] = {}
    for word in words:
        if not word.stop:
            found.setdefault(word.stem, word)
    return list(found.values())


def _last_run(spans: list[int]) -> tuple[int, int]:
    """First and last position of the last run of neighbouring positions."""
    end = start = spans[-1]
    for position in reversed(spans[:-1]):
        if start - position > 2:
            break
        start = position
    return start, end
