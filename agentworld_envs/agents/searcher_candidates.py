"""`Candidate`: a text that may be the answer, and the vote over them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentworld_envs.agents.searcher_forms import DATE, NUMBER, YEAR, iso_date, number
from agentworld_envs.agents.searcher_question import Kind
from agentworld_envs.agents.searcher_reading import Statement, says
from agentworld_envs.agents.searcher_words import MONTHS, names_in, words_of

_CUE: Final = re.compile(r"\b(by|in|at|near|to|from|of)\s+(?:the\s+)?[\"']?$", re.IGNORECASE)
_FAR: Final = 1_000
"""Characters that a candidate is put back by when the word before it does not suit what is expected."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may be the answer."""

    text: str
    start: int
    """Where it begins in what it was taken from."""


def candidates(text: str, kind: Kind, known: Iterable[str] = ()) -> list[Candidate]:
    """Texts of the expected form.

    Args:
        text: a sentence, a cell or a value.
        kind: what is expected; a `text` may have any form.
        known: names that cannot be the answer, for they stand in the question.
    """
    if kind == "year":
        return [Candidate(match[1], match.start()) for match in YEAR.finditer(text)] or [
            Candidate(found.text[:4], found.start) for found in candidates(text, "date")
        ]
    if kind == "date":
        dates = [Candidate(iso_date(match[0]), match.start()) for match in DATE.finditer(text)]
        return dates or candidates(text, "year") if YEAR.search(text) else dates
    if kind == "number":
        inside = [(match.start(), match.end()) for match in DATE.finditer(text)]
        return [
            Candidate(match[0].strip(), match.start())
            for match in NUMBER.finditer(text)
            if not any(start <= match.start() < end for start, end in inside)
        ]
    taken = [name for name in known if name]
    return [
        Candidate(name, text.find(name))
        for name in names_in(text)
        if name not in MONTHS and not any(says(name, other) for other in taken)
    ]


@dataclass(frozen=True, slots=True)
class Vote:
    """A candidate with what speaks for it."""

    text: str
    weight: float
    date: str
    """Of the statement that it comes from; empty when unknown."""
    page: str


def key(text: str) -> str:
    """What two answers have in common when they are the same."""
    value = number(text) if NUMBER.fullmatch(text.strip()) else None
    return f"{value:.6g}" if value is not None else " ".join(word.stem for word in words_of(text))


def elect(votes: Sequence[Vote]) -> list[tuple[str, float]]:
    """Answers with their share of the vote, best first.

    Every page has one vote for an answer, its heaviest. A statement has less than half the weight of a newer one, down
    to a fifth: the newest is the likeliest to hold still, and several older ones that agree may yet outvote it.
    """
    dates = sorted({vote.date for vote in votes if vote.date}, reverse=True)
    ballots: dict[str, dict[str, float]] = {}
    shown: dict[str, str] = {}
    for vote in votes:
        age = dates.index(vote.date) if vote.date else 0
        weight = vote.weight * max(0.2, 0.45**age)
        pages = ballots.setdefault(key(vote.text), {})
        pages[vote.page] = max(weight, pages.get(vote.page, 0.0))
        shown.setdefault(key(vote.text), vote.text)
    tally = [(shown[answer], sum(pages.values())) for answer, pages in ballots.items()]
    return sorted(tally, key=lambda item: -item[1])


def ranked(statement: Statement, kind: Kind, asked: Collection[str], known: Iterable[str] = ()) -> list[Candidate]:
    """Candidates of a statement, the likeliest first: those close to the words that are asked for.

    Args:
        statement: what may hold the answer.
        kind: what is expected.
        asked: stems of what is asked for.
        known: names that cannot be the answer.
    """
    if statement.label:
        if kind != "text":
            return candidates(statement.value, kind, known)
        return [] if any(says(statement.value, name) for name in known) else [Candidate(statement.value, 0)]
    # A single word that opens a sentence has its capital from there.
    found = [
        one for one in candidates(statement.text, kind, known) if one.start or " " in one.text or one.text[0].isdigit()
    ]
    places = [word.start for word in words_of(statement.text) if word.stem in asked]

    def distance(candidate: Candidate) -> float:
        # What belongs to a verb more often follows it than precedes it.
        near = min(
            ((candidate.start - p) if candidate.start >= p else 1.5 * (p - candidate.start) for p in places), default=0
        )
        cue = _CUE.search(statement.text[max(0, candidate.start - 12) : candidate.start])
        located = cue is not None and cue[1].lower() != "by"
        return near + (_FAR if (kind == "place" and not located) or (kind == "person" and located) else 0)

    return sorted(found, key=distance)
