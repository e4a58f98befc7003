"""`Investigation`: one episode of the searcher, from the question to the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

from agentworld_envs.agents.searcher_candidates import Vote, elect, iso_date, number, ranked
from agentworld_envs.agents.searcher_chance import Chance
from agentworld_envs.agents.searcher_question import Kind, Question
from agentworld_envs.agents.searcher_reading import Statement, plain_title, statements
from agentworld_envs.agents.searcher_units import Unit
from agentworld_envs.agents.searcher_words import PERSONS, PLACES, Word, names_in, words_of
from agentworld_envs.backends.world_model.codecs.search import SearchResult, read_results

R = TypeVar("R")
Steps = Generator[str, str, R]
"""Yields actions, is sent their observations, and returns something in the end."""

NOTHING: Final = "unknown"
"""The answer of one who has found nothing."""
_MOST_PARTS: Final = 3
_TAIL: Final = 80
_MORE: Final = re.compile(r"\(Part \d+ of \d+\. The next one: \"part\": \d+\.\)\s*$")
_LONGEST_QUERY: Final = 300
_AGE: Final = words_of("born founded opened published")
"""What one looks for who is asked which of two is older."""
_LIST_SHARE: Final = 0.34


class Investigation:
    """Searches, reads and answers, as a generator of actions."""

    def __init__(
        self, question: Question, visits: int, chance: Chance, addresses: Mapping[str, str] | None = None
    ) -> None:
        """Args: question: what is asked.
        visits: pages that may be opened.
        chance: what is left to it.
        addresses: of main pages that are known; see `Searcher`.
        """
        self._question, self._left, self._chance, self._addresses = question, visits, chance, addresses
        self._budget = visits
        self._pages: dict[str, list[Statement]] = {}
        self._snippets: dict[str, Statement] = {}

    def run(self) -> Generator[str, str, None]:
        """Actions up to the answer, which is repeated for as long as nobody takes it."""
        answer = yield from (self._compare() if self._question.compared else self._follow())
        while True:
            yield _call("answer", answer=answer or NOTHING)

    # ------------------------------------------------------------------------------------------------ strategies

    def _follow(self) -> Steps[str]:
        """From name to name, a step of the question at a time. When nothing is said of the next step, the name that
        was reached last is the answer: not every word of a question is a step."""
        question = self._question
        name, known, steps = question.start, list(question.names), list(question.units)
        if not steps:
            steps = [words_of(question.text)[:1]]
        while steps:
            yield from self._consult(name, [word for unit in steps for word in unit], share=len(steps))
            about = self._about(name)
            if len(steps) > 1:
                step = next((i for i, unit in enumerate(steps) if self._said(about, unit)), len(steps) - 1)
                unit, steps = steps[step], steps[step + 1 :]
                found = self._choose(about, unit, _sort(unit), known)
                if steps and found:
                    name = found
                    known.append(name)
                    continue
            else:
                unit, steps = steps[0], []
            answer = self._answer(about, unit, question.kind, known)
            if answer or not steps:
                return answer or (name if name != question.start else "")
        return name

    def _compare(self) -> Steps[str]:
        """The named thing whose date or number is the larger or the smaller one, or how far they are apart."""
        question = self._question
        asked = (question.units or (_AGE,))[0]
        values: list[tuple[float, str]] = []
        for i, name in enumerate(question.names):
            yield from self._consult(name, asked, share=len(question.names) - i)
            about = self._about(name)
            for kind in ("date", "year", "number"):
                value = _measure(self._answer(about, asked, kind, question.names), kind)
                if value is not None:
                    values.append((value, name))
                    break
        if question.difference:
            numbers = [value for value, _ in values]
            return f"{abs(numbers[0] - numbers[-1]):.10g}" if len(numbers) > 1 else ""
        if not values:
            return question.names[0]
        return max(values, key=lambda pair: question.extreme * pair[0])[1]

    # ------------------------------------------------------------------------------------------------ looking up

    def _consult(self, name: str, asked: Sequence[Word], share: int) -> Steps[None]:
        """Search for a name and read what may say something of it, with a share of the pages that are left."""
        if self._addresses is not None:
            if self._left > 0 and name in self._addresses:
                self._left -= 1
                yield from self._read(self._addresses[name], name, "")
            return
        words = " ".join(word.text for word in asked)
        queries = self._chance.order([f"{name} {words}".strip(), name or self._question.text, self._question.text])
        hits: dict[str, SearchResult] = {}
        wanted = -(-self._left // share)
        for query in dict.fromkeys(query[:_LONGEST_QUERY] for query in queries if query.strip()):
            for hit in (yield from self._search(query)):
                hits.setdefault(hit.url, hit)
            if len([hit for hit in hits.values() if self._promise(hit, name, asked) > 0]) >= max(wanted, 1):
                break
        ordered = sorted(hits.values(), key=lambda hit: -self._promise(hit, name, asked))
        for hit in self._chance.order(ordered):
            if wanted <= 0:
                break
            if hit.url not in self._pages:
                wanted -= 1
                self._left -= 1
                yield from self._read(hit.url, hit.title, hit.date or "")

    def _search(self, query: str) -> Steps[list[SearchResult]]:
        observation = yield _call("web_search", query=query)
        found = read_results(observation.strip())
        hits = list(found.results) if found is not None else []
        for hit in hits:
            date = iso_date(hit.date or "")
            self._snippets.setdefault(hit.url, Statement(hit.snippet, hit.title, date=date, line=hit.snippet))
        return hits

    def _read(self, url: str, title: str, date: str) -> Steps[None]:
        text = yield _call("web_extractor", url=url)
        for part in range(2, _MOST_PARTS + 1):
            if not _MORE.search(text[-_TAIL:]):
                break
            text += "\n\n" + (yield _call("web_extractor", url=url, part=part))
        self._pages[url] = statements(text, title, iso_date(date))

    @staticmethod
    def _promise(hit: SearchResult, name: str, asked: Sequence[Word]) -> float:
        """What one may hope of a page: that it is about the name, speaks of it, and of what is asked."""
        shown = Statement(hit.snippet, hit.title)
        own = plain_title(hit.title).casefold() == name.casefold()
        mentioned = bool(name) and name.casefold() in f"{hit.title} {hit.snippet}".casefold()
        return 4.0 * own + 2.0 * mentioned + 0.5 * len(shown.stems() & {word.stem for word in asked})

    # ------------------------------------------------------------------------------------------------ reading

    def _about(self, name: str) -> list[tuple[Statement, str]]:
        """What pages (or, with no page to be opened, snippets) say of a name, with their addresses."""
        read = self._pages if self._budget else {url: [snippet] for url, snippet in self._snippets.items()}
        return [(s, url) for url, page in read.items() for s in page if not name or s.about(name) > 0]

    @staticmethod
    def _said(about: Sequence[tuple[Statement, str]], unit: Unit) -> bool:
        """Whether anything is said of a step."""
        return any(_matched(statement, unit) >= 1 / (len(unit) + 1) for statement, _ in about)

    def _choose(
        self, about: Sequence[tuple[Statement, str]], unit: Unit, kind: Kind, known: Sequence[str]
    ) -> str | None:
        """The name that a step leads to."""
        elected = [name for name, _ in elect(self._votes(about, unit, kind, known)) if names_in(name) == (name,)]
        return self._chance.first(elected) if elected else None

    def _answer(
        self, about: Sequence[tuple[Statement, str]], asked: Sequence[Word], kind: Kind, known: Sequence[str]
    ) -> str:
        """The winner of the vote; for a list, all who come close to it."""
        tally = elect(self._votes(about, asked, kind, known))
        if not tally:
            return ""
        if kind in ("list", "table"):
            return json.dumps(
                [text for text, weight in tally if weight >= _LIST_SHARE * tally[0][1]], ensure_ascii=False
            )
        return self._chance.first([text for text, _ in tally])

    def _votes(
        self, about: Sequence[tuple[Statement, str]], asked: Sequence[Word], kind: Kind, known: Sequence[str]
    ) -> list[Vote]:
        votes = []
        every = kind in ("list", "table")
        for statement, url in about:
            weight = _matched(statement, asked) * (1.5 if statement.label else 1.0)
            if not weight:
                continue
            weight *= 1 + sum(other.casefold() in statement.line.casefold() for other in self._question.names)
            stems = {word.stem for word in asked}
            found = ranked(statement, "name" if every else kind, stems, known)
            for place, candidate in enumerate(found if every else found[:2]):
                share = 1.0 if every else 1.0 - 0.7 * place
                votes.append(Vote(candidate.text, weight * share, statement.date, url))
        return votes


def _matched(statement: Statement, unit: Sequence[Word]) -> float:
    """How much of a step a statement speaks of, in [0, 1]; words that only say a sort of thing count a third."""
    stems = statement.stems()
    return sum((1 / 3 if word.generic else 1.0) for word in unit if word.stem in stems) / max(len(unit), 1)


def _sort(unit: Unit) -> Kind:
    """What a step leads to: the town where one was born is a place."""
    stems = {word.stem for word in unit}
    return "place" if stems & PLACES else "person" if stems & PERSONS else "name"


def _call(tool: str, **arguments: Any) -> str:
    return json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)


def _measure(answer: str, kind: str) -> float | None:
    """A date or a number as something that can be compared."""
    if not answer:
        return None
    if kind == "number":
        return number(answer)
    parts = [int(part) for part in iso_date(answer).split("-") if part]
    return sum(part / 100**i for i, part in enumerate(parts)) if parts else None
