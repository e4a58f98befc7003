"""`rows_of`: the rows of a JSON array or of JSON lines, one by one, with the lines that they begin on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agentworld_envs.interface import ConfigError

_SPACE = re.compile(r"\s*")
_BETWEEN = re.compile(r"\s*,?\s*")
WRAPPERS = ("data", "rows", "questions", "examples")
"""Names under which an object may hold all rows."""


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
        yield from _array(data.decode("utf-8", errors="replace"))
        return
    whole = _wrapped(data) if start == b"{" else None
    if whole is not None:
        for row in whole:
            yield _checked(1, row)
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


def _wrapped(data: bytes) -> list[Any] | None:
    """The rows of a file that is one object around a list of them."""
    if data.split(b"\n", 1)[0].rstrip().endswith(b"}") and b"\n" in data.strip():
        return None  # lines, each a row
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return next((whole[name] for name in WRAPPERS if isinstance(whole.get(name), list)), None)


def _array(text: str) -> Iterator[Found]:
    decoder = json.JSONDecoder()
    match = _SPACE.match(text)
    place = (match.end() if match else 0) + 1
    line, counted = 1, 0
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
