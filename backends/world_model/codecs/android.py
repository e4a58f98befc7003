"""Android: three ways to write an action, three ways to write a screen (AndroidWorld and two that the data mix in)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, DomainCodec, Reader
from agentworld_envs.backends.world_model.codecs.values import dump_json, load_json

_INVOKE: Final = re.compile(r'<invoke name="([^"<>]*)">\n?(.*?)\n?</invoke>', re.DOTALL)
_PARAMETER: Final = re.compile(r'<parameter name="([^"<>]*)">(.*?)</parameter>\n?', re.DOTALL)
_TOUCH: Final = re.compile(
    r"(touch|long_touch|select|unselect|set_text|scroll up|scroll down|scroll left|scroll right) (<.*)", re.DOTALL
)
_ELEMENT: Final = re.compile(r"<([A-Za-z]+)((?: [^<>]*)?)>")
_INTENT: Final = re.compile(r"intent (.*)", re.DOTALL)
_INDEXED: Final = re.compile(
    r"\[( *)(\d{1,6})\] \| ([^|\n]*?) \| (.*) \| bounds=\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\](?: \| (.*))?"
)
_NUMBERED: Final = re.compile(r"(\d{1,6})\. ([\w.$]+): (.*) - \((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)")
_TREE: Final = re.compile(r"( *)- ([\w.$]+)(.*?) bounds=(.*)")


@dataclass(frozen=True, slots=True)
class Node:
    """An element of the screen, from its line."""

    widget: str
    """Class, such as `android.widget.Button` or `TextView`."""
    label: str
    """Texts, description and resource, as they are written."""
    bounds: tuple[int, ...]
    """Left, top, right, bottom in pixels; empty where the tree writes something else."""
    index: int | None = None
    depth: int = 0
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """Lines of a screen; those that are elements are known by `nodes`."""

    form: ClassVar[str] = "screen"
    lines: tuple[str, ...]
    nodes: tuple[Node, ...]
    """Elements, in order. Read from the lines, which stay what is written."""

    def render(self) -> str:
        return "\n".join(self.lines)


def read_node(line: str) -> Node | None:
    """The element in one line of any of the three ways, `None` when it is something else (a header, the keyboard)."""
    match = _INDEXED.fullmatch(line)
    if match:
        return Node(match[3], match[4], _numbers(match, 5), int(match[2]), 0, match[9] or "")
    match = _NUMBERED.fullmatch(line)
    if match:
        return Node(match[2], match[3], _numbers(match, 4), int(match[1]))
    match = _TREE.fullmatch(line)
    if match:
        bounds = tuple(int(number) for number in re.findall(r"-?\d{1,9}", match[4]))
        return Node(match[2], match[3].strip(), bounds if len(bounds) == 4 else (), None, len(match[1]))
    return None


def _numbers(match: re.Match[str], first: int) -> tuple[int, ...]:
    return tuple(int(match[group][:10]) for group in range(first, first + 4))


def read_screen(text: str) -> Screen | None:
    """A screen with at least one element, `None` otherwise."""
    lines = tuple(text.split("\n"))
    nodes = tuple(node for node in map(read_node, lines) if node is not None)
    return Screen(lines, nodes) if nodes else None


class AndroidCodec(DomainCodec):
    """Forms of actions:

    * `action_type`: `{"action_type": "click", "index": 3}`; the call's name is the type.
    * `action`: `{"action": "click", "coordinate": [1, 2]}`; likewise.
    * `invoke`: `<invoke name="phone"><parameter name="action">click</parameter>...</invoke>`; values are text.
    * `droidbot`: `touch <button id=3 bound_box=1,2,3,4>OK</button>`; arguments `tag`, `attributes`, `text` and, for
      `set_text`, `value`. `scroll` has its direction in the name (`scroll up`); `intent` has `command`.
    """

    name = "android"
    forms = ("action_type", "action", "invoke", "droidbot")
    state_header = "Current Phone State"
    """As in the rows of the form `invoke`; the others say `Current State`, and both are read."""

    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        start = text.lstrip()[:1]
        call = _parse_json(text) if start == "{" else _parse_invoke(text) if start == "<" else _parse_droidbot(text)
        return None if call is None else (call,)

    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        if len(calls) != 1:
            raise ValueError(f"expected one call, got {len(calls)}")
        [call] = calls
        if call.form in ("action_type", "action"):
            return dump_json({call.form: call.name, **call.arguments}), "json"
        if call.form == "invoke":
            return _format_invoke(call), "xml"
        return _format_droidbot(call), "text"

    def readers(self) -> Sequence[Reader]:
        return (read_screen,)


def _parse_json(text: str) -> Call | None:
    try:
        data: Any = load_json(text)
    except ValueError:
        return None
    for form in ("action_type", "action"):
        if isinstance(data, dict) and isinstance(data.get(form), str):
            return Call(data[form], {key: value for key, value in data.items() if key != form}, (), form)
    return None


def _parse_invoke(text: str) -> Call | None:
    match = _INVOKE.fullmatch(text.strip())
    if match is None or _PARAMETER.sub("", match[2]).strip():
        return None
    values = {name: _unescaped(value) for name, value in _PARAMETER.findall(match[2])}
    return Call(match[1], values, (), "invoke")


def _format_invoke(call: Call) -> str:
    inner = "".join(f'<parameter name="{key}">{_escaped(value)}</parameter>' for key, value in call.arguments.items())
    return f'<invoke name="{call.name}">{inner}</invoke>'


def _escaped(value: Any) -> str:
    """Text that cannot close its element; all else stays as it is, as in the data."""
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&amp;", "&")


def _parse_droidbot(text: str) -> Call | None:
    if text == "kill_app" or (text.startswith("kill_app ") and "\n" not in text):
        return Call("kill_app", {"app": text[9:]} if text[8:] else {}, (), "droidbot")
    intent = _INTENT.fullmatch(text)
    if intent:
        return Call("intent", {"command": intent[1]}, (), "droidbot")
    match = _TOUCH.fullmatch(text)
    element = _ELEMENT.match(match[2]) if match else None
    if match is None or element is None:
        return None
    verb, rest, tag = match[1], match[2][element.end() :], element[1]
    arguments = {"tag": tag, "attributes": element[2].removeprefix(" ")}
    closing = f"</{tag}>"
    # The value that is set comes last and may hold anything, so its element ends at the first closing tag.
    at = rest.find(closing) if verb == "set_text" else rest.rfind(closing)
    if at < 0:
        return Call(verb, arguments, (), "droidbot") if verb.startswith("scroll") and not rest else None
    arguments["text"] = rest[:at]
    behind = rest[at + len(closing) :]
    if verb == "set_text" and behind.startswith(" "):
        arguments["value"] = behind[1:]
    elif behind or verb == "set_text":
        return None
    return Call(verb, arguments, (), "droidbot")


def _format_droidbot(call: Call) -> str:
    values = call.arguments
    if call.name == "kill_app":
        return f"kill_app {values['app']}" if values else "kill_app"
    if call.name == "intent":
        return f"intent {values['command']}"
    attributes = f" {values['attributes']}" if values["attributes"] else ""
    text = f"{call.name} <{values['tag']}{attributes}>"
    if "text" in values:
        text += f"{values['text']}</{values['tag']}>"
    return f"{text} {values['value']}" if "value" in values else text
