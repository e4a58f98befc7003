"""`checked_spec`: an answer spec as a user wrote it, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_envs.domains.search.answers import read_spec
from agentworld_envs.domains.search.datasets.row import BadRow
from agentworld_envs.interface import TaskError

EXAMPLES = {
    "text": '{"kind": "text", "value": "Lyon", "aliases": ["Lugdunum"]}',
    "number": '{"kind": "number", "value": 124690, "tolerance": 0.01, "unit": "km"}',
    "date": '{"kind": "date", "value": "1953-03-04"}',
    "boolean": '{"kind": "boolean", "value": true}',
    "list": '{"kind": "list", "values": ["Lyon", "Porto"], "ordered": false}',
    "table": '{"kind": "table", "columns": [{"name": "city"}, {"name": "people", "kind": "number"}], '
    '"key": ["city"], "rows": [["Lyon", 522250]]}',
}
"""One of each kind, with all fields it may have."""
_NEEDED = {"list": ("values",), "table": ("columns", "key", "rows")}
_MORE = {"text": ("aliases",), "number": ("tolerance", "unit"), "list": ("ordered",)}


def checked_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec, if it can be checked against.

    Raises:
        BadRow: it cannot; names the field, and shows one that can.
    """
    kind = spec.get("kind")
    if not isinstance(kind, str) or kind not in EXAMPLES:
        raise BadRow(f"expected the 'kind' of an answer to be {', '.join(EXAMPLES)}, got {str(kind)[:60]!a}")
    needed = _NEEDED.get(kind, ("value",))
    missing = [name for name in needed if name not in spec]
    unknown = [name for name in spec if name not in ("kind", *needed, *_MORE.get(kind, ()))]
    problem = f"has no {_named(missing)}" if missing else f"has the unknown field {_named(unknown)}" if unknown else ""
    if not problem and kind == "list" and not isinstance(spec["values"], list | tuple):
        problem = f"has 'values' that are no list: {str(spec['values'])[:60]!a}"
    if not problem:
        try:
            read_spec(spec)
            return dict(spec)
        except TaskError as error:
            problem = _problem(spec, error)
    raise BadRow(f"an answer of the kind {kind!r} {problem}. Expected for example {EXAMPLES[kind]}")


def _problem(spec: Mapping[str, Any], error: TaskError) -> str:
    """The field that is wrong, in the words of a reader of JSON."""
    details = getattr(error.__cause__, "errors", None)
    first = details()[0] if callable(details) else {}
    value: Any = spec
    names: list[str] = []
    for part in first.get("loc", ()):  # parts that stand for a kind are in no JSON
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        names.append(str(part))
    why = str(first.get("ctx", {}).get("error", "")) if first.get("type") == "value_error" else ""
    if why:
        return f"cannot be checked: {why}"
    if first.get("type") == "missing":
        return f"has no {'.'.join([*names, str(first['loc'][-1])])!r}"
    if names:
        return f"has {'.'.join(names)!r} that cannot be: {str(value)[:80]!a}"
    return f"has a cell that is not of its column's kind: {str(first.get('input'))[:80]!a}"


def _named(names: list[str]) -> str:
    return ", ".join(f"{name!a}" for name in names)
