"""OS: Python or one call in, the desktop's accessibility tree out (OSWorld-Verified)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, DomainCodec, Reader
from agentworld_envs.backends.world_model.codecs.values import format_expression, parse_expression

WORDS: Final = ("WAIT", "DONE", "FAIL")
"""OSWorld's actions that are no code."""


@dataclass(frozen=True, slots=True)
class AccessibilityTable:
    """OSWorld's linearised tree: a header and one element a line, columns divided by tabs."""

    form: ClassVar[str] = "table"
    columns: tuple[str, ...]
    """Such as tag, name, text, class, description, position, size."""
    rows: tuple[tuple[str, ...], ...]
    """Cells by row; a row may be shorter or longer than the header, as texts have line breaks."""

    def render(self) -> str:
        return "\n".join("\t".join(row) for row in (self.columns, *self.rows))


def read_table(text: str) -> AccessibilityTable | None:
    """A table, `None` when the first line has no tabs."""
    first, *rest = text.split("\n")
    if "\t" not in first:
        return None
    return AccessibilityTable(tuple(first.split("\t")), tuple(tuple(line.split("\t")) for line in rest))


class OSCodec(DomainCodec):
    """Free Python in a `python` fence, or one call such as `pyautogui.click(129, 392)` in a `text` fence.

    Code is text here: it is never run.
    """

    name = "os"
    language = "python"
    forms = ("python", "call", "word")

    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        if language == "python":
            return (Call("python", {"code": text}, (), "python"),)
        if text.strip() in WORDS:
            return (Call(text.strip(), {}, (), "word"),)
        call = parse_expression(text, "call")
        return None if call is None else (call,)

    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        if len(calls) != 1:
            raise ValueError(f"expected one call, got {len(calls)}")
        [call] = calls
        if call.form == "python":
            return str(call.arguments["code"]), "python"
        if call.form == "word":
            return call.name, "text"
        return format_expression(call), "text"

    def readers(self) -> Sequence[Reader]:
        return (read_table,)
