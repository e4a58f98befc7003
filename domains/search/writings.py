"""`writings`: how the answer to a question may be written on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_envs.domains.search.answers.dates import parse_date

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def writings(spec: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """For each thing that an answer spec names its usual writings, the plainest first.

    Text with its aliases, numbers with and without separators of thousands, dates in ISO 8601 and in English words, the
    items of a list. Nothing for yes and no, and for tables.
    """
    if spec.get("kind") == "list":
        values = spec.get("values", ())
        items = [{"kind": "text", "value": value} if isinstance(value, str) else value for value in values]
        return [made for item in items if isinstance(item, Mapping) for made in writings(item)]
    value = spec.get("value")
    found: list[str] = []
    if spec.get("kind") == "text":
        found = [text for text in (value, *spec.get("aliases", ())) if isinstance(text, str)]
        found += [more for text in tuple(found) for more in (*_of_day(text), *_of_digits(text))]
    elif spec.get("kind") == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        found = _of_number(value)
    elif spec.get("kind") == "date":
        found = [str(value), *_of_day(str(value))]
    found = list(dict.fromkeys(text for text in found if text.strip()))
    return [tuple(found)] if found else []


def _of_number(value: float) -> list[str]:
    if abs(value) >= 1e300:
        return []
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        plain, grouped = str(int(value)), f"{int(value):,}"
    else:
        plain = repr(value)
        if "e" in plain or "n" in plain:  # very small or large, or no number
            return [plain]
        whole, _, fraction = plain.partition(".")
        grouped = f"{int(whole):,}.{fraction}" if int(whole) else plain
    return [
        plain,
        *(grouped.replace(",", between) for between in (",", " ", "'") if "," in grouped),
    ]


def _of_digits(text: str) -> list[str]:
    """Other writings of a text that is a whole number of more than four digits, or one with separators."""
    digits = text.strip().replace(",", "")
    if not (digits.isascii() and digits.isdigit()) or digits.startswith("0") or not 4 < len(digits) <= 15:
        return []
    return _of_number(int(digits)) if text.strip() in (digits, f"{int(digits):,}") else []


def _of_day(text: str) -> list[str]:
    """Other writings of a day or a month; nothing for years, and where day and month may change places."""
    days = parse_date(text)
    if len(days) != 1 or days[0].month is None:
        return []
    year, month, day = days[0]
    name = _MONTHS[days[0].month - 1]
    short = name[:3]
    if day is None:
        return [f"{year:04d}-{month:02d}", f"{name} {year}", f"{name}, {year}", f"{short} {year}"]
    return [
        f"{year:04d}-{month:02d}-{day:02d}",
        *(f"{day} {one} {year}" for one in (name, short)),
        *(f"{one} {day}, {year}" for one in (name, short)),
        f"{day:02d} {name} {year}",
        f"{name} {day:02d}, {year}",
        f"{month}/{day}/{year}",
        f"{day:02d}.{month:02d}.{year}",
        f"{day}.{month}.{year}",
    ]
