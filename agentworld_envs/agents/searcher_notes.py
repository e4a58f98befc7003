"""`Notes`: what a searcher has read so far, and how it votes on what follows from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from agentworld_envs.agents.searcher_candidates import Candidate, Vote, candidates, elect, ranked
from agentworld_envs.agents.searcher_question import Kind
from agentworld_envs.agents.searcher_reading import Statement, plain_title, says, statements
from agentworld_envs.agents.searcher_units import Unit
from agentworld_envs.agents.searcher_words import PERSONS, PLACES, Word, names_in

About = Sequence[tuple[Statement, str, float]]
"""Statements with the address of their page, and how likely they are about something in [0, 1]."""

_ALIAS: Final = re.compile(r"\b(?:also (?:known|called)|other names?|alias(?:es)?|formerly)\b", re.IGNORECASE)
_TERM: Final = re.compile(r"\s*\((?:(?P<first>\d{4})\s*[-\u2013]\s*(?P<last>\d{4})?|since (?P<since>\d{4}))\)")
_EXACT: Final = ("number", "date", "year")
_LABELLED: Final = 1.5
"""How much more an infobox, a table or an answered question counts than a sentence."""
_EXACTLY: Final = 1.2
_LATER: Final = 0.1
_GUESS: Final = 0.05
_BESIDE: Final = 0.2
"""Up to which a statement only has a name beside what it is about."""


class Notes:
    """Pages and snippets by address. Nothing is forgotten within an episode."""

    def __init__(self, names: Sequence[str], *, snippets_only: bool = False) -> None:
        """Args: names: of the question; what speaks of several of them counts more.
        snippets_only: whether titles and snippets have to do, for one who opens no page.
        """
        self._names = names
        self.snippets_only = snippets_only
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

    def about(self, name: str, *, beside: bool = True) -> About:
        """What was read of a name or of what it is another name of; of everything, when the name is empty.

        Args:
            name: whom it is about.
            beside: whether that includes what only has the name beside somebody else's.
        """
        known = [name, *([self._aliases[name.casefold()]] if name.casefold() in self._aliases else [])]
        read = self._snippets if self.snippets_only else self.pages
        found = [(s, url, max(s.about(one) for one in known)) for url, page in read.items() for s in page]
        least = 0.0 if beside else _BESIDE
        return [(s, url, share if name else 1.0) for s, url, share in found if share > least or not name]

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

    def titles(self, known: Collection[str]) -> list[str]:
        """Names that pages are called by which searches have found, those that were not asked for; in order."""
        found = [plain_title(snippet.title) for [snippet] in self._snippets.values()]
        return [title for title in dict.fromkeys(found) if title not in known and names_in(title) == (title,)]

    @staticmethod
    def said(about: About, unit: Unit) -> bool:
        """Whether anything is said of a step."""
        return any(matched(statement, unit) >= 1 / (len(unit) + 1) for statement, _, share in about if share > _BESIDE)

    def tally(
        self, about: About, asked: Sequence[Word], kind: Kind, known: Collection[str], *, guess: bool = False
    ) -> list[tuple[str, float]]:
        """Answers with their weights, best first.

        Args:
            about: statements that may hold them.
            asked: the step that asks.
            kind: what is expected.
            known: names that cannot be the answer.
            guess: whether any statement will do, where none speaks of that step.
        """
        stems = {word.stem for word in asked}
        votes = []
        for statement, url, share in about:
            weight = self._weight(statement, asked, share) or (_GUESS * share if guess else 0.0)
            if weight:
                for place, candidate in enumerate(ranked(statement, kind, stems, known)[:2]):
                    votes.append(Vote(candidate.text, weight * (1.0 - 0.7 * place), statement.date, url))
        return elect(votes)

    def items(self, about: About, asked: Sequence[Word], known: Collection[str], year: int = 0) -> list[str]:
        """The names in the statement that speaks best of a step, in its order.

        Args:
            about: statements that may hold them.
            asked: the step that asks.
            known: names that do not count.
            year: keeps those behind whom years in brackets cover it; 0 keeps all.
        """
        best: tuple[float, str, list[str]] = (0.0, "", [])
        for statement, _, share in about:
            text = statement.value or statement.text
            names = [c.text for c in candidates(text, "name", known) if not year or _held(text, c, year)]
            weight = self._weight(statement, asked, share) if names else 0.0
            best = max(best, (weight, statement.date, names), key=lambda one: one[:2])
        return best[2]

    def exact(self, about: About, unit: Unit, kind: Kind) -> bool:
        """Whether a step itself gives the number or date that is asked for, so that the rest of the question is only
        how it is put: how many letters of X are kept."""
        said = [s for s, _, share in about if s.label and share > _BESIDE and matched(s, unit)]
        sort = {word.stem for word in unit} & (PLACES | PERSONS)
        if kind not in _EXACT or sort or any(candidates(statement.value, "name") for statement in said):
            return False
        return any(candidates(statement.value, kind) for statement in said)

    def _weight(self, statement: Statement, asked: Sequence[Word], share: float) -> float:
        weight = matched(statement, asked) * share * (_LABELLED if statement.label else 1.0)
        if weight and statement.label and statement.stems() <= {word.stem for word in asked}:
            weight *= _EXACTLY  # the label says what is asked and nothing else
        return weight * (1 + sum(says(statement.line, name) for name in self._names)) if weight else 0.0


def matched(statement: Statement, unit: Sequence[Word]) -> float:
    """How much of a step a statement speaks of, in [0, 1]. Words that only say a sort of thing count a third; later
    ones, which are what a question begins with, a little more, and so do labels that have the very word."""
    stems, label = statement.stems(), statement.label.casefold()
    weights = [(1 / 3 if word.generic else 1.0) + _LATER * i for i, word in enumerate(unit)]
    found = [weight for word, weight in zip(unit, weights, strict=True) if word.stem in stems]
    same = _LATER * sum(word.text.casefold() in label for word in unit) if label and found else 0.0
    return min(1.0, (sum(found) + same) / max(sum(weights), 1.0 + _LATER * len(unit)))


def _held(text: str, candidate: Candidate, year: int) -> bool:
    """Whether years in brackets behind a name cover a year; of two, the later one begins in it."""
    term = _TERM.match(text, candidate.start + len(candidate.text))
    if term is None:
        return False
    return int(term["first"] or term["since"]) <= year and (term["last"] is None or year < int(term["last"]))
