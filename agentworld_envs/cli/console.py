"""Writing to a terminal, a pipe or a file: what every command shares."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

# Line breaks and tabs are the only control characters that an observation may use on the reader's terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def stdout() -> Console:
    """For results. Plain, without colours, when it is no terminal."""
    return Console(highlight=False)


def stderr() -> Console:
    """For progress and errors."""
    return Console(stderr=True, highlight=False)


def visible(text: str) -> str:
    """`text` with control characters spelt out: what a model writes must not steer the terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def say(console: Console, text: str, style: str = "") -> None:
    """Write text as it is: no markup, and in a pipe or file no line breaks of our own."""
    console.print(Text(visible(text), style=style), soft_wrap=not console.is_terminal)


def show_error(error: Exception) -> None:
    """One message in red on stderr, without a traceback."""
    say(stderr(), f"Error: {error}", style="red")


class PlainTable(Table):
    """A table whose strings are shown as they are: names of models and domains are no markup."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        super().add_row(*(Text(visible(cell)) if isinstance(cell, str) else cell for cell in cells), **options)


def plain_table(*columns: str) -> PlainTable:
    """A table that stays readable in a narrow terminal and in a log."""
    table = PlainTable(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(Text(visible(column)), overflow="fold")
    return table
