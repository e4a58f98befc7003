"""MCP: tool calls in JSON, the raw return of the tool (MCPMark, Tool Decathlon)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentworld_envs.backends.world_model.codecs.base import Call, DomainCodec, Reader
from agentworld_envs.backends.world_model.codecs.values import STYLES, format_json_calls, load_json, parse_json_calls


@dataclass(frozen=True, slots=True)
class JSONAnswer:
    """A JSON object or array, with the layout that it was written in."""

    form: ClassVar[str] = "json"
    value: Any
    style: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `json.dumps`."""

    def render(self) -> str:
        return json.dumps(self.value, **self.style)


@dataclass(frozen=True, slots=True)
class TextContent:
    """MCP's text contents, `{"type": "text", "text": ...}`, one or a list of them."""

    form: ClassVar[str] = "text_content"
    texts: tuple[str, ...]
    listed: bool = False
    """Whether they stand in a list."""
    style: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_error(self) -> bool:
        """Whether it says that the call failed, in the words of the usual servers."""
        return any(text.startswith(("Error calling tool", "Error:", "status: error")) for text in self.texts)

    def render(self) -> str:
        contents = [{"type": "text", "text": text} for text in self.texts]
        return json.dumps(contents if self.listed else contents[0], **self.style)


def read_json_answer(text: str) -> JSONAnswer | None:
    """A JSON object or array in one of the usual layouts; plain numbers and words are text."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value = load_json(text)
    except ValueError:
        return None
    for style in STYLES:
        answer = JSONAnswer(value, style)
        if answer.render() == text:
            return answer
    return None


def read_text_content(text: str) -> TextContent | None:
    """Text contents, `None` when it is something else."""
    answer = read_json_answer(text)
    if answer is None:
        return None
    listed = isinstance(answer.value, list)
    entries = answer.value if listed else [answer.value]
    if not entries or not all(_is_text(entry) for entry in entries):
        return None
    return TextContent(tuple(entry["text"] for entry in entries), listed, answer.style)


def _is_text(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and list(entry) == ["type", "text"]
        and entry["type"] == "text"
        and isinstance(entry["text"], str)
    )


class JSONCallCodec(DomainCodec):
    """A domain whose actions are `{"name": ..., "arguments": ...}`; arguments are an object or JSON in a string."""

    forms = ("json", "json_string", "json_list", "json_string_list")

    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        return parse_json_calls(text)

    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        return format_json_calls(calls), self.language


class MCPCodec(JSONCallCodec):
    """Tool calls; what a tool returns is not wrapped again, so that any text is an answer."""

    name = "mcp"

    def readers(self) -> Sequence[Reader]:
        return (read_text_content, read_json_answer)
