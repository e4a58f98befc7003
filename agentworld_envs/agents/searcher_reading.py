"""`Statement`: one thing that a page says, whether in a sentence, a row of a table, an infobox or a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from agentworld_envs.agents.searcher_words import names_in, stems_of

_MOST_STATEMENTS: Final = 1_500
_LONGEST: Final = 2_000
_MARKS: Final = re.compile(r"\*\*|__|`|\[\^?\d+\]")
_LINK: Final = re.compile(r"\[([^\]\n]{1,200})\]\([^)\n]{1,500}\)")
_SENTENCE: Final = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bSt\.)\s+(?=[\"\u201c'(A-Z0-9])")
_LABEL: Final = re.compile(r"\s*(?:[-*+]\s+)?([^\W\d][^:|.;!?\n]{0,40}?)\s*(?::\s+|\s+[\u2013\u2014]\s+)(\S.*)")
_HEADING: Final = re.compile(r"\s*#{1,6}\s+(.*?)\s*#*\s*")
_ITEM: Final = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_RULE: Final = re.compile(r"\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?::?-{2,}:?)?\s*|\s*-{3,}\s*")
_SUFFIX: Final = re.compile(r"\s+(?:\([^()]*\)|[-\u2013\u2014|]\s.*)$")
_ABOUT_PAGE: Final = frozenset({"url", "title", "date", "source", "part", "page", "goal"})
_ANSWERED: Final = re.compile(r"([^?]{8,300}\?)\s+(\S.{0,300})")
_VALUE: Final = 0.2
_SECOND: Final = 0.5
_STATE: Final = re.compile(r"[^:.|]{0,40}?\b(\d{4}(?:-\d\d){0,2}):\s+")
"""What a statement says at its start of the time it is of."""
_AS_OF: Final = re.compile(
    r"\b(?:as of|as at|dated|in early|in late|updated(?: in| on)?|status)\s+(?:\w+\s+){0,2}?(\d{4}(?:-\d\d){0,2})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that a page says."""

    text: str
    """In full, in one line."""
    title: str
    """Of the page."""
    label: str = ""
    """What an infobox or the head of a column calls it; empty in prose."""
    value: str = ""
    """What stands under that label."""
    date: str = ""
    """What the statement or else its page says it is of; empty when nothing does."""
    section: str = ""
    """The heading that it stands under."""
    line: str = ""
    """The paragraph, row or item that it is part of."""

    subject: str = ""
    """Whom a row of a table is about; empty when that is left to the label, the heading or the title."""

    def stems(self) -> frozenset[str]:
        """Stems of what it says, without its title."""
        return stems_of(self.label or self.text)

    def about(self, name: str) -> float:
        """How likely it speaks of a name, in [0, 1]: its row, its label, its page or its heading does, or the sentence
        itself; less when the name is only the value, or stands beside it."""
        if not name:
            return 0.0
        if self.subject:
            return 1.0 if self.subject.casefold() == name.casefold() else _VALUE * says(self.text, name)
        title = plain_title(self.title)
        if title.casefold() == name.casefold() or says(self.label, name):
            return 1.0
        if not self.label and says(self.text, name):
            others = [other for other in names_in(self.text) if not says(other, name)]
            if title in others:  # what a page says of its own, with the name beside it
                return _VALUE
            return _SECOND if others and self.text.find(others[0]) < self.text.find(name) else 1.0
        if says(self.section, name):
            return 0.8
        return (_VALUE if self.label else 0.5) * says(self.line, name)


def says(text: str, name: str) -> bool:
    """Whether a text has a name, as whole words."""
    low, name = text.casefold(), name.casefold()
    at = low.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not (at and low[at - 1].isalnum()) and not (end < len(low) and low[end].isalnum()):
            return True
        at = low.find(name, at + 1)
    return False


def plain_title(title: str) -> str:
    """A title without what tells it from others of the same name: `Ann Bell (painter)`, `Ann Bell - Almanac`."""
    return _SUFFIX.sub("", title).strip()


def statements(text: str, title: str, date: str = "") -> list[Statement]:
    """What a page says, in order.

    Args:
        text: the page, as Markdown or plain text.
        title: of the page.
        date: of the page, empty when nobody knows.
    """
    found: list[Statement] = []
    section = ""
    header: list[str] = []
    for line in text.splitlines():
        line = " ".join(_LINK.sub(r"\1", _MARKS.sub("", line[:_LONGEST])).split())
        if not line:
            header = []
            continue
        heading = _HEADING.fullmatch(line)
        if heading:
            section, header = ("" if heading[1] == title else heading[1]), []
        elif line.count("|") >= 2 or (header and "|" in line):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if _RULE.fullmatch(line):
                continue
            if not header and len(cells) > 2:
                header = cells
            else:
                found += _row(cells, header, title, date, section)
        else:
            found += _line(line, title, date, section)
        if len(found) >= _MOST_STATEMENTS:
            break
    return found


def _row(cells: Sequence[str], header: Sequence[str], title: str, date: str, section: str) -> Iterator[Statement]:
    """A row of two cells is a label with its value; a longer one says something under every head."""
    text = " | ".join(cells)
    date = _dated(text, date)
    if len(cells) == 2 and len(header) != 2:
        yield Statement(text, title, cells[0], cells[1], date, section, text)
        return
    for head, cell in zip(header, cells, strict=False):
        if cell:
            yield Statement(text, title, head, cell, date, section, text, subject=cells[0])


def _line(line: str, title: str, date: str, section: str) -> Iterator[Statement]:
    answered = _ANSWERED.fullmatch(line)
    if answered:
        date = _dated(line, date)
        yield Statement(line, title, _undated(answered[1]), answered[2].rstrip("."), date, section, line)
        return
    label = _LABEL.fullmatch(line) if _STATE.match(line) is None else None
    if label and len(label[1].split()) <= 5:
        if label[1].strip().lower() not in _ABOUT_PAGE or section:
            text = line.strip()
            yield Statement(text, title, label[1].strip(), label[2].rstrip(". "), _dated(line, date), section, text)
        return
    item = _ITEM.fullmatch(line)
    for sentence in _SENTENCE.split(item[1] if item else line):
        if sentence.strip():
            yield Statement(_undated(sentence.strip()), title, "", "", _dated(sentence, date), section, line)


def _dated(text: str, date: str) -> str:
    """What a statement says it is of, else its page's date."""
    match = _STATE.match(text) or _AS_OF.search(text)
    return match[1] if match else date


def _undated(text: str) -> str:
    """Without the time that it starts with: `As of 2031: ...`."""
    return _STATE.sub("", text, count=1)
