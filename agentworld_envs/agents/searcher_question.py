"""`Question`: what the words of a question say about what to look up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentworld_envs.agents.searcher_forms import DATE, NUMBER
from agentworld_envs.agents.searcher_units import LARGEST, SMALLEST, Unit, units_of
from agentworld_envs.agents.searcher_words import MONTHS, PLACES, names_in, words_of

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
    r"^who (?:are|were|have been) the \w+s\b|^"
    r"(?:please )?(?:list|name|give|enumerate|find)\b.*\b(?:all|every|each|names|titles)\b|^(?:list|enumerate)\b"
    r"|\bwhich (?:\w+ ){0,2}(?:people|persons|works|books|novels|films|cities|towns|products|organisations|events"
    r"|companies|places)\b.*\b(?:are|were|have|did|do)\b|\bwhat are (?:all )?the names\b",
    re.IGNORECASE,
)
_TABLE: Final = re.compile(r"\btable\b|\bcolumns?\b|\bfor each\b.*\b(?:give|list|with)\b", re.IGNORECASE)
_BOOLEAN: Final = re.compile(r"^(?:is|was|are|were|did|does|do|has|had|can|could|will)\b", re.IGNORECASE)
_DIFFERENCE: Final = re.compile(
    r"\bdifference between\b|\bhow many \w+ (?:lie|are|passed|were|is)? ?between\b", re.IGNORECASE
)
_UNION: Final = re.compile(r"\bhow many (?:different|distinct)\b.* among\b", re.IGNORECASE)
_IN_YEAR: Final = re.compile(r" in (?:the year )?(\d{4})(?=\s*[?.]?$)")
_YEAR_OF: Final = re.compile(r" in the year of the (\w+) of ([^?]{1,100}?)(?=\s*[?.]?$)")
_BESIDE: Final = re.compile(r" (?:directly |immediately )?(followed|succeeded|preceded) (\w[^?]{1,80}?) as ")
_DESCRIPTION: Final = re.compile(
    r"\bthe (?:\w+ ){1,3}?(?:that|of whom|who|whose|which) (?P<first>[^?]{1,200}?)"
    r" and (?:that|of whom|who|whose|which) (?P<second>[^?]+)"
)
_PARTS: Final = re.compile(r", and (?=(?:(?:in|on|at) )?(?:how|who|what|which|when|where)\b)", re.IGNORECASE)
"""Where a second question begins."""
SOMEONE: Final = "Someone"
_PHRASES: Final = tuple(
    (re.compile(rf"\b{phrase}\b", re.IGNORECASE), word)
    for phrase, word in (
        ("above the sea(?: level)?", "elevation"),
        ("made (?:out )?of", "material"),
        ("granted (?:its|a) charter", "chartered"),
        ("first sold", "launched"),
    )
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what its wording tells. Nothing of it is certain."""

    text: str
    kind: Kind
    names: tuple[str, ...]
    """Proper names and quoted titles, in order."""
    start: str
    """The name that one starts from, empty without any."""
    units: tuple[Unit, ...]
    """What leads from that name to the answer, a step each, the innermost first."""
    extreme: int = 0
    """1 when the larger or later one is asked for, -1 for the smaller or earlier one, else 0."""
    difference: bool = False
    """Whether it asks how far two things are apart."""
    union: bool = False
    """Whether it asks how many there are in several lists together."""
    described: tuple[str, str] | None = None
    """A name and a value that belong to the one that it starts from, who is not named."""
    year: int = 0
    """For which something has to hold, 0 when none is said."""
    year_of: tuple[str, str] | None = None
    """What gives that year, and the name that it is said of: the launch of X."""
    beside: tuple[int, str] | None = None
    """1 for the one behind a name in a list, -1 for the one before."""

    @property
    def compared(self) -> bool:
        """Whether two named things are compared."""
        return (bool(self.extreme) or self.difference) and len(self.names) >= 2

    @classmethod
    def all(cls, observation: str) -> list[Question]:
        """The questions of a task, out of its first observation: mostly one. Anything can be read."""
        text = question_in(observation)
        parts = _PARTS.split(text.partition("?")[0]) if _PARTS.search(text) else [text]
        return [cls.read(part if part == text else f"{part[:1].upper()}{part[1:]}?") for part in parts]

    @classmethod
    def read(cls, observation: str) -> Question:
        """What there is in one question."""
        text = question_in(observation)
        dated, year_of, beside = _IN_YEAR.search(text), _YEAR_OF.search(text), _BESIDE.search(text)
        plain = _BESIDE.sub(" was ", _YEAR_OF.sub("", _IN_YEAR.sub("", text)))
        names = [name for name in names_in(plain) if name not in MONTHS]
        described, plain = _described(plain, names)
        return cls(
            text=text,
            kind=_kind(text),
            names=tuple(names),
            start=names[-1] if names and described is None else "",
            units=units_of(reworded(plain), [SOMEONE] if described else names),
            extreme=_extreme(text),
            difference=bool(_DIFFERENCE.search(text)),
            union=bool(_UNION.search(text)),
            described=described,
            year=int(dated[1]) if dated else 0,
            year_of=(year_of[1], year_of[2]) if year_of else None,
            beside=(1 if beside[1] != "preceded" else -1, beside[2]) if beside else None,
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
    small, large = SMALLEST.search(text), LARGEST.search(text)
    if not small and not large:
        return 0
    return 1 if large and (not small or large.start() < small.start()) else -1  # the older one has the earlier date


def _described(text: str, names: Sequence[str]) -> tuple[tuple[str, str] | None, str]:
    """Who is described by a value and a name in two clauses, and the text with somebody in place of the description."""
    match = _DESCRIPTION.search(text)
    name = next((name for name in names if match and name in match["second"]), "")
    if match is None or not name:
        return None, text
    value = DATE.search(match["first"]) or NUMBER.search(match["first"])
    if value is None:
        return None, text
    end = match.start("second") + match["second"].index(name) + len(name)
    return (name, value[0]), f"{text[: match.start()]}{SOMEONE}{text[end:]}"


def reworded(text: str) -> str:
    """The text with plain words for some turns of phrase."""
    for phrase, word in _PHRASES:
        text = phrase.sub(word, text)
    return text
