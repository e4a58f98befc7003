"""How values stand in a text, and how they are read from it again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.search.fiction.relations import Relation

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DATE = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"\d[\d,]*")
_TERM = re.compile(r"(.+?) \((?:(\d{4})-(\d{4})|since (\d{4}))\)")
_JOINT = re.compile(r", | and ")

Term = tuple[str, int, int | None]
"""Who held an office, since what year and until which; `None` for whoever holds it now."""


def joined(items: Sequence[str]) -> str:
    """`A, B and C`."""
    return " and ".join((", ".join(items[:-1]), items[-1])) if len(items) > 1 else "".join(items)


def written(relation: Relation, value: Any) -> str:
    """A value as prose shows it.

    Args:
        value: a name for an entity, ISO 8601 for a date, an integer for a year or number, names for a list, `Term`s
            for terms of office.
    """
    kind = relation.type
    if kind == "number":
        return f"{value:,}"
    if kind == "date":
        return f"{int(value[8:])} {MONTHS[int(value[5:7]) - 1]} {value[:4]}"
    if kind == "list":
        return joined(value)
    if kind == "terms":
        return joined(
            [f"{name} ({since}-{until})" if until else f"{name} (since {since})" for name, since, until in value]
        )
    return str(value)


def read(relation: Relation, text: str) -> Any:
    """The value that a text shows, as `written` took it; `None` when it is none of this relation."""
    kind = relation.type
    text = text.strip()
    if kind in ("number", "year"):
        return int(text.replace(",", "")) if _NUMBER.fullmatch(text) else None
    if kind == "date":
        if _ISO.fullmatch(text):
            return text
        found = _DATE.fullmatch(text)
        if found is None:
            return None
        return f"{found[3]}-{MONTHS.index(found[2]) + 1:02d}-{int(found[1]):02d}"
    if kind == "text":
        return text if text in relation.pool else None
    if kind == "list":
        return tuple(_JOINT.split(text))
    if kind == "terms":
        terms = [_TERM.fullmatch(item) for item in _JOINT.split(text)]
        if not all(terms):
            return None
        return tuple(
            (term[1], int(term[2] or term[4]), int(term[3]) if term[3] else None) for term in terms if term is not None
        )
    return text or None


def texts(relation: Relation, value: Any) -> tuple[str, ...]:
    """What of a value a snippet must not show."""
    if relation.type == "list":
        return tuple(value)
    if relation.type == "terms":
        return tuple(text for name, since, until in value for text in (name, str(since), str(until)) if text != "None")
    return (written(relation, value),)
