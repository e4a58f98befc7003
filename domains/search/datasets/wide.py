"""Rows in the manner of WideSearch: a query that is answered by a table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentworld_envs.domains.search.answers import read_spec
from agentworld_envs.domains.search.answers.dates import parse_date
from agentworld_envs.domains.search.answers.numbers import parse_number
from agentworld_envs.domains.search.answers.table_text import read_table, same_columns
from agentworld_envs.domains.search.answers.units import convert, unit_name
from agentworld_envs.domains.search.datasets.row import BadRow, QuestionRow, sound, text_of
from agentworld_envs.interface import TaskError

GOLD = ("widesearch_gold", "gold", ".")
"""Folders beside the file in which the tables may lie, as `INSTANCE_ID.csv`."""


def is_wide(row: Mapping[str, Any]) -> bool:
    """A query, and an `evaluation` that tells how its table is compared."""
    return "evaluation" in row and ("query" in row or "question" in row)


def read_wide(row: Mapping[str, Any], folder: Path) -> list[QuestionRow]:
    """A row with `query` and `evaluation`.

    `evaluation` (an object, or a text that holds one) has `columns` (or `required`), `key` (or `unique_columns`) and
    `rows`; or, as published, no rows, which then are in `widesearch_gold/INSTANCE_ID.csv` beside the file. Columns are
    names, or objects as in the spec of a table. A column is compared as numbers or as dates where `eval_pipeline` says
    so and all its cells are. Numbers keep their unit, which becomes that of the column: `12%` is right for `12%`, as is
    `12`, and `12 miles` is wrong for `12 km`. Where the units of a column cannot be converted, its cells are texts.

    Args:
        row: of the file.
        folder: where the file lies.

    Raises:
        BadRow: what is missing.
    """
    told = row["evaluation"]
    if isinstance(told, str):
        try:
            told = json.loads(told)
        except (ValueError, RecursionError) as error:
            raise BadRow(f"evaluation is no JSON: {error}") from error
    if not isinstance(told, Mapping):
        raise BadRow("evaluation has to be an object")
    name = str(row.get("instance_id") or row.get("id") or "")
    columns = _columns(told.get("columns", told.get("required")))
    header, rows = _rows(told.get("rows", row.get("answer")), [column["name"] for column in columns], folder, name)
    columns = columns or [{"name": title} for title in header]
    places = same_columns([[column["name"]] for column in columns], header)
    if missing := [column["name"] for column, place in zip(columns, places, strict=True) if place is None]:
        raise BadRow(f"the right table has no column {missing}, only {header}")
    cells = [[_cell(line, place) for place in places] for line in rows]
    _set_kinds(columns, cells, told.get("eval_pipeline"))
    key = told.get("key", told.get("unique_columns")) or [columns[0]["name"]]
    names = [column["name"] for column in columns]
    key = [key] if isinstance(key, str) else key
    found = same_columns([[str(one)] for one in key], names) if isinstance(key, list) else [None]
    if any(place is None for place in found):
        raise BadRow(f"the key {key} is not among the columns {names}")
    spec = {
        "kind": "table",
        "columns": columns,
        "key": [names[place] for place in found if place is not None],
        "rows": cells,
    }
    try:
        read_spec(spec)
    except TaskError as error:
        raise BadRow(str(error)) from error
    language = row.get("language")
    tags = (language,) if isinstance(language, str) and language else ()
    return [QuestionRow(id=name, question=text_of(row, "query", "question"), answer=spec, tags=tags)]


def _columns(told: Any) -> list[dict[str, Any]]:
    if told is None:
        return []
    if not isinstance(told, list) or not told or not all(isinstance(one, str | Mapping) for one in told):
        raise BadRow("columns has to be a list of names")
    columns = [{"name": sound(one)} if isinstance(one, str) else dict(one) for one in told]
    if not all(isinstance(column.get("name"), str) and column["name"].strip() for column in columns):
        raise BadRow("every column needs a name")
    return columns


def _rows(told: Any, names: Sequence[str], folder: Path, name: str) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the right table, from the row or from a file of its own."""
    if told is None and name and "/" not in name and not name.startswith("."):
        path = next(
            (folder / place / f"{name}.csv" for place in GOLD if (folder / place / f"{name}.csv").is_file()), None
        )
        if path is not None:
            told = path.read_text(encoding="utf-8-sig", errors="replace")
    if isinstance(told, str):
        read = read_table(told, max(len(names), 1))
        if read.header is None:
            raise BadRow("the right table has no header")
        return read.header, [list(row) for row in read.rows]
    if isinstance(told, list) and told and all(isinstance(one, Mapping) for one in told):
        header = list(dict.fromkeys(str(key) for one in told for key in one))
        return header, [[one.get(title) for title in header] for one in told]
    if isinstance(told, list) and names and all(isinstance(one, list) and len(one) == len(names) for one in told):
        return list(names), told
    raise BadRow(f"no rows, and no {name or 'INSTANCE_ID'}.csv in {' or '.join(GOLD[:2])} beside the file")


