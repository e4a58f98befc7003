"""Reading answers: what a text in one of the layouts shows, whoever wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentworld_envs.domains.search.calls import Layout
from agentworld_envs.domains.search.rendering import RULE

_FENCED = re.compile(r"```\w*\n(.*)\n```", re.DOTALL)
_QWEN = re.compile(
    r"^\[(?P<number>\d{1,6})\] (?P<url>\S{1,6200})[ ]*\nTitle: (?P<title>[^\n]*)\nSnippet: (?P<snippet>[^\0]*?)"
    r"(?:\nDate: (?P<date>[^\n]*))?(?=\n\n|\n*\Z)",
    re.MULTILINE,
)
_LITE = re.compile(
    r"^(?P<number>\d{1,6})\. \[(?P<title>[^\n]{0,1000})\]\((?P<url>[^\s]{1,6200})\)\n(?P<snippet>[^\n]*)", re.MULTILINE
)
_NOTHING = re.compile(r"^No results(?: for |:)", re.MULTILINE)
_TITLE = re.compile(r"# (?P<title>[^\n]+)(?:\n|\Z)")
_PART = re.compile(r"\n\n\(Part (?P<part>\d{1,6}) of (?P<total>\d{1,6})\.[^()\n]*\)\Z")
_VISITED = re.compile(r"Page: (?P<url>[^\n]+)\n(?:Title: (?P<title>[^\n]*)|Error: (?P<error>[^\n]*))")


@dataclass(frozen=True, slots=True)
class Shown:
    """One result as it was shown."""

    url: str
    title: str
    snippet: str
    date: str | None = None


def read_results(text: str, layout: Layout) -> list[Shown] | None:
    """The results in the answer to a search, in order; `None` when it shows none and does not say so either."""
    text = _unfenced(text)
    pattern = _QWEN if layout == "qwen" else _LITE
    found = [
        Shown(match["url"], match["title"].strip(), match["snippet"].strip(), match.groupdict().get("date"))
        for match in pattern.finditer(text)
    ]
    return found if found or _NOTHING.search(text) else None


def page_title(text: str) -> str | None:
    """The title of a page that `web_extractor` shows; `None` when the text is no page."""
    match = _TITLE.match(_unfenced(text).lstrip("\n"))
    return None if match is None else match["title"].strip()


def page_body(text: str) -> tuple[str, int, int]:
    """Text of a page without its title, which part of it that is, and how many there are. Joined, the parts are the
    page."""
    _, _, body = _unfenced(text).lstrip("\n").partition("\n")
    body = body.removeprefix("\n")
    match = _PART.search(body)
    if match is None:
        return body, 1, 1
    return body[: match.start()], int(match["part"]), int(match["total"])


def read_visit(text: str) -> list[tuple[str, str | None]]:
    """Pages in the answer to `visit`: address, and title, `None` for one that could not be opened."""
    found = []
    for part in _unfenced(text).split(f"\n{RULE}\n"):
        match = _VISITED.match(part.lstrip("\n"))
        if match is not None:
            found.append((match["url"].strip(), match["title"]))
    return found


def _unfenced(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return fenced[1] if fenced else text
