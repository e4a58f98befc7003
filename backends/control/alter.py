"""`alter`: what an implicit fault makes of an answer. Pure text, no marker of its own but where the kind is one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from agentworld_envs.interface.fault import FaultKind

MORE = "-- more --"
"""What follows the first page of a longer answer."""
FAILED = "error: could not be read"
"""What stands in place of a part of a batch that failed."""
MOST_PER_PAGE = 10
_SHORTEST = 8
"""An answer with fewer visible characters is not cut."""
_ITEM = r"\ban? [\w'-]{1,40}(?: [\w'-]{1,40}){0,5}"
_ENUMERATION = re.compile(rf"{_ITEM}(?:, {_ITEM})*,? and {_ITEM}")
_SEPARATOR = re.compile(r", and | and |, ")

Parts = list[str]


def alter(kind: FaultKind, body: str, previous: str | None, rng: np.random.Generator) -> str | None:
    """The data of an answer after a fault.

    Args:
        kind: an implicit kind, `pagination` or `partial_failure`.
        body: the data as it is.
        previous: the data of the answer before, `None` at the first one.
        rng: decides where it is cut and what is lost.

    Returns:
        The changed data; `None` where there is nothing that could be changed in this way.
    """
    if kind == "stale":
        changed = previous
    elif kind == "truncated_data":
        changed = _cut(body, rng)
    else:
        changed = _change_parts(body, {"missing_field": _lose, "pagination": _page}.get(kind, _break), rng)
    return None if changed == body else changed


def _cut(body: str, rng: np.random.Generator) -> str | None:
    whole = body.rstrip()
    if len(whole) < _SHORTEST:
        return None
    return whole[: max(1, int(len(whole) * (0.3 + 0.4 * float(rng.random()))))]


_Change = Callable[[Parts, str, np.random.Generator], Parts]


def _lose(parts: Parts, failed: str, rng: np.random.Generator) -> Parts:
    lost = int(rng.integers(len(parts)))
    return parts[:lost] + parts[lost + 1 :]


def _page(parts: Parts, failed: str, rng: np.random.Generator) -> Parts:
    return [*parts[: min(MOST_PER_PAGE, len(parts) // 2)], MORE]


def _break(parts: Parts, failed: str, rng: np.random.Generator) -> Parts:
    broken = {int(index) for index in rng.permutation(len(parts))[: len(parts) // 2]}
    return [failed if index in broken else part for index, part in enumerate(parts)]


def _change_parts(body: str, change: _Change, rng: np.random.Generator) -> str | None:
    """Change the entries of a JSON value, else the lines, else the items of an enumeration; at least two of them."""
    value = _json(body)
    if value is not None:
        return _change_json(value, change, rng)
    lines = body.splitlines()
    filled = [index for index, line in enumerate(lines) if line.strip()]
    if len(filled) >= 2:
        changed = change([lines[index] for index in filled], FAILED, rng)
        return "\n".join(changed) + ("\n" if body.endswith("\n") else "")
    found = max(_ENUMERATION.finditer(body), key=lambda match: len(match[0]), default=None)
    if found is None:
        return None
    items = change(_SEPARATOR.split(found[0]), "something unreadable", rng)
    return body[: found.start()] + _enumerate(items) + body[found.end() :]


def _enumerate(items: Parts) -> str:
    if items[-1] == MORE:
        return f"{', '.join(items[:-1])} {MORE}"
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])}, and {items[-1]}"


def _json(body: str) -> dict[str, Any] | list[Any] | None:
    """A JSON object or list with at least two entries."""
    if not body.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and len(value) >= 2 else None


def _change_json(value: dict[str, Any] | list[Any], change: _Change, rng: np.random.Generator) -> str:
    entries = list(value.items()) if isinstance(value, dict) else [("", entry) for entry in value]
    texts = [json.dumps(entry, ensure_ascii=False) for entry in entries]
    changed = change(texts, json.dumps(["error", FAILED]), rng)
    more = changed[-1] == MORE
    left = [json.loads(text) for text in (changed[:-1] if more else changed)]
    if isinstance(value, dict):
        result: Any = dict(left) | ({"has_more": True} if more else {})
    else:
        result = [entry if key == "" else {key: entry} for key, entry in left]
        result = {"items": result, "page": 1, "has_more": True} if more else result
    return json.dumps(result, ensure_ascii=False)
