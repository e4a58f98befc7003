"""Corpora that are a folder of Markdown, HTML and text files."""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from agentworld_envs.domains.search.engine.markup import to_markdown
from agentworld_envs.domains.search.engine.records import (
    MAX_BYTES,
    OTHER_KIND,
    TOO_LONG,
    UNREADABLE,
    Skip,
    local_url,
    make_page,
)
from agentworld_envs.domains.search.pages import Page

_MARKDOWN: Final = (".md", ".markdown", ".txt")
_HTML: Final = (".html", ".htm", ".xhtml")
_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FIELD: Final = re.compile(r"([A-Za-z_]+):[ \t]*(.*)")
_CHARSET: Final = re.compile(rb"""<meta[^>]{0,200}charset=["']?([A-Za-z0-9_-]{1,40})""", re.IGNORECASE)


def read_folder(root: Path) -> Iterator[Page | Skip]:
    """The pages of a folder and its sub-folders, by name. Hidden files and links are passed over."""
    for parent, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in sorted(files):
            path = Path(parent, file)
            if not file.startswith(".") and not path.is_symlink():
                name = path.relative_to(root).as_posix()
                made = read_file(path, name)
                yield replace(made, place=name) if isinstance(made, Skip) else made


def read_file(path: Path, name: str) -> Page | Skip:
    """The page of one file. `name` is its path in the corpus, with slashes."""
    kind = path.suffix.lower()
    if kind not in _MARKDOWN + _HTML:
        return Skip(OTHER_KIND)
    try:
        if path.stat().st_size > MAX_BYTES:
            return Skip(TOO_LONG)
        data = path.read_bytes()
    except OSError:
        return Skip(UNREADABLE)
    name = name.encode("utf-8", "replace").decode()  # names need not be text
    if kind in _HTML:
        html = to_markdown(_decoded(data), local_url(name))
        return make_page(name, html.url, html.title or path.stem, html.text, html.date)
    return _markdown(_decoded(data).replace("\r\n", "\n"), name, path.stem)


def _markdown(text: str, name: str, stem: str) -> Page | Skip:
    """Title, address and date are in the front matter; else the first heading is the title."""
    about: dict[str, str] = {}
    front = _FRONT.match(text)
    if front is not None:
        for line in front[1].split("\n"):
            field = _FIELD.fullmatch(line.strip())
            if field is not None:
                about[field[1].lower()] = field[2].strip().strip("\"'")
        text = text[front.end() :]
    heading, rest = _heading(text)
    if heading and about.get("title", heading) == heading:
        about["title"] = heading
        text = rest
    return make_page(name, about.get("url"), about.get("title") or stem, text, about.get("date"))


def _heading(text: str) -> tuple[str, str]:
    """The heading of level 1 that a text begins with, empty when there is none, and what follows it."""
    line, _, rest = text.lstrip().partition("\n")
    if not line.startswith(("# ", "#\t")):
        return "", text
    inner = line[1:].strip(" \t")
    return inner.rstrip("#").rstrip(" \t") or inner[:1], rest


def _decoded(data: bytes) -> str:
    """UTF-8; else UTF-16 with its mark, or what the file says that it is, or Latin-1 as browsers read it.

    A file that is UTF-8 but for a few bytes stays so: these alone are replaced.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    plain = data.decode("utf-8-sig", "replace")
    wrong = plain.count("\ufffd")
    if sum(letter > "\x7f" for letter in plain) - wrong > wrong:
        return plain
    named = _CHARSET.search(data[:4096])
    for charset in ([named[1].decode()] if named else []) + ["cp1252"]:
        try:
            return data.decode(charset)
        except (LookupError, ValueError):
            continue
    return data.decode("latin-1")
