"""Corpora of one JSON record a line, or of one array of records, plain or compressed with gzip."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final

from agentworld_envs.domains.search.engine.records import (
    MAX_BYTES,
    NO_TEXT,
    NOT_JSON,
    TOO_LONG,
    Skip,
    make_page,
)
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

TEXTS: Final = ("text", "contents", "content")
"""Fields that may hold the text of a page; the first that is there counts."""
MAX_ARRAY: Final = 256_000_000
"""Bytes of a JSON array, which has to be held in memory."""
_ARRAY: Final = re.compile(rb"\s*\[\s*(?:\{|\Z)")
_MARK: Final = b"\xef\xbb\xbf"
_BETWEEN: Final = re.compile(r"\s*,?\s*")


def read_jsonl(path: Path) -> Iterator[Page | Skip]:
    """The pages of a file.

    Raises:
        ConfigError: it ends in the middle of its compressed data, or is an array that is too long to be held.
    """
    try:
        with _open(path) as file:
            is_array = _ARRAY.match(file.read(4096).removeprefix(_MARK))
            file.seek(0)
            if is_array:
                yield from _array(file.read(MAX_ARRAY + 1).removeprefix(_MARK), path)
                return
            for number, line in enumerate(_lines(file), 1):
                if line is None:
                    yield Skip(TOO_LONG, f"line {number}")
                elif line.strip():
                    yield parse(line.removeprefix(_MARK) if number == 1 else line, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ConfigError(
            f"The compressed file {path} is damaged or cut short ({error}), so that pages are missing. Nothing is "
            "made of it: fetch or compress it again."
        ) from error


def parse(line: bytes, number: int) -> Page | Skip:
    """The page of one line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # also bytes that are no UTF-8
        return Skip(NOT_JSON, f"line {number}")
    return _page(record, number)


def _page(record: Any, number: int) -> Page | Skip:
    if not isinstance(record, dict):
        return Skip(NOT_JSON, f"line {number}")
    text = next((record[key] for key in TEXTS if isinstance(record.get(key), str)), None)
    if text is None:
        return Skip(NO_TEXT, f"line {number}", tuple(record))
    metadata = record.get("metadata")
    about: dict[str, Any] = record | metadata if isinstance(metadata, dict) else record
    title = _string(about.get("title"))
    if not title and "contents" in record:
        title, text = _titled(text)
    withheld = about.get("withheld")
    hidden = [one for one in withheld if isinstance(one, str)] if isinstance(withheld, list) else []
    name = _string(record.get("id")) or f"line-{number}"
    made = make_page(name, _string(about.get("url")), title, text, about.get("date"), hidden)
    return replace(made, place=f"line {number}") if isinstance(made, Skip) else made


def _array(data: bytes, path: Path) -> Iterator[Page | Skip]:
    """The pages of an array of records. What comes behind a broken one cannot be read."""
    if len(data) > MAX_ARRAY:
        raise ConfigError(
            f"{path} is a JSON array of more than {MAX_ARRAY:,} bytes, too long to be held. Write one record a line "
            "instead (jq -c '.[]' FILE)."
        )
    text, decoder = data.decode("utf-8", "replace"), json.JSONDecoder()
    place, line, counted = text.index("[") + 1, 1, 0
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        line, counted = line + text.count("\n", counted, place), place
        if text.startswith("]", place):
            return
        try:
            record, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            yield Skip(NOT_JSON, f"line {line} and all behind it")
            return
        yield _page(record, line)


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
