"""`render`: the right answer as a text that scores 1."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from agentworld_envs.domains.search.answers.spec import ListSpec, NumberSpec, TableSpec, read_spec


def render(spec: Mapping[str, Any] | BaseModel) -> str:
    """The right answer in the form in which it can be read in one way only: lists and tables as JSON.

    Raises:
        TaskError: the spec is broken.
    """
    right = read_spec(spec)
    if isinstance(right, ListSpec):
        return json.dumps([one if isinstance(one, str) else _single(one) for one in right.values], ensure_ascii=False)
    if isinstance(right, TableSpec):
        names = [column.name for column in right.columns]
        rows = [[cell[0] if isinstance(cell, list | tuple) and cell else cell for cell in row] for row in right.rows]
        return json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False)
    return _single(right)


def _single(spec: Any) -> str:
    if isinstance(spec, NumberSpec):
        number = str(int(spec.value)) if spec.value.is_integer() and abs(spec.value) < 1e15 else repr(spec.value)
        return f"{number} {spec.unit}" if spec.unit else number
    if isinstance(spec.value, bool):
        return "yes" if spec.value else "no"
    return str(spec.value)
