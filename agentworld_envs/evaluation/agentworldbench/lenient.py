"""`parse_lenient`: JSON as models write it, without ever changing what stands in a string."""

from __future__ import annotations

import re
from typing import Any, Final

_SPACE: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_][\w.-]*")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_FRACTION: Final = re.compile(r"[-+]?\d+(?:\.\d+)?\s*/\s*\d+")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
DEEPEST: Final = 50


class Unreadable(ValueError):
    """Not even leniently."""


def parse_lenient(text: str, start: int = 0) -> tuple[Any, bool]:
    """The value that begins at `start`.

    Forgives trailing commas, single quotes, keys and words without quotes, comments, real line breaks in strings,
    fractions such as `4/5` (read as text), and an end that is missing.

    Returns:
        The value, and whether it is whole: `False` when the text ended inside of it.

    Raises:
        Unreadable: there is no value, or it is nested too deeply.
    """
    reader = _Reader(text, start)
    value = reader.value(0)
    return value, not reader.cut


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.cut = False

    def value(self, depth: int) -> Any:
        char = self.peek()
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        if char == "{":
            return self.object(depth)
        if char == "[":
            return self.array(depth)
        if char in "\"'" and char:
            return self.string(char)
        fraction = _FRACTION.match(self.text, self.at)
        number = fraction or _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end()
            return number[0] if fraction else _number(number[0])
        word = _WORD.match(self.text, self.at)
        if word:
            self.at = word.end()
            return _WORDS.get(word[0], word[0])
        raise Unreadable(f"no value at {self.at}")

    def object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        found: dict[str, Any] = {}
        while not self.closed("}"):
            char = self.peek()
            word = _WORD.match(self.text, self.at)
            if char in "\"'":
                key = self.string(char)
            elif word:
                self.at = word.end()
                key = word[0]
            else:
                raise Unreadable(f"no key at {self.at}")
            if not self.peek():
                self.cut = True
                break
            if self.peek() != ":":
                raise Unreadable(f"no colon at {self.at}")
            self.at += 1
            if not self.peek():
                self.cut = True
                break
            found[key] = self.value(depth + 1)
        return found

    def array(self, depth: int) -> list[Any]:
        self.at += 1
        found = []
        while not self.closed("]"):
            found.append(self.value(depth + 1))
        return found

    def closed(self, end: str) -> bool:
        """Whether the container ends here, because of its bracket or of the end of the text."""
        while self.peek() == ",":
            self.at += 1
        char = self.peek()
        if not char:
            self.cut = True
            return True
        if char == end:
            self.at += 1
            return True
        return False

    def string(self, quote: str) -> str:
        parts: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == quote:
                return _PAIR.sub(_joined, "".join(parts))
            if char == "\\" and self.at < len(self.text):
                parts.append(self.escape())
            else:
                parts.append(char)
        self.cut = True
        return "".join(parts)

    def escape(self) -> str:
        char = self.text[self.at]
        self.at += 1
        if char == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", self.text[self.at : self.at + 4]):
            self.at += 4
            return chr(int(self.text[self.at - 4 : self.at], 16))
        return _ESCAPES.get(char, char)

    def peek(self) -> str:
        """The next character that is no space or comment, empty at the end."""
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.text[self.at : self.at + 1]


def _joined(pair: re.Match[str]) -> str:
    """The character that two escapes stand for."""
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _number(text: str) -> int | float:
    if re.fullmatch(r"[-+]?\d{1,18}", text):
        return int(text)
    return float(text)
