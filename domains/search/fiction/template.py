"""`Template`: one wording that writes a fact down and finds it again; `undated` and `dated`: those of a relation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from agentworld_envs.domains.search.fiction.relations import Relation

_SLOT = re.compile(r"\{([soy])\}")
_GROUPS = {"o": r"(?P<o>[^.\n|]+?)", "y": r"(?P<y>\d{4})"}
# A statement begins a line or follows the end of another one: not "As of 2019: ...", which says less.
_START = r"(?:^|(?<=[.?!] ))"


class Template:
    """A wording with slots `{s}` (subject), `{o}` (value) and perhaps `{y}` (year)."""

    __slots__ = ("_anchor", "dated", "pattern")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.dated = "{y}" in pattern
        # The longest stretch that is fixed once the subject is known: a cheap test before the regular expression.
        self._anchor = max(re.split(r"\{[oy]\}", pattern), key=lambda part: ("{s}" in part, len(part)))

    def write(self, subject: str, value: str, year: int = 0) -> str:
        return self.pattern.replace("{s}", subject).replace("{o}", value).replace("{y}", str(year))

    def read(self, text: str, subject: str) -> Iterator[tuple[str, int | None]]:
        """Every value that a text states of a subject in this wording, with its year when it says one."""
        if self._anchor.replace("{s}", subject) not in text:
            return
        for found in _expression(self.pattern, subject).finditer(text):
            yield found["o"], int(found["y"]) if self.dated else None


@lru_cache(maxsize=4096)
def _expression(pattern: str, subject: str) -> re.Pattern[str]:
    parts = _SLOT.split(pattern)
    source = "".join(
        re.escape(part) if index % 2 == 0 else _GROUPS.get(part, re.escape(subject)) for index, part in enumerate(parts)
    )
    return re.compile(_START + source, re.MULTILINE)


_DATED = ("As of {y}: ", "In the state of {y}: ", "Recorded as of {y}: ")


def _question(relation: Relation, when: str = "") -> str:
    return f"**{when}{relation.ask.replace('{x}', '{s}')}** {{o}}."


@cache
def undated(relation: Relation) -> tuple[Template, ...]:
    """The sentences of a relation, the form for interviews and the one for lists, in this order."""
    forms = (*relation.says, _question(relation), f"- {{s}}, {relation.label.lower()}: {{o}}.")
    return tuple(Template(form) for form in forms)


@cache
def dated(relation: Relation) -> tuple[Template, ...]:
    """The same, in the same order, with the year in which it holds."""
    sentences = tuple(_DATED[index % len(_DATED)] + says for index, says in enumerate(relation.says))
    forms = (
        *sentences,
        _question(relation, "As of {y}: "),
        f"- {{s}}, {relation.label.lower()} as of {{y}}: {{o}}.",
    )
    return tuple(Template(form) for form in forms)
