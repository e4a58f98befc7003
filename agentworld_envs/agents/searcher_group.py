"""`GroupQuestion`: what a question asks of each member of a group: to add it up, to choose by it, to list it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agentworld_envs.agents.searcher_forms import NUMBER, iso_date, number
from agentworld_envs.agents.searcher_question import Kind, Question, reworded
from agentworld_envs.agents.searcher_units import COMPARISON, LARGEST, SMALLEST, Unit
from agentworld_envs.agents.searcher_words import synonyms, words_of

Operation = Literal["sum", "table", "extreme", "filter"]

_FORMS: Final = (
    re.compile(r"^Take the (?P<said>[^?]+?) of each of (?P<group>the [^?]+?)(?: in \w+)? and add\b", re.IGNORECASE),
    re.compile(r"^Make a table of (?P<group>the .+?)\. Columns?: (?P<said>[^?]+?)\.?$", re.IGNORECASE),
    re.compile(
        r"^Which of (?P<group>the [^?]+?) (?P<said>(?:is|are|was|were|has|have|had|lie|weigh|cost)s?\b[^?]*)\?",
        re.IGNORECASE,
    ),
)
_BOUND: Final = re.compile(
    r"\b(?P<word>more|greater|later|over|after|less|fewer|earlier|under|before)\b(?: than)?(?: the end of)? (?=[\d])"
)
_ON: Final = re.compile(r"^the \w+ on the ", re.IGNORECASE)
_LESS: Final = frozenset({"less", "fewer", "earlier", "under", "before"})


@dataclass(frozen=True, slots=True)
class GroupQuestion:
    """A question about all members of a group."""

    operation: Operation
    group: Question
    """Who the members are."""
    columns: tuple[tuple[str, Unit], ...]
    """What is asked of each, with the words for it; for a table one for each column but the name."""
    kinds: tuple[Kind, ...]
    """What that may look like."""
    sign: int = 1
    """1 for more, later and most, -1 for less, earlier and least."""
    bound: float = 0.0
    """Of a filter."""

    @classmethod
    def read(cls, text: str) -> GroupQuestion | None:
        """The question as one about a group, `None` when it is none."""
        form = next((i for i, pattern in enumerate(_FORMS) if pattern.search(text)), None)
        if form is None:
            return None
        match = _FORMS[form].search(text)
        assert match is not None
        # The towns on the route of X are what its route has, not a step from there.
        group, said = Question.read(_ON.sub("the ", match["group"]) + "?"), match["said"]
        if form == 0:
            return cls("sum", group, ((said, _unit(said)),), ("number",))
        if form == 1:
            heads = [head.strip() for head in said.split(",")][1:]
            return cls("table", group, tuple((head, _unit(head)) for head in heads), ("text",))
        bound = _BOUND.search(said)
        if bound:
            limit = NUMBER.search(said, bound.end())
            kind: Kind = "year" if bound["word"] in ("after", "before", "later", "earlier") else "number"
            value = number(limit[0]) if limit else None
            plain = said[: bound.start()] + (said[limit.end() :] if limit else "")
            sign = -1 if bound["word"] in _LESS else 1
            return cls("filter", group, ((plain, _unit(plain)),), (kind,), sign, value or 0.0)
        large, small = (list(pattern.finditer(said)) for pattern in (LARGEST, SMALLEST))
        last = max((found[-1].start() for found in (large, small) if found), default=-1)
        if last < 0:
            return None
        sign = 1 if large and large[-1].start() == last else -1
        return cls("extreme", group, ((said, _unit(said)),), ("date", "number"), sign)

    def answer(self, values: Mapping[str, list[str]]) -> str:
        """The answer, from what was found of each member; empty when nothing was.

        Args:
            values: member -> what is asked of it, a text for each column, empty where nothing was found.
        """
        if self.operation == "table":
            heads = [head for head, _ in self.columns]
            rows = [{"name": name, **dict(zip(heads, found, strict=True))} for name, found in values.items()]
            return json.dumps(rows, ensure_ascii=False) if rows else ""
        sizes = {name: size for name, [found] in values.items() if (size := self._size(found)) is not None}
        if self.operation == "filter":
            kept = [name for name, size in sizes.items() if self.sign * size > self.sign * self.bound]
            return json.dumps(kept, ensure_ascii=False) if kept else ""
        if not sizes:
            return ""
        if self.operation == "sum":
            return f"{sum(sizes.values()):.10g}"
        return max(sizes, key=lambda name: self.sign * sizes[name])

    def _size(self, found: str) -> float | None:
        if "number" in self.kinds and not ("date" in self.kinds and re.fullmatch(r"\d{4}(?:-\d\d){0,2}", found)):
            return number(found) if found else None
        parts = [int(part) for part in iso_date(found).split("-") if part]
        return sum(part / 100**i for i, part in enumerate(parts)) if parts else None


def _unit(text: str) -> Unit:
    """The words that say what is asked; of those that compare, the ones that also say what is compared."""
    return tuple(
        word
        for word in words_of(reworded(text))
        if not word.stop and not word.text.isdigit() and (synonyms(word.text) or not COMPARISON.fullmatch(word.text))
    )
