"""`readings`: the lists that an answer may be."""

from __future__ import annotations

import json
import re
from string import ascii_lowercase

from agentworld_envs.domains.search.answers.normal import unwrap

DEEPEST = 40
"""Brackets within brackets that are read as JSON; more are not an answer to anything."""
_BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\(?(?:(?P<number>\d{1,3})[.):]|(?P<letter>[a-zA-Z])[.)]))\s+")
_COMMA = re.compile(r"(?<!\d),|,(?!\d{3}(?!\d))")
"""A comma that does not stand between groups of digits."""
_AND = re.compile(r"(?<!\s)\s+(?:and|&)\s+", re.IGNORECASE)
_LEADING_AND = re.compile(r"\A\s*(?:and|&)\s+", re.IGNORECASE)
_EMPTY = frozenset({"", "none", "nothing", "n/a", "na", "empty", "no results", "[]", "()", "{}", "-"})


def readings(text: str) -> list[list[str]]:
    """The lists that an answer may be, each without empty elements; at least one.

    A JSON array is read in one way. Else bullets, lines, semicolons and commas separate, and `and` may separate or
    belong to a name, as may `J.` and `1.` at the beginning; those are different readings, and the best one counts.
    """
    text = unwrap(text)
    if text.casefold().strip(" .") in _EMPTY:
        return [[], [text]] if any(map(str.isalnum, text)) else [[]]
    array = load_json(text)
    if isinstance(array, dict) and len(array) == 1:
        array = next(iter(array.values()))
    if isinstance(array, list):
        return [[plain(item) for item in array if item is not None and plain(item).strip()]]
    if len(text) > 2 and (text[0], text[-1]) in (("[", "]"), ("(", ")"), ("{", "}")):
        text = text[1:-1]
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    bulleted = _clean(_without_bullets(lines))
    found = [bulleted] if bulleted else []
    if len(lines) > 1:
        if lines[0].endswith(":"):
            lines = lines[1:]
        found.append(_clean(lines))
        if not bulleted:
            found.append(_clean(_split(" ".join(line.rstrip(",") + "," for line in lines))))
        return found
    return _unique([*found, *_line_readings(text.strip().rstrip("."))])


def _without_bullets(lines: list[str]) -> list[str]:
    """What stands behind the bullets, of those lines that have one; nothing where there are no bullets.

    Letters and numbers are bullets when they run in order from the first one; a single letter may be of a name.
    """
    found = [(match, line[match.end() :]) for line in lines if (match := _BULLET.match(line))]
    if len(found) < 2 and len(lines) != 1:
        return []
    signs = [sign for match, _ in found if (sign := match["number"] or (match["letter"] or "").lower())]
    if all(map(str.isdigit, signs)):
        in_order = list(map(int, signs)) == list(range(1, len(signs) + 1))
    else:
        in_order = len(found) > 1 and signs == list(ascii_lowercase[: len(signs)])
    return [text for _, text in found] if in_order else []


def _line_readings(line: str) -> list[list[str]]:
    semicolons, commas = _clean(line.split(";")), _clean(_split(line))
    whole = semicolons if len(semicolons) > 1 else commas
    found = [whole]
    if whole:
        last = _clean([_LEADING_AND.sub("", whole[-1])])
        found.append(whole[:-1] + last)
        found.append(whole[:-1] + _clean(_AND.split(last[0] if last else "")))
        found.append(_clean([part for item in whole[:-1] + last for part in _AND.split(item)]))
    if len(whole) == 1:
        found.append(_clean(line.split(" / ")))
    return [*found, _clean([line])]


def _unique(found: list[list[str]]) -> list[list[str]]:
    return [list(one) for one in dict.fromkeys(map(tuple, found))]


def load_json(text: str) -> object:
    """What a text is as JSON; `None` when it is none, or too deep."""
    text = text.strip()
    if text[:1] not in ("[", "{") or _depth(text) > DEEPEST:
        return None
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return loaded


def plain(value: object) -> str:
    """A JSON value as the text that a person would write."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, dict) and len(value) == 1:
        return plain(next(iter(value.values())))
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _depth(text: str) -> int:
    deepest = depth = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _split(line: str) -> list[str]:
    """Parts between commas, but for those within brackets or double quotes and between groups of digits."""
    parts, start, depth, quoted = [], 0, 0, False
    for place in (match.start() for match in re.finditer(r'[,()\[\]"]', line)):
        char = line[place]
        if char == '"':
            quoted = not quoted
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth = max(0, depth - 1)
        elif not depth and not quoted and _COMMA.match(line, place):
            parts.append(line[start:place])
            start = place + 1
    return [*parts, line[start:]]


def _clean(items: list[str]) -> list[str]:
    return [item for item in (item.strip().strip(",;").strip() for item in items) if item]
