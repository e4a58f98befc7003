"""JSON and call expressions: the two ways in which most domains write an action."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Sequence
from typing import Any, Final

from agentworld_envs.backends.world_model.codecs.base import Call

_NAMES: Final = {"true": True, "false": False, "null": None}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CALL: Final = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\s*\(")
MOST_CHARACTERS: Final = 200_000
"""A longer expression is no action that anybody wrote; it is left as text."""

STYLES: Final[tuple[dict[str, Any], ...]] = tuple(
    {"ensure_ascii": ascii_only, **layout}
    for ascii_only in (False, True)
    for layout in ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})
)
"""Ways to lay out JSON; enough to write most of what was read as it was."""


def load_json(text: str) -> Any:
    """A JSON value.

    Raises:
        ValueError: it is none, or it has a number that JSON does not know.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def parse_json_calls(text: str) -> tuple[Call, ...] | None:
    """Calls in `{"name": ..., "arguments": ...}` or a list of these. `arguments` may be JSON in a string."""
    try:
        data = load_json(text)
    except ValueError:
        return None
    if not isinstance(data, list):
        call = _json_call(data, "")
        return None if call is None else (call,)
    calls = [_json_call(entry, "_list") for entry in data]
    full = tuple(call for call in calls if call is not None)
    return full if full and len(full) == len(calls) else None


def _json_call(data: Any, suffix: str) -> Call | None:
    if not isinstance(data, dict) or set(data) != {"name", "arguments"} or not isinstance(data["name"], str):
        return None
    arguments, form = data["arguments"], "json"
    if isinstance(arguments, str):
        form = "json_string"
        try:
            arguments = load_json(arguments)
        except ValueError:
            return None
    return Call(data["name"], arguments, (), form + suffix) if isinstance(arguments, dict) else None


def format_json_calls(calls: Sequence[Call]) -> str:
    """The inverse of `parse_json_calls`.

    Raises:
        ValueError, TypeError: several calls in a form for one, or an argument that is no JSON.
    """
    entries = []
    for call in calls:
        if call.positional:
            raise ValueError("JSON calls name all their arguments")
        arguments: Any = dict(call.arguments)
        if call.form.startswith("json_string"):
            arguments = dump_json(arguments)
        entries.append({"name": call.name, "arguments": arguments})
    if any(call.form.endswith("_list") for call in calls):
        return dump_json(entries)
    if len(entries) != 1:
        raise ValueError(f"expected one call, got {len(entries)}; lists have a form that ends with _list")
    return dump_json(entries[0])


def dump_json(value: Any) -> str:
    """One line of JSON, characters as they are.

    Raises:
        ValueError, TypeError: it is no JSON value.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_expression(text: str, form: str) -> Call | None:
    """A call such as `browser_click(element="Save", ref="e12")`, with literals as arguments. Nothing is evaluated."""
    if len(text) > MOST_CHARACTERS or not _CALL.match(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a model's string is not this program's fault
            tree = ast.parse(text.strip(), mode="eval").body
        if not isinstance(tree, ast.Call) or any(keyword.arg is None for keyword in tree.keywords):
            return None
        arguments = {str(keyword.arg): _literal(keyword.value) for keyword in tree.keywords}
        if len(arguments) != len(tree.keywords):
            return None
        return Call(_dotted(tree.func), arguments, tuple(_literal(node) for node in tree.args), form)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def format_expression(call: Call) -> str:
    """The inverse of `parse_expression`, with JSON's spelling of values.

    Raises:
        ValueError, TypeError: an argument that is no JSON.
    """
    parts = [_spelt(value) for value in call.positional]
    parts += [f"{key}={_spelt(value)}" for key, value in call.arguments.items()]
    return f"{call.name}({', '.join(parts)})"


def _spelt(value: Any) -> str:
    # A lone surrogate cannot be in source text, but its escape can.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", dump_json(value))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise ValueError("no name")


def _literal(node: ast.expr) -> Any:
    """The value of a literal in Python's or JSON's spelling."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | int | float | bool)):
        return node.value
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return _NAMES[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(element) for element in node.elts]
    if isinstance(node, ast.Dict):
        keys = [_literal(key) if key is not None else None for key in node.keys]
        if not all(isinstance(key, str) for key in keys):
            raise ValueError("keys are text")
        return dict(zip(keys, [_literal(value) for value in node.values], strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _literal(node.operand)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    raise ValueError("no literal")
