"""`Action`: what the parser made of the agent's text, the same for every backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Action:
    """One call of one tool."""

    tool: str
    """Name of the tool; bare text calls the domain's default tool."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The tool's arguments, already checked against its schema."""
    command: str = ""
    """The canonical one-line form: the bare text for the default tool, compact JSON for the others."""


def json_type(value: Any) -> str:
    """What JSON calls the type of a value: `string`, `array` and so on; `integer` for a whole number."""
    return _JSON_TYPES.get(type(value), type(value).__name__)


_JSON_TYPES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}
