"""`Browser`: how a searcher searches and opens pages, within its budget."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

from agentworld_envs.agents.searcher_chance import Chance
from agentworld_envs.agents.searcher_forms import iso_date
from agentworld_envs.agents.searcher_notes import Notes
from agentworld_envs.agents.searcher_reading import Statement, plain_title, says
from agentworld_envs.agents.searcher_words import Word, synonyms
from agentworld_envs.backends.world_model.codecs.search import SearchResult, read_results

R = TypeVar("R")
Steps = Generator[str, str, R]
"""Yields actions, is sent their observations, and returns something in the end."""

_MOST_PARTS: Final = 3
_TAIL: Final = 80
_MORE: Final = re.compile(r"\(Part \d+ of \d+\. The next one: \"part\": \d+\.\)\s*$")
_NO_PAGE: Final = re.compile(r"\s*(?:Error|[45]\d\d)\b[^\n]*\Z")
"""How answers begin that are no page."""
_PASSING: Final = re.compile(r"\s*(?:Error\b(?! 4(?!29))|429\b|5\d\d\b)[^\n]*\Z")
"""How answers begin that are worth another try."""
_RETRIES: Final = 3
_LONGEST_QUERY: Final = 300
_SYNONYMS: Final = 4
_PROMISING: Final = 2.0


class Browser:
    """Searches and reads, as generators of actions; what it sees goes into the notes."""

    def __init__(
        self, notes: Notes, text: str, visits: int, chance: Chance, addresses: Mapping[str, str] | None = None
    ) -> None:
        """Args: notes: are filled.
        text: of the question: the last query that is tried.
        visits: pages that may be opened.
        chance: what is left to it.
        addresses: of main pages that are known; see `Searcher`.
        """
        self._notes, self._text, self.left, self._chance = notes, text, visits, chance
        self._addresses = addresses

    def identify(self, name: str, value: str, share: int) -> Steps[str]:
        """The one that a value and a name belong to: the person of whom 995 letters are kept and whose mentor was X."""
        if self._addresses is not None:
            return ""
        end = self.left - -(-self.left // share)
        hits: list[SearchResult] = []
        for query in self._chance.order([f"{value} {name}", f"{name} {value} {self._text}"]):
            hits += yield from self._search(query)
        hits.sort(key=lambda hit: -self._promise(hit, name, ()))
        for hit in self._chance.order(hits):
            if self.left <= end or self._notes.holder(name, value):
                break
            yield from self._read(hit)
        return self._notes.holder(name, value)

    def consult(self, name: str, asked: Sequence[Word], share: int) -> Steps[None]:
        """Search for a name and read what may say something of it, with a share of the pages that are left."""
        if self._addresses is not None:
            if self.left > 0 and name in self._addresses:
                yield from self._read(SearchResult(1, self._addresses[name], name, ""))
            return
        words = [word.text for word in asked if not word.generic] or [word.text for word in asked]
        more = [other for word in words for other in synonyms(word)[:_SYNONYMS]]
        queries = self._chance.order([" ".join([name, *words, *more]), name, self._text])
        end = self.left - -(-self.left // share)
        hits: dict[str, SearchResult] = {}
        distinct = dict.fromkeys(query[:_LONGEST_QUERY].strip() for query in queries if query.strip())
        for tried, query in enumerate(distinct, start=1):
            for hit in (yield from self._search(query)):
                hits.setdefault(hit.url, hit)
            speaking = [hit for hit in hits.values() if self._promise(hit, name, asked) >= _PROMISING]
            if tried > 1 and len(speaking) >= max(self.left - end, 1):  # with a name alone its own page comes first
                break
        ordered = sorted(hits.values(), key=lambda hit: -self._promise(hit, name, asked))
        promising = [hit for hit in ordered if self._promise(hit, name, asked) >= _PROMISING]
        for hit in self._chance.order(promising or ordered):
            if self.left <= end:
                break
            yield from self._read(hit)

    def _search(self, query: str) -> Steps[list[SearchResult]]:
        observation = yield from self._try("web_search", query=query)
        found = read_results(observation.strip())
        hits = list(found.results) if found is not None else []
        for hit in hits:
            self._notes.add_snippet(hit.url, hit.snippet, hit.title, iso_date(hit.date or ""))
        return hits

    def _read(self, hit: SearchResult) -> Steps[None]:
        """Open a page that was not opened before, all its parts up to the third."""
        if hit.url in self._notes.pages or self.left <= 0:
            return
        self.left -= 1
        text = yield from self._try("web_extractor", url=hit.url)
        for part in range(2, _MOST_PARTS + 1):
            if not _MORE.search(text[-_TAIL:]):
                break
            text += "\n\n" + (yield from self._try("web_extractor", url=hit.url, part=part))
        if _NO_PAGE.match(text):
            text = ""
        self._notes.add_page(hit.url, text, hit.title, iso_date(hit.date or ""))

    @staticmethod
    def _try(tool: str, **arguments: Any) -> Steps[str]:
        """Call a tool, again while it answers with an error that may pass."""
        observation = yield call(tool, **arguments)
        for _ in range(_RETRIES):
            if not _PASSING.match(observation):
                break
            observation = yield call(tool, **arguments)
        return observation

    @staticmethod
    def _promise(hit: SearchResult, name: str, asked: Sequence[Word]) -> float:
        """What one may hope of a page: that it is about the name, speaks of it, and of what is asked."""
        shown = Statement(hit.snippet, hit.title)
        own = plain_title(hit.title).casefold() == name.casefold()
        mentioned = bool(name) and says(f"{hit.title} {hit.snippet}", name)
        return 4.0 * own + 2.0 * mentioned + 0.5 * len(shown.stems() & {word.stem for word in asked})


def call(tool: str, **arguments: Any) -> str:
    """An action: a call of a tool, as JSON."""
    return json.dumps({"name": tool, "arguments": arguments}, ensure_ascii=False)