def _cell(line: Sequence[Any], place: int | None) -> Any:
    value = line[place] if place is not None and place < len(line) else None
    return sound(value.strip()) or None if isinstance(value, str) else value


def _set_kinds(columns: list[dict[str, Any]], cells: list[list[Any]], pipeline: Any) -> None:
    """How each column is compared: as it says, or as the pipeline says, as far as its cells allow that."""
    told = pipeline if isinstance(pipeline, Mapping) else {}
    titles = list(told)
    places = same_columns([[column["name"]] for column in columns], [str(title) for title in titles])
    for number, (column, place) in enumerate(zip(columns, places, strict=True)):
        rule = told[titles[place]] if place is not None else {}
        rule = rule if isinstance(rule, Mapping) else {}
        metrics = {str(one) for one in rule.get("metric", ())} if isinstance(rule.get("metric"), list) else set()
        kind = column.get("kind") or (
            "number" if "number_near" in metrics else "date" if "date_near" in metrics else "text"
        )
        if "number_near" in metrics and isinstance(rule.get("criterion"), int | float) and 0 <= rule["criterion"] <= 1:
            column.setdefault("tolerance", float(rule["criterion"]))
        converted = [_convert(line[number], kind) for line in cells]
        if kind == "number":
            converted = _in_one_unit(column, [line[number] for line in cells], converted)
        if any(new is None and line[number] is not None for new, line in zip(converted, cells, strict=True)):
            if column.get("kind"):
                raise BadRow(f"a cell of the column {column['name']!r} is no {kind}")
            kind, converted = "text", [line[number] for line in cells]
        column["kind"] = kind
        for new, line in zip(converted, cells, strict=True):
            line[number] = new


def _in_one_unit(column: dict[str, Any], cells: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
    """The numbers of a column in its unit, which is that of the first cell that has one if the column tells none;
    `None` for what cannot be converted."""
    told = column.get("unit")
    units = [number.unit if isinstance(cell, str) and (number := parse_number(cell)) else "" for cell in cells]
    unit = unit_name(told) if isinstance(told, str) and told else next(filter(None, units), "")
    found = [
        convert(value, own, unit) if own and value is not None else value
        for value, own in zip(numbers, units, strict=True)
    ]
    whole = all(value is not None for value, cell in zip(found, cells, strict=True) if cell is not None)
    if unit and not told and whole:
        column["unit"] = unit
    return found


def _convert(value: Any, kind: str) -> Any:
    if value is None or kind == "text":
        return value if value is None or isinstance(value, str | list) else str(value)
    if kind == "number":
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        number = parse_number(str(value))
        return None if number is None else number.value
    if kind == "date":
        days = parse_date(str(value))
        if len(days) != 1 or days[0].year < 1000:
            return None
        return "-".join(f"{part:02d}" for part in days[0] if part is not None)
    return value
