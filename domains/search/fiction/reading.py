"""`statements`: what the text of a page says of something. Reads with the very wordings that pages are written in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentworld_envs.domains.search.fiction import values
from agentworld_envs.domains.search.fiction.layouts import ALSO, NAME
from agentworld_envs.domains.search.fiction.relations import Relation
from agentworld_envs.domains.search.fiction.template import dated, undated

Statement = tuple[Any, int | None]
"""A value (see `values.read`) and the year of which it is said, `None` when it is said without one."""

_BOX = re.compile(rf"^\| {NAME} \| ([^|\n]+) \|\n\| --- \| --- \|\n((?:\|.*\n?)*)", re.MULTILINE)
_LABEL = re.compile(r"(.+?)(?: \(as of (\d{4})\))?")


def subject(text: str) -> str | None:
    """Whose main page this is, `None` when it is none."""
    found = _BOX.search(text)
    return found[1] if found else None


def known_as(text: str) -> str | None:
    """The other name that a main page gives."""
    found = re.search(rf"^\| {ALSO} \| ([^|\n]+) \|$", text, re.MULTILINE)
    return found[1] if found else None


def statements(text: str, name: str, relation: Relation) -> list[Statement]:
    """Everything that a page says of one relation of one name, in infobox, tables, lists and sentences."""
    if name not in text:
        return []
    found = []
    for written, year in (*_box(text, name, relation), *_rows(text, name, relation), *_sentences(text, name, relation)):
        value = values.read(relation, written)
        if value is not None:
            found.append((value, year))
    return found


def _box(text: str, name: str, relation: Relation) -> Iterator[tuple[str, int | None]]:
    found = _BOX.search(text)
    if found is None or found[1] != name:
        return
    for line in found[2].splitlines():
        cells = _cells(line)
        if len(cells) == 2:
            yield from _under(cells[0], cells[1], relation)


def _rows(text: str, name: str, relation: Relation) -> Iterator[tuple[str, int | None]]:
    head: list[str] = []
    for line in text.splitlines():
        if not line.startswith("| "):
            continue
        cells = _cells(line)
        if cells[0] == NAME:
            head = cells
        elif cells[0] == name and len(cells) == len(head):
            for label, cell in zip(head[1:], cells[1:], strict=True):
                yield from _under(label, cell, relation)


def _under(label: str, cell: str, relation: Relation) -> Iterator[tuple[str, int | None]]:
    found = _LABEL.fullmatch(label)
    if found is not None and found[1] == relation.label:
        yield cell, int(found[2]) if found[2] else None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def _sentences(text: str, name: str, relation: Relation) -> Iterator[tuple[str, int | None]]:
    for template in (*undated(relation), *dated(relation)):
        yield from template.read(text, name)
