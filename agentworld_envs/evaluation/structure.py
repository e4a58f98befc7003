"""Structured text in observations: JSON, tables and listings of paths, read by code and compared part by part."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["json", "table", "tree"]

MOST_PARTS = 20_000
"""Longer structures are compared by this many parts from their start."""
_PROMPT = re.compile(r"[\w.-]+@[\w.-]+:[^\n]*?[$#](?: .*)?|> .*")
_GAP = re.compile(r"\t| {2,}")
_SEPARATORS = ("\t", "|", ",", ";")
_PATH = re.compile(r"(?:\.{0,2}/)?[\w.@+~-]+(?:/[\w.@+~-]+)*/?|\.{1,2}/?")
_BRANCH = re.compile(r"^(?P<indent>(?:[│|]   |[│|]\xa0\xa0 |    )*)(?:├──|└──|\|--|`--) (?P<name>.+)$")


@dataclass(frozen=True, slots=True)
class Structure:
    """What was read: the parts that are compared, with how often each occurs."""

    kind: Kind
    parts: Counter[Any]


def parse_structure(observation: str) -> Structure | None:
    """The structure of an observation, `None` where it has none that code can read.

    Lines of a shell's prompt are left out first. JSON is an object or a list (or several, a line each); its parts are
    (path, value) of the leaves. A table has two lines and two columns at least, split by one separator throughout or
    by wide gaps; its parts are (row, column, cell). A tree is what `tree` draws, or two lines at least of which every
    one is a path and some have folders; its parts are the paths.
    """
    lines = [line.rstrip() for line in observation.split("\n") if not _PROMPT.fullmatch(line.rstrip())]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    if not lines:
        return None
    return _json(lines) or _tree(lines) or _table(lines)


def similarity(a: Structure, b: Structure) -> float:
    """F1 of the parts, in [0, 1]; 0.0 for structures of different kinds, 1.0 for two empty ones."""
    if a.kind != b.kind:
        return 0.0
    total = a.parts.total() + b.parts.total()
    return 2.0 * (a.parts & b.parts).total() / total if total else 1.0


def _json(lines: list[str]) -> Structure | None:
    text = "\n".join(lines)
    if text[0] not in "{[":
        return None
    values = _loaded([text]) or _loaded([line for line in lines if line])
    if values is None:
        return None
    parts: Counter[Any] = Counter()
    pending: list[tuple[tuple[Any, ...], Any]] = [((index,), value) for index, value in enumerate(values)][::-1]
    while pending and len(parts) < MOST_PARTS:
        path, value = pending.pop()
        if isinstance(value, dict) and value:
            pending += [((*path, key), inner) for key, inner in value.items()]
        elif isinstance(value, list) and value:
            pending += [((*path, index), inner) for index, inner in enumerate(value)]
        else:
            parts[path, json.dumps(value)] += 1
    return Structure("json", parts)


def _loaded(texts: list[str]) -> list[Any] | None:
    try:
        values = [json.loads(text) for text in texts]
    except (ValueError, RecursionError):
        return None
    return values if all(isinstance(value, dict | list) for value in values) else None


def _tree(lines: list[str]) -> Structure | None:
    if any(_BRANCH.match(line) for line in lines):
        return _drawn(lines)
    if len(lines) < 2 or not all(_PATH.fullmatch(line) for line in lines):
        return None
    if not any("/" in line.rstrip("/") for line in lines):
        return None
    return Structure("tree", Counter(lines[:MOST_PARTS]))


def _drawn(lines: list[str]) -> Structure:
    """What `tree` prints: names under their folders."""
    parts: Counter[Any] = Counter()
    above: list[str] = []
    for line in lines[:MOST_PARTS]:
        match = _BRANCH.match(line)
        if match is None:
            continue  # the root, and the summary at the end
        depth = len(match["indent"]) // 4
        above = [*above[:depth], match["name"]]
        parts["/".join(above)] += 1
    return Structure("tree", parts)


def _table(lines: list[str]) -> Structure | None:
    lines = [line for line in lines if line and not re.fullmatch(r"[-+=| :]+", line)]
    if len(lines) < 2:
        return None
    rows = _rows(lines)
    if rows is None:
        return None
    parts: Counter[Any] = Counter()
    for number, row in enumerate(rows):
        for column, cell in enumerate(row):
            parts[number, column, cell] += 1
        if len(parts) >= MOST_PARTS:
            break
    return Structure("table", parts)


def _rows(lines: list[str]) -> list[list[str]] | None:
    for separator in _SEPARATORS:
        split = [[cell.strip() for cell in line.strip("|").split(separator)] for line in lines]
        if len(split[0]) > 1 and all(len(row) == len(split[0]) for row in split):
            return split
    gaps = [_GAP.split(line.strip()) for line in lines]
    if len(gaps[0]) > 1 and all(len(row) == len(gaps[0]) for row in gaps):
        return gaps
    return None
