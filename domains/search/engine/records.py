"""What the readers of corpora share: limits, addresses, and the page or the reason that comes out of a record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.pages import Page

MAX_TEXT: Final = 2_000_000
"""Characters of a page. Longer ones are left out."""
MAX_BYTES: Final = 16_000_000
"""Of one record or file."""
MAX_TITLE: Final = 300
HOST: Final = "https://corpus.local/"
"""Where pages without an address lie. `.local` is no name of the public web."""

NOT_JSON, NO_TEXT, EMPTY, TOO_LONG = "not JSON", "no text", "empty", "too long"
BAD_ADDRESS, UNREADABLE, OTHER_KIND = "bad address", "unreadable", "other kind of file"

_DATE: Final = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?(?=$|[T ])")
_LONG_ID: Final = 500


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that is no page."""

    reason: str
    place: str = ""
    """Where it stands: a line, or the name of a file."""
    fields: tuple[str, ...] = ()
    """Names that a record without text has."""


def make_page(
    name: str, url: str | None, title: str, text: str, date: object = None, withheld: Sequence[str] = ()
) -> Page | Skip:
    """A page out of the fields of a record, or why it is none."""
    text = text.replace("\r\n", "\n").replace("\ufeff", "").strip()
    title = " ".join(title.split())[:MAX_TITLE]
    if not text:
        return Skip(EMPTY)
    if len(text) > MAX_TEXT:
        return Skip(TOO_LONG)
    try:
        address = canonical(url if url else local_url(name))
    except BadURL:
        return Skip(BAD_ADDRESS)
    return Page(name, address, title or first_line(text), text, iso_date(date), tuple(withheld))


def local_url(name: str) -> str:
    """The address of a page that has none."""
    return HOST + quote(name[:_LONG_ID].strip("/"), safe="/-._~", errors="replace")


def iso_date(value: object) -> str | None:
    """The day of an ISO 8601 date or time; `None` for anything else."""
    found = _DATE.match(value.strip()) if isinstance(value, str) else None
    return found[0] if found else None


def first_line(text: str) -> str:
    """A title for a page that has none."""
    line = next((line for line in text.split("\n", 20) if line.strip()), text).strip().lstrip("#").strip()
    return line if len(line) <= 80 else line[:77].rsplit(" ", 1)[0] + "..."
