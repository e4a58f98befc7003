"""`score_table`: rows and items of a table, in the manner of WideSearch."""

from __future__ import annotations

from typing import Any

from agentworld_envs.domains.search.answers.element import Element, Gold
from agentworld_envs.domains.search.answers.matching import f1, most_pairs
from agentworld_envs.domains.search.answers.spec import TableSpec
from agentworld_envs.domains.search.answers.table_text import read_table, same_columns

_EMPTY = frozenset({"none", "null", "n/a", "na", "nan", "unknown", "not available", "not applicable"})
"""What people write into a cell that has to be empty, besides nothing and dashes."""


def score_table(spec: TableSpec, text: str, spare: int) -> tuple[float, bool, dict[str, Any]]:
    """Score a table that an agent wrote.

    Rows are paired by the cells of the key; a row is right when all its cells are. Items are cells of paired rows. Both
    have precision over what was given and recall over what was wanted (WideSearch, section on metrics). Columns that
    were not asked for count nowhere; a row that is there twice counts once.

    Args:
        spec: the right table.
        text: Markdown, CSV, or JSON.
        spare: so many rows more than four times the wanted ones are compared; the others count as wrong.

    Returns:
        Item F1; whether all is right; and the numbers behind it.
    """
    read = read_table(text, len(spec.columns))
    names = [(column.name, *column.aliases) for column in spec.columns]
    places = same_columns(names, read.header)
    rows = list(dict.fromkeys(tuple(row) for row in read.rows))
    cells = [
        [None if place is None else Element(row[place] if place < len(row) else "") for place in places]
        for row in rows[: 4 * len(spec.rows) + spare]
    ]
    golds = [[_Cell(spec, row, column) for column in range(len(spec.columns))] for row in range(len(spec.rows))]
    keys = [place for place, column in enumerate(spec.columns) if column.name in spec.key]

    def is_row(wanted: int, given: int) -> bool:
        return all(golds[wanted][place].matches(cells[given][place]) for place in keys)

    def is_whole(wanted: int, given: int) -> bool:
        return is_row(wanted, given) and all(map(_Cell.matches, golds[wanted], cells[given]))

    whole = most_pairs(len(golds), len(cells), is_whole)
    pairs = most_pairs(len(golds), len(cells), is_row)
    items = sum(
        gold.matches(cell)
        for wanted, given in pairs.items()
        for gold, cell in zip(golds[wanted], cells[given], strict=True)
        if cell is not None
    )
    present = sum(place is not None for place in places)
    row_numbers = f1(len(whole), len(rows), len(golds))
    item_numbers = f1(items, len(rows) * present, len(golds) * len(spec.columns))
    detail: dict[str, Any] = {"kind": "table", "rows": len(rows), "wanted": len(golds)}
    detail["columns_missing"] = [
        column.name for column, place in zip(spec.columns, places, strict=True) if place is None
    ]
    for name, numbers in (("row", row_numbers), ("item", item_numbers)):
        detail |= {f"{name}_precision": numbers[0], f"{name}_recall": numbers[1], f"{name}_f1": numbers[2]}
    correct = len(whole) == len(rows) == len(golds)
    return 1.0 if correct else min(item_numbers[2], 1.0), correct, detail


class _Cell:
    """What has to stand in one cell."""

    def __init__(self, spec: TableSpec, row: int, column: int) -> None:
        wanted = spec.cell(row, column)
        self._gold = None if wanted is None else Gold(wanted)

    def matches(self, given: Element | None) -> bool:
        if given is None:
            return False
        if self._gold is None:
            return given.text.casefold().strip(" .") in _EMPTY or not any(map(str.isalnum, given.text))
        return self._gold.matches(given)
