"""Web: browser calls in, pages as accessibility snapshots out (WebArena-Verified, BrowserGym, Playwright)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, DomainCodec, Reader
from agentworld_envs.backends.world_model.codecs.values import (
    format_expression,
    format_json_calls,
    parse_expression,
    parse_json_calls,
)

BROWSERGYM: Final[dict[str, tuple[str, ...]]] = {
    "noop": ("wait_ms",),
    "mouse_move": ("x", "y"),
    "mouse_click": ("x", "y", "button"),
    "mouse_dblclick": ("x", "y", "button"),
    "mouse_down": ("x", "y", "button"),
    "mouse_up": ("x", "y", "button"),
    "scroll": ("delta_x", "delta_y"),
    "click": ("bid", "button", "modifiers"),
    "keyboard_press": ("key",),
    "keyboard_type": ("text",),
    "fill": ("bid", "value", "enable_autocomplete_menu"),
    "hover": ("bid",),
    "tab_focus": ("index",),
    "new_tab": (),
    "go_back": (),
    "go_forward": (),
    "goto": ("url",),
    "tab_close": (),
    "select_option": ("bid", "options"),
    "send_msg_to_user": ("text",),
    "report_infeasible": ("reason",),
}
"""The 21 calls that the domain's prompt lists, with their parameters in order."""
ENDING: Final = frozenset({"send_msg_to_user", "report_infeasible"})
"""Calls that end an episode; code decides that, not the model."""

_SECTION: Final = re.compile(r"^### (.+)$", re.MULTILINE)
_NODE: Final = re.compile(r'^(?P<indent> *)- (?P<role>[a-z]+)(?: "(?P<name>(?:[^"\\]|\\.)*)")?(?P<rest>.*)$')
_REF: Final = re.compile(r"\[ref=(\w+)\]")
_PLAYWRIGHT: Final = "browser_"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under its `###` header."""

    title: str
    body: str
    """What follows the title's line, line breaks included."""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of a snapshot: `- button "Save" [ref=e12]`."""

    depth: int
    """Spaces before it."""
    role: str
    name: str
    """As it is written, escapes included."""
    ref: str
    """Empty when it has none."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer in the sections of Playwright's MCP server: Ran Playwright code, Page, Snapshot, Events, Result, ..."""

    form: ClassVar[str] = "page"
    sections: tuple[Section, ...]
    lead: str = ""
    """What stands before the first section."""

    def render(self) -> str:
        return self.lead + "".join(f"### {section.title}{section.body}" for section in self.sections)

    def section(self, title: str) -> str:
        """The text of a section without the line breaks around it, empty when there is none."""
        return next((section.body.strip("\n") for section in self.sections if section.title == title), "")

    @property
    def url(self) -> str:
        return self._field("Page URL")

    @property
    def title(self) -> str:
        return self._field("Page Title")

    def _field(self, name: str) -> str:
        match = re.search(rf"^- {name}: ?(.*)$", self.section("Page"), re.MULTILINE)
        return match[1] if match else ""

    def nodes(self) -> list[Node]:
        """The elements of the snapshot, in order."""
        found = []
        for line in self.section("Snapshot").split("\n"):
            match = _NODE.match(line)
            if match:
                ref = _REF.search(match["rest"])
                found.append(Node(len(match["indent"]), match["role"], match["name"] or "", ref[1] if ref else ""))
        return found


def read_page(text: str) -> Page | None:
    """A page in sections, `None` when it has no section."""
    heads = list(_SECTION.finditer(text))
    if not heads:
        return None
    ends = [head.start() for head in heads[1:]] + [len(text)]
    sections = tuple(Section(head[1], text[head.end() : end]) for head, end in zip(heads, ends, strict=True))
    return Page(sections, text[: heads[0].start()])


class WebCodec(DomainCodec):
    """One call a line: `browser_click(element="Save", ref="e12")` (Playwright) or `click("12")` (BrowserGym).

    Tool calls in JSON are read as well.
    """

    name = "web"
    language = "text"
    forms = ("call", "json", "json_string", "json_list", "json_string_list")

    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        if text.lstrip()[:1] in ("{", "["):
            return parse_json_calls(text)
        one = parse_expression(text, "call")
        if one is not None:
            return (one,)
        calls = [parse_expression(line, "call") for line in text.split("\n") if line.strip()]
        full = tuple(call for call in calls if call is not None)
        return full if full and len(full) == len(calls) else None

    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        if any(call.form != "call" for call in calls):
            return format_json_calls(calls), "json"
        return "\n".join(format_expression(call) for call in calls), self.language

    def readers(self) -> Sequence[Reader]:
        return (read_page,)


def dialect(call: Call) -> str:
    """`browsergym`, `playwright`, or empty for a call of neither."""
    if call.name in BROWSERGYM:
        return "browsergym"
    return "playwright" if call.name.startswith(_PLAYWRIGHT) else ""


def named_arguments(call: Call) -> dict[str, Any]:
    """All arguments of one of the 21 calls by name.

    Raises:
        ValueError: it is none of them, or it has more arguments than the call takes.
    """
    if call.name not in BROWSERGYM:
        raise ValueError(f"expected one of {', '.join(BROWSERGYM)}, got {call.name}")
    names = BROWSERGYM[call.name]
    if len(call.positional) > len(names):
        raise ValueError(f"{call.name} takes {len(names)} arguments, got {len(call.positional)}")
    given = dict(zip(names, call.positional, strict=False))
    unknown = (set(call.arguments) - set(names)) | (set(call.arguments) & set(given))
    if unknown:
        raise ValueError(f"{call.name} has no argument {', '.join(sorted(unknown))} left; it takes {', '.join(names)}")
    return given | dict(call.arguments)
