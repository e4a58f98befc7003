"""`Element`: one answered value, read in all the ways that specs ask for, each once; `right`: whether it is right."""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import cached_property
from typing import TypeAlias

from agentworld_envs.domains.search.answers.dates import Day, parse_date, same_date
from agentworld_envs.domains.search.answers.normal import normalise, unwrap
from agentworld_envs.domains.search.answers.numbers import Quantity, parse_number, same_number
from agentworld_envs.domains.search.answers.spec import BooleanSpec, DateSpec, NumberSpec, TextSpec

Scalar: TypeAlias = TextSpec | NumberSpec | DateSpec | BooleanSpec

LONGEST = 2000
"""Characters of one value; a longer one is wrong without being read."""
_YES = frozenset({"yes", "true", "correct", "y"})
_NO = frozenset({"no", "false", "incorrect", "n"})
_FIRST_WORD = re.compile(r"\W*(\w+)\W*\Z|\W*(\w+)\s*[,.;:!\u2014-]\s*(.{1,300})\Z", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]+)\]\(<?(https?://[^\s()<>]+(?:\([^\s()<>]*\))?)>?\)")
"""A Markdown link: its text counts, or its address where an address is asked for."""
_UNSURE = frozenset(
    (
        *("or", "either", "maybe", "perhaps", "unless", "unsure", "but", "however", "although", "though", "except"),
        *("wait", "sorry", "correction", "joking"),
    )
)
_DENIED = _NO | frozenset(
    (
        *("not", "never", "none", "neither", "nor", "nobody", "nothing", "cannot", "nope", "wrong", "untrue"),
        *("mistaken", "hardly"),
    )
)
_ASSERTED = _YES | frozenset({"yeah", "yep"})
_SHORT_NOT = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|ca|could|wo|would|should|must|need|might|sha|ai)nt"
)
"""`isn't` and the like, without the apostrophe."""


class Element:
    """One value of an answer."""

    def __init__(self, text: str) -> None:
        """Args: text: as the agent wrote it."""
        self.text = unwrap(text) if len(text) <= LONGEST else ""
        self._address = ""
        if link := _LINK.fullmatch(self.text):
            self.text, self._address = link[1].strip(), link[2]

    @cached_property
    def plain(self) -> str:
        """The normalised text."""
        return normalise(self.text)

    @cached_property
    def number(self) -> Quantity | None:
        """The number that it is, if it is one."""
        return parse_number(self.text)

    @cached_property
    def dates(self) -> tuple[Day, ...]:
        """The dates that it may be."""
        return parse_date(self.text)

    @cached_property
    def boolean(self) -> bool | None:
        """Yes or no, said alone or before a reason that does not take it back."""
        match = _FIRST_WORD.match(self.text)
        if match is None or "?" in self.text:
            return None
        word = (match[1] or match[2]).casefold()
        if word not in _YES and word not in _NO:
            return None
        reason = set(normalise(match[3] or "").split())
        if reason & (_UNSURE | (_DENIED if word in _YES else _ASSERTED)):
            return None
        if word in _YES and any(map(_SHORT_NOT.fullmatch, reason)):
            return None
        return word in _YES

    @cached_property
    def keys(self) -> frozenset[Hashable]:
        """What a text is compared by: itself, and the number or the exact date that it is."""
        keys: set[Hashable] = {self.plain} if self.plain else set()
        if self._address:
            keys.add(normalise(self._address))
        if self.number is not None:
            keys.add(("number", self.number.value, self.number.unit))
        if len(self.dates) == 1 and self.dates[0].month is not None:
            keys.add(("date", self.dates[0]))
        return frozenset(keys)


def accepted(spec: TextSpec) -> frozenset[Hashable]:
    """The keys of all texts that are right."""
    return frozenset().union(*(Element(text).keys for text in (spec.value, *spec.aliases)))


class Gold:
    """One right value, prepared for being compared with many."""

    def __init__(self, spec: Scalar) -> None:
        """Args: spec: of one value."""
        self.spec = spec
        self.keys = accepted(spec) if isinstance(spec, TextSpec) else frozenset()

    def matches(self, given: Element) -> bool:
        """Whether an answered value is the right one."""
        spec = self.spec
        if isinstance(spec, TextSpec):
            return not self.keys.isdisjoint(given.keys)
        if isinstance(spec, NumberSpec):
            return given.number is not None and same_number(given.number, spec.value, spec.allowed, spec.unit)
        if isinstance(spec, DateSpec):
            return same_date(given.dates, spec.day)
        return given.boolean is spec.value
