"""Terminal: keystroke lists in, screens out (Terminal-Bench with Terminus; Qwen-AgentWorld report, terminal domain)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agentworld_envs.backends.world_model.codecs.base import Call, DomainCodec, Reader
from agentworld_envs.backends.world_model.codecs.values import load_json

STROKES: Final = "keystrokes"
"""Name of a call; its arguments are `keystrokes` (text) and, where it was written, `duration` (seconds, 1 if not)."""

_PROMPT: Final = re.compile(
    r"(?P<env>\([^()\n]*\) )?(?P<user>[a-z_][a-z0-9_-]*)@(?P<host>[A-Za-z0-9.-]+):(?P<folder>[^\n#$]*)(?P<mark>[#$])"
    r"(?P<rest>(?: [^\n]*)?)"
)


@dataclass(frozen=True, slots=True)
class ShellPrompt:
    """A line such as `root@ad092d3df69c:/app# ls`."""

    user: str
    host: str
    folder: str
    mark: str
    """`#` for root, `$` for others."""
    rest: str = ""
    """What follows the mark, with its space: what was typed."""
    env: str = ""
    """Of a virtual environment, with parentheses and space: `(venv) `."""

    def render(self) -> str:
        return f"{self.env}{self.user}@{self.host}:{self.folder}{self.mark}{self.rest}"

    @classmethod
    def read(cls, line: str) -> ShellPrompt | None:
        """The prompt at the start of a line, `None` when there is none."""
        match = _PROMPT.fullmatch(line)
        if match is None:
            return None
        return cls(match["user"], match["host"], match["folder"], match["mark"], match["rest"], match["env"] or "")


@dataclass(frozen=True, slots=True)
class Screen:
    """What the terminal shows."""

    form: ClassVar[str] = "screen"
    lines: tuple[str, ...]
    """All lines but the last one."""
    prompt: ShellPrompt | None
    """The last line when it is a prompt: the command before is over."""
    last: str = ""
    """The last line when it is none: something is still running, or waits for input."""
    newlines: int = 0
    """Line breaks behind the last line."""

    @property
    def running(self) -> bool:
        """Whether no prompt awaits the next command."""
        return self.prompt is None or bool(self.prompt.rest.strip())

    def render(self) -> str:
        last = self.last if self.prompt is None else self.prompt.render()
        return "\n".join((*self.lines, last)) + "\n" * self.newlines


def read_screen(text: str) -> Screen | None:
    """A screen with at least one prompt on it, `None` otherwise."""
    body = text.rstrip("\n")
    *lines, last = body.split("\n")
    prompt = ShellPrompt.read(last)
    if prompt is None and not any(ShellPrompt.read(line) for line in lines):
        return None
    return Screen(tuple(lines), prompt, "" if prompt else last, len(text) - len(body))


class TerminalCodec(DomainCodec):
    """`[{"keystrokes": "ls\\n", "duration": 0.1}]`; an empty list declares that the agent is done."""

    name = "terminal"
    forms = ("json",)

    def parse_calls(self, text: str, language: str) -> tuple[Call, ...] | None:
        try:
            data: Any = load_json(text)
        except ValueError:
            return None
        entries = data if isinstance(data, list) else [data]
        if not all(isinstance(entry, dict) and isinstance(entry.get(STROKES), str) for entry in entries):
            return None
        return tuple(Call(STROKES, entry, (), "json") for entry in entries)

    def format_calls(self, calls: Sequence[Call]) -> tuple[str, str]:
        entries = [dict(call.arguments) for call in calls]
        return json.dumps(entries, ensure_ascii=False, indent=2, allow_nan=False), self.language

    def readers(self) -> Sequence[Reader]:
        return (read_screen,)
