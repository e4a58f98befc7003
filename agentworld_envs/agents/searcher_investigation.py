"""`Investigation`: how a searcher answers a question, and an episode of one or several."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import Final

from agentworld_envs.agents.searcher_browser import Browser, Steps, call
from agentworld_envs.agents.searcher_chance import Chance
from agentworld_envs.agents.searcher_forms import iso_date, number
from agentworld_envs.agents.searcher_group import GroupQuestion
from agentworld_envs.agents.searcher_notes import Notes
from agentworld_envs.agents.searcher_question import Kind, Question
from agentworld_envs.agents.searcher_units import Unit
from agentworld_envs.agents.searcher_words import PERSONS, PLACES, names_in, words_of

NOTHING: Final = "unknown"
"""The answer of one who has found nothing."""
_AGE: Final = words_of("born founded opened published")
"""What one looks for who is asked which of two is older."""
_MEMBERS: Final = 6
"""Members that a group may have, as far as one knows beforehand."""
_NAMED: Final = ("person", "place", "name", "text")


def investigate(
    questions: Sequence[Question], visits: int, chance: Chance, addresses: Mapping[str, str] | None = None
) -> Generator[str, str, None]:
    """The actions of an episode, with the answer at the end, repeated for as long as nobody takes it.

    Args:
        questions: at least one; the answers to several are handed in as a JSON list.
        visits: pages that may be opened.
        chance: what is left to it.
        addresses: of main pages that are known; see `Searcher`.
    """
    notes = Notes([name for question in questions for name in question.names], snippets_only=visits == 0)
    answers: list[str] = []
    for i, question in enumerate(questions):
        # What is looked up for one question may serve the next: the first ones get the larger share.
        weights = [max(len(other.names), 1) for other in questions[i:]]
        share = -(-visits * weights[0] // sum(weights))
        browser = Browser(notes, question.text, share, chance, addresses)
        answers.append((yield from Investigation(question, notes, browser, chance).answer()) or NOTHING)
        visits -= share - browser.left
    while True:
        yield call("answer", answer=answers[0] if len(answers) == 1 else json.dumps(answers, ensure_ascii=False))


class Investigation:
    """Searches and reads for one question, as a generator of actions."""

    def __init__(self, question: Question, notes: Notes, browser: Browser, chance: Chance) -> None:
        """Args: question: what is asked.
        notes: of what has been read, perhaps for another question already.
        browser: fills them.
        chance: what is left to it.
        """
        self._question, self._notes, self._browser, self._chance = question, notes, browser, chance

    def answer(self) -> Steps[str]:
        """Actions up to the answer, which is returned; empty when nothing was found."""
        question = self._question
        group = GroupQuestion.read(question.text)
        if group is not None and group.group.names:
            return (yield from self._gather(group))
        if question.union and len(question.names) > 1:
            return (yield from self._unite())
        return (yield from (self._compare() if question.compared else self._follow()))

    def _follow(self) -> Steps[str]:
        """To the last step, and what is said of it there."""
        name, unit, known = yield from self._reach(self._question)
        year = self._question.year
        if self._question.year_of:
            year = yield from self._year(*self._question.year_of, share=1)
        return self._answer(name, unit, known, year)

    def _reach(self, question: Question, spare: int = 0) -> Steps[tuple[str, Unit, list[str]]]:
        """From name to name, a step of the question at a time: the name that is reached, the step that is left there,
        and the names on the way.

        Args:
            question: whose steps these are.
            spare: steps that come after these, for which pages are left.
        """
        notes = self._notes
        name, known, steps = question.start, list(question.names), list(question.units)
        spare += question.year_of is not None
        if question.described:
            name = yield from self._browser.identify(*question.described, share=len(steps) + spare + 1)
            known = [name]
        steps = steps or [words_of(question.text)[:1]]
        while True:
            yield from self._browser.consult(name, steps[0], share=len(steps) + spare)
            about = notes.about(name)
            step = next((i for i, unit in enumerate(steps) if notes.said(about, unit)), len(steps) - 1)
            unit, steps = steps[step], steps[step + 1 :]
            if not steps or notes.exact(about, unit, question.kind):
                return name, unit, known
            tally = notes.tally(about, unit, _sort(unit), known)
            leads = [text for text, _ in tally if names_in(text) == (text,)]
            if not leads:
                return name, unit, known
            name = self._chance.first(leads)
            known.append(name)

    def _gather(self, asked: GroupQuestion) -> Steps[str]:
        """What is asked of each member of a group."""
        notes = self._notes
        name, unit, known = yield from self._reach(asked.group, spare=_MEMBERS)
        members = notes.items(notes.about(name), unit, known)
        values: dict[str, list[str]] = {}
        for i, member in enumerate(members):
            values[member] = []
            for _, column in asked.columns:
                found = self._told(member, column, asked.kinds)
                if not found:
                    yield from self._browser.consult(member, column, share=len(members) - i)
                    found = self._told(member, column, asked.kinds)
                values[member].append(found)
        return asked.answer(values)

    def _told(self, name: str, unit: Unit, kinds: Sequence[Kind]) -> str:
        """What the notes say best of a name in one of these forms, empty when they say nothing."""
        about = self._notes.about(name, beside=False)
        tallies = [tally[0] for kind in kinds if (tally := self._notes.tally(about, unit, kind, [name]))]
        return max(tallies, key=lambda pair: pair[1], default=("", 0.0))[0]

    def _answer(self, name: str, unit: Unit, known: Sequence[str], year: int) -> str:
        """What is said of the last step; without anything, a guess, or the name that was reached."""
        question, notes, about = self._question, self._notes, self._notes.about(name)
        if question.kind in ("list", "table"):
            return json.dumps(notes.items(about, unit, known), ensure_ascii=False)
        if question.beside:
            items = notes.items(about, unit, [name])
            at = items.index(question.beside[1]) + question.beside[0] if question.beside[1] in items else -1
            return items[at] if 0 <= at < len(items) else ""
        if year and (items := notes.items(about, unit, known, year)):
            return items[-1]
        answers = [text for text, _ in notes.tally(about, unit, question.kind, known)]
        if question.kind in _NAMED and notes.snippets_only:
            titles = notes.titles(known)
            answers = [text for text in answers if text in titles or " " in text] or titles
        if not answers and name != question.start and question.kind in _NAMED:
            return name
        answers = answers or [text for text, _ in notes.tally(about, unit, question.kind, known, guess=True)]
        return self._chance.first(answers) if answers else ""

    def _year(self, word: str, name: str, share: int) -> Steps[int]:
        """The year in which something happened to a name, 0 when it is not found."""
        unit = words_of(word)
        yield from self._browser.consult(name, unit, share)
        tally = self._notes.tally(self._notes.about(name), unit, "year", ())
        return int(tally[0][0]) if tally else 0

    def _compare(self) -> Steps[str]:
        """The named thing whose date or number is the larger or the smaller one, or how far they are apart."""
        question, notes = self._question, self._notes
        asked = (question.units or (_AGE,))[0]
        kinds: tuple[Kind, ...] = ("number", "year") if question.difference else ("date", "year", "number")
        values: list[tuple[float, str]] = []
        for i, name in enumerate(question.names):
            yield from self._browser.consult(name, asked, share=len(question.names) - i)
            tallies = [(kind, notes.tally(notes.about(name), asked, kind, question.names)) for kind in kinds]
            measured = [(_measure(tally[0][0], kind), tally[0][1]) for kind, tally in tallies if tally]
            best = max(measured, key=lambda pair: pair[1], default=(None, 0.0))[0]
            if best is not None:
                values.append((best, name))
        if question.difference:
            numbers = [value for value, _ in values]
            return f"{abs(numbers[0] - numbers[-1]):.10g}" if len(numbers) > 1 else ""
        if not values:
            return question.names[0]
        return max(values, key=lambda pair: question.extreme * pair[0])[1]

    def _unite(self) -> Steps[str]:
        """How many there are in several lists together."""
        question, found = self._question, set[str]()
        for i, name in enumerate(question.names):
            yield from self._browser.consult(name, question.units[0] if question.units else (), len(question.names) - i)
            about = self._notes.about(name)
            found.update(self._notes.items(about, question.units[0] if question.units else (), question.names))
        return str(len(found)) if found else ""


def _sort(unit: Unit) -> Kind:
    """What a step leads to: the town where one was born is a place."""
    stems = {word.stem for word in unit}
    return "place" if stems & PLACES else "person" if stems & PERSONS else "name"


def _measure(answer: str, kind: str) -> float | None:
    """A date or a number as something that can be compared."""
    if kind == "number":
        return number(answer)
    parts = [int(part) for part in iso_date(answer).split("-") if part]
    return sum(part / 100**i for i, part in enumerate(parts)) if parts else None
