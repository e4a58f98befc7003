"""`Notes`: what a searcher has read so far, and how it votes on what follows from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from agentworld_envs.agents.searcher_candidates import Candidate, Vote, candidates, elect, ranked
from agentworld_envs.agents.searcher_question import Kind
from agentworld_envs.agents.searcher_reading import Statement, plain_title, says, statements
from agentworld_envs.agents.searcher_units import Unit
from agentworld_envs.agents.searcher_words import Word, names_in

About = Sequence[tuple[Statement, str, float]]
"""Statements with the address of their page, and how likely they are about something in [0, 1]."""

_ALIAS: Final = re.compile(r"\b(?:also (?:known|called)|other names?|alias(?:es)?|formerly)\b", re.IGNORECASE)
_TERM: Final = re.compile(r"\s*\((?:(?P<first>\d{4})\s*[-\u2013]\s*(?P<last>\d{4})?|since (?P<since>\d{4}))\)")
_EXACT: Final = ("number", "date", "year")
_LABELLED: Final = 1.5
"""How much more an infobox, a table or an answered question counts than a sentence."""
_SHARE: Final = 0.34
"""Of the best, that another item of a list needs."""


class Notes:
    """Pages and snippets by address. Nothing is forgotten within an episode."""

    def __init__(self, names: Sequence[str], *, snippets_only: bool = False) -> None:
        """Args: names: of the question; what speaks of several of them counts more.
        snippets_only: whether titles and snippets have to do, for one who opens no page.
        """
        self._names = names
        self._snippets_only = snippets_only
        self.pages: dict[str, list[Statement]] = {}
        self._snippets: dict[str, list[Statement]] = {}
        self._aliases: dict[str, str] = {}

    def add_page(self, url: str, text: str, title: str, date: str) -> None:
        """Read a page."""
        self.pages[url] = page = statements(text, title, date)
        for statement in page:
            if statement.label and not statement.subject and _ALIAS.search(statement.label):
                for alias in names_in(statement.value):
                    self._aliases.setdefault(alias.casefold(), plain_title(title))

    def add_snippet(self, url: str, text: str, title: str, date: str) -> None:
        """See a result of a search."""
        self._snippets.setdefault(url, [Statement(text, title, date=date, line=text)])

    def about(self, name: str) -> About:
        """What was read of a name or of what it is another name of; of everything, when the name is empty."""
        known = [name, *([self._aliases[name.casefold()]] if name.casefold() in self._aliases else [])]
        read = self._snippets if self._snippets_only else self.pages
        found = [(s, url, max(s.about(one) for one in known)) for url, page in read.items() for s in page]
        return [(s, url, share if name else 1.0) for s, url, share in found if share or not name]

    def holder(self, name: str, value: str) -> str:
        """The one whose page or row has both a name and a value, empty when there is none."""
        for page in self.pages.values():
            for statement in page:
                if statement.subject and says(statement.line, name) and says(statement.line, value):
                    return statement.subject
        for page in self.pages.values():
            title = plain_title(page[0].title) if page else ""
            lines = [statement.line for statement in page]
            proper = title != name and names_in(title) == (title,)
            if proper and any(says(line, value) for line in lines) and any(says(line, name) for line in lines):
                return title
        return ""

    @staticmethod
    def said(about: About, unit: Unit) -> bool:
        """Whether anything is said of a step."""
        return any(matched(statement, unit) >= 1 / (len(unit) + 1) for statement, _, share in about if share > 0.2)

    def tally(
        self, about: About, asked: Sequence[Word], kind: Kind, known: Collection[str], year: int = 0
    ) -> list[tuple[str, float]]:
        """Answers with their weights, best first.

        Args:
            about: statements that may hold them.
            asked: the step that asks.
            kind: what is expected.
            known: names that cannot be the answer.
            year: for which something has to hold, 0 for any.
        """
        every = kind in ("list", "table")
        stems = {word.stem for word in asked}
        votes = []
        for statement, url, share in about:
            weight = matched(statement, asked) * share * (_LABELLED if statement.label else 1.0)
            if not weight:
                continue
            weight *= 1 + sum(says(statement.line, other) for other in self._names)
            if every or year:
                found = candidates(statement.value or statement.text, "name", known)
                found = [one for one in found if not year or _held(statement, one, year)]
            else:
                found = ranked(statement, kind, stems, known)[:2]
            for place, candidate in enumerate(found):
                votes.append(Vote(candidate.text, weight * (1.0 if every else 1.0 - 0.7 * place), statement.date, url))
        return elect(votes)

    def items(self, about: About, asked: Sequence[Word], known: Collection[str]) -> list[str]:
        """What a list holds: all who come close to the best."""
        tally = self.tally(about, asked, "list", known)
        return [text for text, weight in tally if weight >= _SHARE * tally[0][1]]

    def exact(self, about: About, unit: Unit, kind: Kind) -> bool:
        """Whether a step itself gives the number or date that is asked for, so that the rest of the question is only
        how it is put: how many letters of X are kept."""
        return kind in _EXACT and any(
            statement.label
            and share > 0.2
            and matched(statement, unit)
            and candidates(statement.value, kind)
            and not candidates(statement.value, "name")
            for statement, _, share in about
        )


def matched(statement: Statement, unit: Sequence[Word]) -> float:
    """How much of a step a statement speaks of, in [0, 1]; words that only say a sort of thing count a third."""
    stems = statement.stems()
    return sum((1 / 3 if word.generic else 1.0) for word in unit if word.stem in stems) / max(len(unit), 1)


def _held(statement: Statement, candidate: Candidate, year: int) -> bool:
    """Whether years in brackets behind a name cover a year."""
    text = statement.value or statement.text
    term = _TERM.match(text, candidate.start + len(candidate.text))
    if term is None:
        return False
    first = int(term["first"] or term["since"])
    return first <= year and (term["last"] is None or year < int(term["last"]) or year == first)
