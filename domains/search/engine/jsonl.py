"""Corpora of one JSON record a line, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from agentworld_envs.domains.search.engine.records import (
    MAX_BYTES,
    NO_TEXT,
    NOT_JSON,
    TOO_LONG,
    UNREADABLE,
    Skip,
    make_page,
)
from agentworld_envs.domains.search.pages import Page

_TEXTS = ("text", "contents", "content")


def read_jsonl(path: Path) -> Iterator[Page | Skip]:
    """The pages of a file. A file that ends in the middle of its compressed data ends there, as `unreadable`."""
    try:
        with _open(path) as file:
            for number, line in enumerate(_lines(file), 1):
                if line is None:
                    yield Skip(TOO_LONG)
                elif line.strip():
                    yield parse(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        yield Skip(UNREADABLE)


def parse(line: bytes, number: int) -> Page | Skip:
    """The page of one line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # also bytes that are no UTF-8
        return Skip(NOT_JSON)
    if not isinstance(record, dict):
        return Skip(NOT_JSON)
    text = next((record[key] for key in _TEXTS if isinstance(record.get(key), str)), None)
    if text is None:
        return Skip(NO_TEXT)
    metadata = record.get("metadata")
    about: dict[str, Any] = record | metadata if isinstance(metadata, dict) else record
    title = _string(about.get("title"))
    if not title and "contents" in record:
        title, text = _titled(text)
    withheld = about.get("withheld")
    hidden = [one for one in withheld if isinstance(one, str)] if isinstance(withheld, list) else []
    name = _string(record.get("id")) or f"line-{number}"
    return make_page(name, _string(about.get("url")), title, text, about.get("date"), hidden)


def _titled(contents: str) -> tuple[str, str]:
    """Title and text of a Search-R1 record: the title stands in quotes on the first line."""
    first, newline, rest = contents.partition("\n")
    first = first.strip()
    if newline and len(first) >= 2 and first[0] == first[-1] == '"':
        return first[1:-1], rest
    return "", contents


def _string(value: object) -> str:
    """Ids are numbers in some dumps."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else open(path, "rb")


def _lines(file: IO[bytes] | gzip.GzipFile) -> Iterator[bytes | None]:
    """Lines; `None` for one that is too long to be held."""
    while line := file.readline(MAX_BYTES):
        if line.endswith(b"\n") or len(line) < MAX_BYTES:
            yield line
            continue
        while (rest := file.readline(MAX_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield None
