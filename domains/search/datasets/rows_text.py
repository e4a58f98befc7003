"""`rows_of`: the rows of a JSON array or of JSON lines, one by one, with the lines that they begin on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agentworld_envs.interface import ConfigError

_BETWEEN = re.compile(r"\s*,?\s*")
WRAPPERS = ("data", "rows", "questions", "examples")
"""Names under which an object may hold all rows."""
_WRAPPED = re.compile(rf'\A\s*\{{[^\[]*?"(?:{"|".join(WRAPPERS)})"\s*:\s*\[')


class Found(NamedTuple):
    """What stands at one place of a file."""

    line: int
    """1-based."""
    row: dict[str, Any] | None
    """The row, `None` where there is none."""
    problem: str = ""
    """Why there is none."""


def rows_of(path: str | os.PathLike[str]) -> Iterator[Found]:
    """All rows of a file. A broken line is a problem of its own; a broken array ends there.

    Raises:
        ConfigError: the file cannot be read.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the questions in {path}: {error.strerror}.") from error
    data = data.removeprefix(b"\xef\xbb\xbf")
    start = data.lstrip()[:1]
    if start == b"[":
        text = data.decode("utf-8", errors="replace")
        yield from _array(text, text.index("["))
        return
    if start == b"{" and _is_one_object(data):
        text = data.decode("utf-8", errors="replace")
        if match := _WRAPPED.search(text):
            yield from _array(text, match.end() - 1)
            return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield _line(number, line)


def _line(number: int, line: bytes) -> Found:
    try:
        return _checked(number, json.loads(line.decode("utf-8")))
    except UnicodeDecodeError as error:
        return Found(number, None, f"not UTF-8 at byte {error.start}")
    except ValueError as error:
        return Found(number, None, f"no JSON: {error}")
    except RecursionError:
        return Found(number, None, "JSON that is too deep")


def _is_one_object(data: bytes) -> bool:
    """Whether a file is an object around its rows, and not lines that are each an object."""
    first = data.lstrip().split(b"\n", 1)[0]
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return True  # an object of several lines, or a broken line: then there is no list under a name of these
    return isinstance(row, dict) and any(isinstance(row.get(name), list) for name in WRAPPERS)


def _array(text: str, place: int) -> Iterator[Found]:
    """The rows of the array whose bracket stands at a place."""
    decoder = json.JSONDecoder()
    line, counted, place = 1, 0, place + 1
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        line, counted = line + text.count("\n", counted, place), place
        if text.startswith("]", place):
            return
        if place >= len(text):
            yield Found(line, None, "the file ends before the array does")
            return
        try:
            row, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            why = "JSON that is too deep" if isinstance(error, RecursionError) else f"no JSON: {error}"
            yield Found(line, None, f"{why}; what comes after cannot be read")
            return
        yield _checked(line, row)


def _checked(line: int, row: Any) -> Found:
    if not isinstance(row, dict):
        return Found(line, None, f"expected an object, got {type(row).__name__}")
    return Found(line, row)
