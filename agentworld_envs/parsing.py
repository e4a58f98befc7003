"""One parser for the actions of all domains: from a model's text to a tool call.

In this order, first match wins:

1. `<think>...</think>` and the chat tokens around an answer are removed;
2. a tool call: OpenAI's `{"tool_calls": [...]}` or `{"function": {...}}`, `{"name": ..., "arguments": ...}` (arguments
   may be a JSON string), `<tool_call>...</tool_call>` (around bare text, too), or an object of the arguments of the
   default tool, or of the tool for answers. What begins like a call and is no JSON is refused, and so are several
   calls;
3. a JSON list that reaches to the end of the text (the keystrokes of a terminal);
4. the last `<answer>...</answer>`, where the domain has a tool for answers, which gets all that stands inside, unless a
   tool call follows;
5. the last `<action>...</action>`;
6. the last fenced block;
7. the last line that is not empty, which may be a tool call again. (Where one command may have several lines, as in
   a shell, bare text of several lines is refused: nobody could tell prose from command.)

What stands inside a tool call or a fence is never changed. Bare text calls the domain's default tool. Nothing here
raises on what an agent writes: what cannot be understood becomes a `Rejection`, whose text is the observation that the
agent gets.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_envs.interface import Action, ConfigError, json_type

MAX_ACTION_CHARS = 32_768
"""A longer action is refused unread."""
_MOST_TRIES = 20

_THINK_OPEN = re.compile(r"<think>", re.IGNORECASE)
_THINK_CLOSE = re.compile(r"</think>", re.IGNORECASE)
_SPECIAL = r"(?:<\|im_start\|>\s*assistant\b|<\|[a-zA-Z_]{1,32}\|>|</s>|<s>)"
_LEADING = re.compile(rf"(?:\s*{_SPECIAL})+")
_TRAILING = re.compile(rf"(?:{_SPECIAL}\s*)+\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
_CALL_LIKE = re.compile(r"\[?\s*\{\s*[\"'](?:name|function|tool_calls|arguments)[\"']\s*:")
"""How nothing but a tool call begins; `{ echo a; }` does not."""
_BETWEEN_CALLS = re.compile(r"[\s,;]*")
_DECODER = json.JSONDecoder(strict=False)  # models often write real line breaks into strings
_PLAIN = re.compile(r"[^<{\[`\n\r]*\Z")
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Rejection:
    """An action that could not be understood."""

    observation: str
    """What the agent is told."""
    command: str = ""
    """What was understood of it, for `info["command"]`."""


class ActionParser:
    """Parses actions against the tools of one task."""

    def __init__(
        self,
        tools: Sequence[Mapping[str, Any]],
        default_tool: str,
        *,
        multiline: bool = False,
        answer_tool: str | None = None,
    ) -> None:
        """Compile the schemas.

        Args:
            tools: JSON schemas in OpenAI's function form.
            default_tool: the tool that bare text calls, through its first parameter.
            multiline: whether a command of the default tool may have several lines.
            answer_tool: the tool that `<answer>` tags call, through its first parameter; none by default.

        Raises:
            ConfigError: one of these tools is not among `tools`, takes no parameter, or requires more than its first.
        """
        self._schemas: dict[str, Mapping[str, Any]] = {}
        for tool in tools:
            function = tool["function"]
            self._schemas[function["name"]] = function.get("parameters", {})
        self._default = default_tool
        self._multiline = multiline
        self._default_parameter = self._only_parameter(default_tool, "default tool")
        self._answer: tuple[str, str] | None = None
        if answer_tool is not None:
            self._answer = (answer_tool, self._only_parameter(answer_tool, "tool for answers"))

    def _only_parameter(self, tool: str, role: str) -> str:
        """The first parameter of a tool, which has to be the only one that it requires."""
        properties = self._schemas.get(tool, {}).get("properties", {})
        if not properties:
            raise ConfigError(
                f"Expected the {role} {tool!r} with at least one parameter among the tools "
                f"({', '.join(self._schemas) or 'none'})."
            )
        first = str(next(iter(properties)))
        required = set(self._schemas[tool].get("required", ())) - {first}
        if required:
            raise ConfigError(
                f"Bare text fills only {first!r}, the first parameter of the {role} {tool!r}; "
                f"{', '.join(sorted(required))} may not be required."
            )
        return first

    def parse(self, text: Any) -> Action | Rejection:
        """Parse one action. Never raises.

        Args:
            text: what the agent wrote; anything that is not a `str` is rejected.
        """
        if not isinstance(text, str):
            return Rejection(f"Expected the action to be text, got {type(text).__name__}.")
        if len(text) > MAX_ACTION_CHARS:
            return Rejection(f"The action has {len(text)} characters; at most {MAX_ACTION_CHARS} are read.")
        if _PLAIN.match(text):  # one line, nothing that could be markup
            return self._bare(text.strip())
        text = _answer(text.replace("\r\n", "\n"))
        tagged = _last_between(text, "<tool_call>", "</tool_call>")
        if tagged is None and text[:1] in ("{", "["):
            call = self._call(text) or self._refused(text)
            if call is not None:
                return call
        listed = text if text[:1] == "[" and _is_json_list(text) else None
        answered = _last_between(text, "<answer>", "</answer>") if self._answer and tagged is None else None
        behind = text.rpartition("</answer>")[2]
        if self._answer and answered is not None and not ("{" in behind and '"name"' in behind):  # no call follows
            tool, parameter = self._answer
            return self._checked(tool, {parameter: answered.strip()})
        fenced, nested = _last_fenced(text)
        if nested and self._multiline and tagged is None:
            return Rejection(
                "There is a fence inside of a fence, so that nobody can tell where the command ends. Put a longer "
                "fence (````) around it, or call a tool.",
                _one_line(text),
            )
        for block in (listed, tagged, _last_between(text, "<action>", "</action>"), fenced):
            if block is not None:
                return self._block(block.strip(), is_call=block is tagged)
        listed = _last_list(text)
        if listed is not None:
            return self._block(listed)
        lines = [line for line in text.split("\n") if line.strip()]
        if self._calls_at(text)[0]:
            return Rejection(
                "There is text behind the tool call, so that nothing was done. Send the call, and nothing else.",
                _one_line(text),
            )
        calls = 0
        while calls < len(lines) and self._calls_at(lines[-1 - calls].strip()) == (1, ""):
            calls += 1
        if calls > 1:
            return _several(calls, text)
        if self._multiline and len(lines) > 1:
            return Rejection(
                "Several lines without a fence may be prose or a command. Put the command, and nothing else, into one "
                "fenced block (```), or call a tool.",
                _one_line(text),
            )
        return self._block(lines[-1].strip() if lines else "")

    def _block(self, text: str, *, is_call: bool = False) -> Action | Rejection:
        """A tool call when `text` is one, else a bare command."""
        if text[:1] in ("{", "["):
            call = self._call(text) or self._refused(text)
            if call is not None:
                return call
            if (is_call or self._calls_at(text)[0]) and not _is_json_list(text):
                return _not_json(text)
        return self._bare(text)

    def _bare(self, command: str) -> Action | Rejection:
        if not command:
            return Rejection(f"The action is empty. Write one {self._default_parameter}.")
        return Action(self._default, {self._default_parameter: command}, command)

    def _refused(self, text: str) -> Rejection | None:
        """Why text that begins like a tool call, but is none, is not done; `None` when it may be something else."""
        calls = self._calls_at(text)[0]
        if calls > 1:
            return _several(calls, text)
        return _not_json(text) if not calls and _CALL_LIKE.match(text) and not _is_json(text) else None

    def _calls_at(self, text: str) -> tuple[int, str]:
        """How many JSON objects that are tool calls stand one after the other at the beginning of a text, and the rest
        of it. Linear."""
        at = count = 0
        while text.startswith("{", at):
            try:
                data, end = _DECODER.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
            if not _is_call(data) and self._owner(data) is None:
                break
            gap = _BETWEEN_CALLS.match(text, end)
            at, count = gap.end() if gap else end, count + 1
        return count, text[at:]

    def _owner(self, data: Mapping[str, Any]) -> str | None:
        """The tool whose arguments these are, without its name: the default one or that for answers."""
        for tool in (self._default, self._answer[0]) if self._answer else (self._default,):
            if data and all(key in self._schemas[tool].get("properties", {}) for key in data):
                return tool
        return None

    def _call(self, body: str) -> Action | Rejection | None:
        """Read `body` as a tool call; `None` when it is not one and should be read as bare text."""
        try:
            data = json.loads(body, strict=False)  # models often write real line breaks into strings
        except (ValueError, RecursionError):  # malformed, or nested deeper than any real call
            return None
        calls = data.get("tool_calls") if isinstance(data, dict) else data
        if isinstance(calls, list) and calls and all(_is_call(call) for call in calls):
            if len(calls) > 1:
                return _several(len(calls), body)
            data = calls[0]
        if isinstance(data, list) and len(data) == 1:
            data = data[0]
        if not isinstance(data, dict):
            return None
        if isinstance(data.get("function"), dict):
            data = data["function"]
        name = data.get("name")
        if not isinstance(name, str):
            owner = self._owner(data)
            return None if owner is None else self._checked(owner, data)
        arguments = data.get("arguments", data.get("parameters"))
        if arguments is None:
            arguments = {}
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments, strict=False)
            except (ValueError, RecursionError):
                return Rejection(f"The arguments of {name!r} are not valid JSON.", _one_line(body))
        if not isinstance(arguments, dict):
            return Rejection(f"Expected the arguments of {name!r} to be an object.", _one_line(body))
        return self._checked(name, arguments)

    def _checked(self, name: str, arguments: dict[str, Any]) -> Action | Rejection:
        """Check a call against its schema: names, required arguments, basic types."""
        try:
            command = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False, separators=(",", ":"))
        except RecursionError:  # the reader goes a little deeper than the writer
            return Rejection(f"The arguments of {name[:100]!r} are nested too deeply.")
        problem = self._problem(name, arguments)
        if problem:
            return Rejection(problem, _one_line(command))
        if name == self._default and list(arguments) == [self._default_parameter]:
            value = arguments[self._default_parameter]
            if isinstance(value, str):
                if not value.strip():
                    return Rejection(f"Argument {self._default_parameter!r} of tool {name!r} is empty.")
                return self._bare(value.strip())
        return Action(name, arguments, command)

    def _problem(self, name: str, arguments: dict[str, Any]) -> str:
        """What is wrong with a call; empty when nothing is."""
        if name not in self._schemas:
            near = difflib.get_close_matches(name, self._schemas, n=3) or sorted(self._schemas)[:10]
            return f"Unknown tool {name[:100]!r}. Available: {', '.join(near)}."
        schema = self._schemas[name]
        properties: Mapping[str, Any] = schema.get("properties", {})
        missing = [key for key in schema.get("required", ()) if key not in arguments]
        if missing:
            return f"Missing argument {missing[0]!r} of tool {name!r}."
        for key, value in arguments.items():
            if key not in properties:
                return f"Unexpected argument {key[:100]!r} of tool {name!r}."
            expected = properties[key].get("type")
            names = [expected] if isinstance(expected, str) else expected if isinstance(expected, list) else []
            kinds = tuple(kind for one in names for kind in _TYPES.get(one, ()))
            if kinds and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                return (
                    f"Expected argument {key!r} of tool {name!r} to be of type {' or '.join(names)}, got "
                    f"{json_type(value)}."
                )
        return ""


def _several(count: int, text: str) -> Rejection:
    return Rejection(
        f"One action per turn, and these are {count} tool calls. None of them was done: send them one by one.",
        _one_line(text),
    )


def _not_json(text: str) -> Rejection:
    return Rejection('The tool call is not valid JSON. Expected {"name": ..., "arguments": {...}}.', _one_line(text))


def _is_call(data: Any) -> bool:
    """Whether a JSON value names a tool, in any of the usual forms."""
    return isinstance(data, dict) and (isinstance(data.get("function"), dict) or isinstance(data.get("name"), str))


def _answer(text: str) -> str:
    """A completion without its thinking. Thinking ends where a whole tool call begins, whatever that has inside."""
    for start in (0, *(match.end() for match in _THINK_CLOSE.finditer(text))):
        rest = _bare_ends(text[start:])
        if rest[:1] in ("{", "[") and _is_json(rest):
            return rest
    return strip_reasoning(text)


def _bare_ends(text: str) -> str:
    """Text without the chat tokens before and after it."""
    leading = _LEADING.match(text)
    text = text[leading.end() :] if leading else text
    return _TRAILING.sub("", text.rstrip()).strip()


def _last_list(text: str) -> str | None:
    """A JSON list of objects, or an empty one, that begins on a line of its own and reaches to the end of the text."""
    start = text.find("\n[")
    tries = 0
    while start >= 0 and tries < _MOST_TRIES:
        rest = text[start + 1 :].strip()
        if (rest[1:].lstrip()[:1] in ("{", "]")) and _is_json_list(rest):
            return rest
        start, tries = text.find("\n[", start + 1), tries + 1
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _is_json_list(text: str) -> bool:
    try:
        return isinstance(json.loads(text, strict=False), list)
    except (ValueError, RecursionError):
        return False


def strip_reasoning(text: str) -> str:
    """Keep what follows the last thought (or, when nothing does, what precedes the first), without special tokens."""
    closings = list(_THINK_CLOSE.finditer(text))
    opening = _THINK_OPEN.search(text)
    answer = text[closings[-1].end() :] if closings else text
    unclosed = _THINK_OPEN.search(answer)
    if unclosed:
        answer = answer[: unclosed.start()]
    if not answer.strip() and opening:
        answer = text[: opening.start()]
    return _bare_ends(answer)


def _last_between(text: str, opening: str, closing: str) -> str | None:
    """What stands in the last pair of tags. Linear: a looping model writes thousands of opening ones."""
    end = text.rfind(closing)
    start = text.rfind(opening, 0, end) if end >= 0 else -1
    return text[start + len(opening) : end] if start >= 0 else None


def _last_fenced(text: str) -> tuple[str | None, bool]:
    """The last fenced block, by CommonMark's rules: one that is never closed reaches to the end. One that has nothing
    in it is no block, unless there is no other. And whether a block has what looks like the beginning of another."""
    fence, block, blocks, nested = "", [""], [], False
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match and not fence:
            fence, block = match[1], []
        elif match and match[1].startswith(fence) and not match[2].strip():
            fence = ""
            blocks.append(block)
        elif fence:
            block.append(line)
            nested = nested or (match is not None and match[1].startswith(fence))
    if fence:
        blocks.append(block)
    full = [block for block in blocks if any(line.strip() for line in block)] or blocks
    return ("\n".join(full[-1]) if full else None), nested


def _one_line(text: str) -> str:
    return " ".join(text.split())[:2_000]
