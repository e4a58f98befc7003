"""`read_table`: the table that an answer is, from Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from agentworld_envs.domains.search.answers.lists import load_json, plain
from agentworld_envs.domains.search.answers.normal import normalise

_FENCED = re.compile(r"```[\w+-]*[ \t]*\n(.*?)```", re.DOTALL)
_DASHES = re.compile(r":?-+:?")
_BAR = re.compile(r"(?<!\\)\|")
WIDEST = 200
"""Columns that are read."""
LONGEST_NAME = 500
"""Characters of the name of a column; a longer one is none."""


class ReadTable(NamedTuple):
    """A table as it was written."""

    header: list[str] | None
    """Names of the columns; `None` when there are none, and columns are told by their place."""
    rows: list[list[str]]


def read_table(text: str, columns: int) -> ReadTable:
    """The first table in an answer: JSON (a list of objects or of lists, or an object that holds one), JSON lines,
    Markdown, or CSV with commas, semicolons or tabs; in a code fence or not. An empty one when there is no table.

    Args:
        text: the answer.
        columns: how many are wanted; lists of just so many values need no header.
    """
    candidates = [*islice((match[1] for match in _FENCED.finditer(text)), 4), text]
    for candidate in candidates:
        for reader in (_json, _markdown, _separated):
            table = reader(candidate, columns)
            if table is not None:
                names = None if table.header is None else table.header[:WIDEST]
                header = None if names is None else [name if len(name) <= LONGEST_NAME else "" for name in names]
                return ReadTable(header, [row[:WIDEST] for row in table.rows if any(map(str.strip, row))])
    return ReadTable(None, [])


def same_columns(wanted: Sequence[Sequence[str]], header: list[str] | None) -> list[int | None]:
    """For each wanted column, given by its names, its place in a header; `None` where it is not there.

    Names are the same when they are after normalising; else without gaps; else without what is in brackets and a plural
    `s`; else when
    the words of only one column that is left hold all words of the other, or the other way round.
    """
    if header is None:
        return list(range(len(wanted)))
    places: list[int | None] = [None] * len(wanted)
    for form in (normalise, _joined, _short):
        given = [form(name) for name in header]
        for number, names in enumerate(wanted):
            free = [place for place, name in enumerate(given) if name in map(form, names) and place not in places]
            if places[number] is None and free:
                places[number] = free[0]
    words = [set(_short(name).split()) for name in header]
    for number, names in enumerate(wanted):
        if places[number] is not None:
            continue
        own = [set(_short(name).split()) for name in names]
        near = [
            place
            for place, said in enumerate(words)
            if place not in places and said and any(one and (one <= said or said <= one) for one in own)
        ]
        if len(near) == 1:
            places[number] = near[0]
    return places


def _joined(name: str) -> str:
    return normalise(name.replace("_", " ")).replace(" ", "")


def _short(name: str) -> str:
    words = normalise(re.sub(r"\([^()]*\)|\[[^\[\]]*\]", " ", name.replace("_", " "))).split()
    return " ".join(map(_singular, words))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _json(text: str, columns: int) -> ReadTable | None:
    data = load_json(text)
    if data is None:
        lines = [line for line in text.splitlines() if line.strip()]
        loaded = [load_json(line) for line in lines] if lines and lines[0].lstrip()[:1] == "{" else []
        data = loaded if loaded and all(isinstance(one, dict) for one in loaded) else None
    if isinstance(data, dict):
        rows = next((value for value in data.values() if isinstance(value, list) and value and _is_rows(value)), None)
        header = next(
            (data[name] for name in ("columns", "header", "headers") if isinstance(data.get(name), list)), None
        )
        if rows is not None and header is not None and isinstance(rows[0], list):
            return ReadTable([plain(name) for name in header], [[plain(cell) for cell in row] for row in rows])
        data = rows if rows is not None else [data]
    if not isinstance(data, list) or not data or not _is_rows(data):
        return None
    if isinstance(data[0], dict):
        names = list(dict.fromkeys(name for row in data for name in row))
        return ReadTable(names, [[plain(row.get(name)) for name in names] for row in data])
    rows = [[plain(cell) for cell in row] for row in data]
    return _headed(rows, columns)


def _is_rows(value: list[object]) -> bool:
    return all(isinstance(one, dict) for one in value) or all(isinstance(one, list) for one in value)


def _markdown(text: str, columns: int) -> ReadTable | None:
    rows: list[list[str]] = []
    for line in text.splitlines():
        line = line.strip()
        if "|" not in line:
            if rows and len(rows) > 1:
                break
            rows = []
            continue
        cells = [cell.replace("\\|", "|").strip() for cell in _BAR.split(line)]
        cells = cells[line.startswith("|") : len(cells) - (line.endswith("|") and len(cells) > 1)]
        if cells and all(map(_DASHES.fullmatch, cells)):
            continue
        rows.append(cells)
    if len(rows) < 1 or len(rows[0]) < min(columns, 2):
        return None
    return ReadTable(rows[0], rows[1:])


def _separated(text: str, columns: int) -> ReadTable | None:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    for sign in ("\t", ";", ","):
        if not lines or sign not in lines[0]:
            continue
        try:
            rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=sign, skipinitialspace=True)]
        except csv.Error:
            continue
        if rows and len(rows[0]) >= min(columns, 2):
            return ReadTable(rows[0], rows[1:])
    return ReadTable([lines[0]], [[line] for line in lines[1:]]) if columns == 1 and lines else None


def _headed(rows: list[list[str]], columns: int) -> ReadTable:
    """Lists of values, the first of which may be the header."""
    digits = sum(any(map(str.isdigit, cell)) for cell in rows[0])
    below = max((sum(any(map(str.isdigit, cell)) for cell in row) for row in rows[1:]), default=0)
    if len(rows) > 1 and not digits and below:
        return ReadTable(rows[0], rows[1:])
    return ReadTable(None, rows) if all(len(row) == columns for row in rows) else ReadTable(rows[0], rows[1:])
