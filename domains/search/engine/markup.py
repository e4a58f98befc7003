"""HTML as Markdown: `to_markdown`. Headings, lists, tables, links and code stay; scripts and navigation go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin

_DROPPED: Final = frozenset(
    ("script", "style", "noscript", "template", "svg", "math", "nav", "iframe", "object", "select", "button", "head")
)
_BLOCK_TAGS: Final = (
    "p div section article main header footer aside figure figcaption address details summary dl dt dd form fieldset "
    "blockquote ul ol li table body html center hr h1 h2 h3 h4 h5 h6 pre tr td th caption thead tbody tfoot"
)
_BLOCKS: Final = frozenset(_BLOCK_TAGS.split())
_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_MARKS: Final = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "tt": "`", "kbd": "`"}
_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_DATES: Final = frozenset(("date", "article:published_time", "article:modified_time", "dc.date", "last-modified"))
_NESTED: Final = 16
"""Marks within marks; deeper ones are left out."""
_SCRIPT: Final = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARATION: Final = re.compile(r"<[!?][^>]*(?:>|\Z)")


@dataclass(frozen=True, slots=True)
class Html:
    """What an HTML page holds."""

    title: str
    """Of the head, else the first heading of level 1; empty when there is neither."""
    text: str
    url: str | None
    """The address that the page calls its own (`link rel="canonical"`)."""
    date: str | None
    """As its `meta` elements give it."""


def to_markdown(html: str, base: str) -> Html:
    """Convert a page. Whatever the input, it never raises; broken markup is read as browsers do, roughly.

    Args:
        html: the whole page.
        base: its address, that relative links start from.
    """
    # Without these the standard parser takes quadratic time over what is never closed.
    html = _DECLARATION.sub("", _COMMENT.sub("", _SCRIPT.sub("", html)))
    end = html.rfind(">") + 1
    converter = _Converter(base)
    converter.feed(html[:end] + html[end:].replace("<", "&lt;"))
    converter.close()
    return converter.result()


class _Converter(HTMLParser):
    """Collects blocks of Markdown while the parser calls it."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._blocks: list[tuple[str, bool]] = []
        """Text, and whether it is an item of a list: there is no blank line between two of them."""
        self._line: list[str] = []
        self._dropped: list[str] = []
        self._in_title = False
        self._title: list[str] = []
        self._heading = ""
        self._lists: list[int | None] = []
        """Open lists: `None` for bullets, else the number of the last item."""
        self._prefix = ""
        self._tables: list[list[list[str]]] = []
        self._links: list[tuple[str, int]] = []
        self._marks: list[tuple[str, int]] = []
        self._pre = 0
        self._quotes = 0
        self._url: str | None = None
        self._date: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._void(tag, {name: value or "" for name, value in attrs})
            return
        if tag == "title":
            self._in_title = not self._title
        elif tag in _DROPPED:
            self._dropped.append(tag)
        elif tag == "body":
            self._dropped.clear()  # a head that was never closed
        if self._dropped:
            return
        if tag in _BLOCKS:
            self._open_block(tag)
        elif tag == "a" and len(self._links) < _NESTED:
            self._links.append((next((value or "" for name, value in attrs if name == "href"), ""), len(self._line)))
        elif tag in _MARKS and not self._pre and len(self._marks) < _NESTED:
            self._marks.append((tag, len(self._line)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._dropped:
            while self._dropped.pop() != tag:
                pass
        elif not self._dropped:
            if tag in _BLOCKS:
                self._close_block(tag)
            elif tag == "a" and self._links:
                self._close_link()
            elif tag in _MARKS and self._marks and self._marks[-1][0] == tag:
                _, start = self._marks.pop()
                self._wrap(start, _MARKS[tag], _MARKS[tag])

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif not self._dropped:
            self._line.append(data)

    def result(self) -> Html:
        """What was collected."""
        self._flush()
        while self._tables:
            self._end_table()
        pieces: list[str] = []
        item = False
        for block, is_item in self._blocks:
            pieces += ["\n" if item and is_item else "\n\n", block]
            item = is_item
        title = " ".join("".join(self._title).split())
        return Html(title or self._heading, "".join(pieces).strip(), self._url, self._date)

    def _void(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "link" and attributes.get("rel", "").lower() == "canonical" and self._url is None:
            self._url = attributes.get("href", "").strip() or None
        elif tag == "meta" and self._date is None:
            name = attributes.get("property") or attributes.get("name") or attributes.get("http-equiv") or ""
            if name.lower() in _DATES:
                self._date = attributes.get("content") or None
        elif not self._dropped:
            if tag == "br":
                self._line.append("\n" if self._pre else " ")
            elif tag == "img" and attributes.get("alt"):
                self._line.append(attributes["alt"])
            elif tag == "hr":
                self._flush()

    def _open_block(self, tag: str) -> None:
        if tag in ("td", "th") and self._tables:
            self._end_cell()
            if not self._tables[-1]:
                self._tables[-1].append([])
            self._tables[-1][-1].append("")
            return
        if self._in_cell():
            if tag == "table":
                self._end_cell()
                self._tables.append([])
            elif tag == "tr":
                self._end_cell()
                self._tables[-1].append([])
            else:
                self._line.append(" ")
            return
        self._flush()
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        elif tag == "li":
            self._item()
        elif tag in _HEADINGS:
            self._prefix = "#" * int(tag[1]) + " "
        elif tag == "table":
            self._tables.append([])
        elif tag == "tr" and self._tables:
            self._tables[-1].append([])
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._pre += 1

    def _close_block(self, tag: str) -> None:
        if self._tables and (self._in_cell() or tag == "table"):
            if tag in ("td", "th", "tr", "table"):
                self._end_cell()
            if tag == "table":
                self._end_table()
            return
        if tag in _HEADINGS and not self._heading and self._prefix == "# ":
            self._heading = " ".join("".join(self._line).split())
        self._flush()
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        elif tag == "blockquote":
            self._quotes = max(0, self._quotes - 1)
        elif tag == "pre":
            self._pre = max(0, self._pre - 1)

    def _item(self) -> None:
        depth = max(0, len(self._lists) - 1)
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        self._prefix = "  " * min(depth, 8) + ("- " if number is None else f"{number + 1}. ")

    def _flush(self) -> None:
        """End the current block."""
        raw = "".join(self._line)
        self._line.clear()
        self._links.clear()
        self._marks.clear()
        if self._pre:
            text = f"```\n{raw.strip(chr(10))}\n```" if raw.strip() else ""
        else:
            text = " ".join(raw.split())
        if not text:
            return
        quote = "> " * min(self._quotes, 4)
        block = "\n".join(quote + line for line in (self._prefix + text).split("\n"))
        self._blocks.append((block, self._prefix.lstrip()[:1] not in ("", "#")))
        self._prefix = ""

    def _in_cell(self) -> bool:
        return bool(self._tables and self._tables[-1] and self._tables[-1][-1])

    def _end_cell(self) -> None:
        if self._in_cell():
            row = self._tables[-1][-1]
            text = " ".join(("".join(self._line)).split()).replace("|", "\\|")
            row[-1] = f"{row[-1]} {text}".strip()
            self._line.clear()
            self._links.clear()
            self._marks.clear()

    def _end_table(self) -> None:
        rows = [row for row in self._tables.pop() if any(row)]
        if self._in_cell():  # a table for layout, within another
            self._line.append(" ".join(" ".join(row) for row in rows))
        elif rows and max(map(len, rows)) == 1:
            self._blocks += [(row[0].replace("\\|", "|"), False) for row in rows]
        elif rows:
            width = max(map(len, rows))
            lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in rows]
            self._blocks.append(("\n".join([lines[0], "|" + "---|" * width, *lines[1:]]), False))

    def _close_link(self) -> None:
        href, start = self._links.pop()
        try:
            target = urljoin(self._base, href.strip())
        except ValueError:
            return
        if href and not href.startswith("#") and target.startswith(("http://", "https://")) and " " not in target:
            self._wrap(start, "[", f"]({target})")

    def _wrap(self, start: int, before: str, after: str) -> None:
        """Put marks around what came since `start`, but not around the space at its ends."""
        text = "".join(self._line[start:])
        inner = text.strip()
        if inner and start <= len(self._line):
            left = text[: len(text) - len(text.lstrip())]
            right = text[len(text.rstrip()) :]
            self._line[start:] = [f"{left}{before}{inner}{after}{right}"]
