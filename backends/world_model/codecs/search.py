"""Search: queries, page reads and a memory in, numbered results out (WideSearch)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, Reader
from agentworld_envs.backends.world_model.codecs.mcp import JSONCallCodec

TOOLS: Final = ("web_search", "web_extractor", "dict_memory")
MOST_RESULTS: Final = 10
"""Results of one query; a batch of queries has that many for each."""

_RESULT: Final = re.compile(r"\[(\d{1,9})\] (.*)\nTitle: (.*)\nSnippet: ([^\0]*?)(?:\nDate: (.*))?")
_NEXT: Final = re.compile(r"\n\n(?=\[\d{1,9}\] )")
_FENCED: Final = re.compile(r"```\n(.*)\n```", re.DOTALL)
_MEMORY: Final = re.compile(
    r"Successfully (?:(added|updated) items of \[(.*)\] (?:to|in)|(removed) items of \[(.*)\] from) memory\."
)
_CLEARED: Final = "Successfully cleared all memory."
_PLACES: Final = {"added": "to", "updated": "in", "removed": "from"}


def queries(call: Call) -> list[str]:
    """The queries of a `web_search`, whether it was written with one or with several."""
    many = call.arguments.get("queries", call.arguments.get("query"))
    return [str(query) for query in many] if isinstance(many, list) else [] if many is None else [str(many)]


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One numbered result."""

    number: int
    url: str
    title: str
    snippet: str
    date: str | None = None
    """As it is written, `N/A` included; `None` when there is no such line."""

    def render(self) -> str:
        text = f"[{self.number}] {self.url}\nTitle: {self.title}\nSnippet: {self.snippet}"
        return text if self.date is None else f"{text}\nDate: {self.date}"


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The answer to `web_search`."""

    form: ClassVar[str] = "results"
    results: tuple[SearchResult, ...]
    fenced: bool = False
    """Whether they stand in a plain fence, as in the prompt's example."""

    def render(self) -> str:
        body = "\n\n".join(result.render() for result in self.results)
        return f"```\n{body}\n```" if self.fenced else body


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """What `dict_memory` says of a change."""

    form: ClassVar[str] = "memory"
    operation: str
    """`added`, `updated`, `removed` or `cleared`."""
    keys: str = ""
    """The keys as they are written between the brackets."""

    def render(self) -> str:
        if self.operation == "cleared":
            return _CLEARED
        return f"Successfully {self.operation} items of [{self.keys}] {_PLACES[self.operation]} memory."


def read_results(text: str) -> SearchResults | None:
    """Numbered results, `None` when a part of the text is none."""
    fenced = _FENCED.fullmatch(text)
    matches = [_RESULT.fullmatch(part) for part in _NEXT.split(fenced[1] if fenced else text)]
    results = tuple(SearchResult(int(m[1]), m[2], m[3], m[4], m[5]) for m in matches if m is not None)
    return SearchResults(results, fenced is not None) if len(results) == len(matches) else None


def read_memory_note(text: str) -> MemoryNote | None:
    """One of the memory's fixed sentences about a change."""
    if text == _CLEARED:
        return MemoryNote("cleared")
    match = _MEMORY.fullmatch(text)
    return None if match is None else MemoryNote(match[1] or match[3], match[2] if match[1] else match[4])


class SearchCodec(JSONCallCodec):
    """`web_search`, `web_extractor` and `dict_memory` in JSON."""

    name = "search"

    def readers(self) -> Sequence[Reader]:
        return (read_results, read_memory_note)
