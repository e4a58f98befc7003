"""Keystroke lists, the actions of Qwen-AgentWorld's terminal: `[{"keystrokes": "ls\\n", "duration": 0.1}, ...]`.

The tokens are tmux's: a whole entry that is `C-c`, `Enter`, `Escape` or alike is that key; all else is typed as it is.
An empty list declares that the agent is done (Qwen-AgentWorld report, terminal domain).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

MOST_STROKES = 64
"""Entries of one list."""
MOST_SECONDS = 60.0
"""Of one entry, and of a whole list; longer ones are cut."""
DEFAULT_SECONDS = 1.0

_NAMED = {
    "Enter": "\r",
    "Escape": "\x1b",
    "Tab": "\t",
    "Space": " ",
    "BSpace": "\x7f",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
    "Right": "\x1b[C",
    "Left": "\x1b[D",
    "Home": "\x1b[H",
    "End": "\x1b[F",
    "PageUp": "\x1b[5~",
    "PageDown": "\x1b[6~",
    "Delete": "\x1b[3~",
}
_CONTROL = re.compile(r"C-([a-zA-Z@\[\]\\^_])")
_TOKENS = re.compile(
    r"(?:C-[a-zA-Z@\[\]\\^_]|" + "|".join(_NAMED) + r")(?: (?:C-[a-zA-Z@\[\]\\^_]|" + "|".join(_NAMED) + r"))*\n?"
)


class Malformed(Exception):
    """A list that is none; the text is what the agent is told."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """One entry."""

    keys: str
    """As they are written."""
    seconds: float

    @property
    def typed(self) -> str:
        """What goes to the terminal."""
        if not _TOKENS.fullmatch(self.keys):
            return self.keys.replace("\n", "\r")
        return "".join(_token(word) for word in self.keys.removesuffix("\n").split(" "))


def _token(word: str) -> str:
    if word in _NAMED:
        return _NAMED[word]
    match = _CONTROL.fullmatch(word)
    assert match is not None
    return chr(ord(match[1].upper()) & 0x1F)


def looks_like_list(text: str) -> bool:
    """Whether a bare action is meant as keystrokes and not as a shell command that begins with `[` or `{`."""
    text = text.strip()
    if text.startswith(("[{", "{")) and ('"keystrokes"' in text or '"commands"' in text):
        return True
    return text.startswith("[") and text.endswith("]") and (text[1:-1].strip() == "" or text[1:].lstrip()[:1] == "{")


def parse_strokes(data: Any) -> list[Stroke]:
    """Strokes from a list or its JSON text.

    Raises:
        Malformed: it is not such a list.
    """
    if isinstance(data, str):
        try:
            data = json.loads(data, strict=False)  # models often write real line breaks
        except (ValueError, RecursionError) as error:
            raise Malformed(f"The keystroke list is not valid JSON: {error}.") from error
    if isinstance(data, dict):  # one entry alone, or the whole answer of an agent of Terminal-Bench (Terminus)
        data = data.get("commands", [data])
    if not isinstance(data, list):
        raise Malformed('Expected a list of {"keystrokes": TEXT, "duration": SECONDS}.')
    if len(data) > MOST_STROKES:
        raise Malformed(f"The list has {len(data)} entries; at most {MOST_STROKES} are typed at a time.")
    return [_stroke(entry, index) for index, entry in enumerate(data, 1)]


def _stroke(entry: Any, index: int) -> Stroke:
    if not isinstance(entry, dict) or not isinstance(entry.get("keystrokes"), str):
        raise Malformed(
            f'Entry {index} has no text "keystrokes". Expected {{"keystrokes": TEXT, "duration": SECONDS}}.'
        )
    if re.search("[\ud800-\udfff]", entry["keystrokes"]):
        raise Malformed(f"Entry {index} has a lone surrogate in it, which is no character.")
    seconds = entry.get("duration", DEFAULT_SECONDS)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        raise Malformed(f"Entry {index}: expected a duration of 0 to {MOST_SECONDS:.0f} seconds, got {seconds!r:.40}.")
    return Stroke(entry["keystrokes"], min(float(seconds), MOST_SECONDS))


def render_strokes(strokes: list[Stroke]) -> str:
    """The JSON of a list, as it is written in a simulator's prompt."""
    return json.dumps(
        [{"keystrokes": stroke.keys, "duration": stroke.seconds} for stroke in strokes], ensure_ascii=False, indent=2
    )
