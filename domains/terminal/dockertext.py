"""The text of a Dockerfile: its instructions, their words with variables put in, the patterns of `.dockerignore`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from agentworld_envs.interface import TaskError

SANDBOX_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""`$PATH` as long as a Dockerfile does not change it."""
_DIRECTIVE = re.compile(r"#\s*(\w+)\s*=\s*(\S+)\s*$")
_CONTINUED = re.compile(r"\\[ \t]*$")
_HEREDOC = re.compile(r"(?<![<\w(])\d*<<-?[\"']?[A-Za-z_]")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:[-+])([^{}$]*))?\})", re.ASCII)


class Unsupported(TaskError):
    """The file needs what a sandbox without network cannot give."""


def instructions(text: str) -> list[tuple[str, str]]:
    """Names, in capitals, and what follows them.

    Raises:
        Unsupported: a here-document, or another escape character.
    """
    found: list[tuple[str, str]] = []
    lines = text.removeprefix("\ufeff").splitlines()
    at = 0
    while at < len(lines) and (directive := _DIRECTIVE.match(lines[at].strip())):
        if directive[1].lower() == "escape" and directive[2] != "\\":
            raise Unsupported(f"its escape character is {directive[2]}")
        at += 1
    whole, inside = "", False
    for line in lines[at:]:
        if line.lstrip().startswith("#") or (not line.strip() and inside):
            continue
        inside = _CONTINUED.search(line) is not None
        whole += _CONTINUED.sub("", line) if whole else _CONTINUED.sub("", line.lstrip())
        if not inside:
            _add(found, whole)
            whole = ""
    _add(found, whole)
    return found


def _add(found: list[tuple[str, str]], line: str) -> None:
    if line.strip():
        name, *rest = line.strip().split(None, 1)
        if name.upper() in ("RUN", "COPY", "ADD") and rest and _HEREDOC.search(rest[0]):
            raise Unsupported("it has a here-document")
        found.append((name.upper(), rest[0] if rest else ""))


def words_of(text: str, variables: Mapping[str, str], *, split: bool = True) -> list[str]:
    """Words without quotes, with the values of variables in them.

    Raises:
        Unsupported: a variable is not known, or a quote is not closed.
    """
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "$" and quote != "'" and (match := _VARIABLE.match(text, at)):
            word = (word or "") + _value(match, variables)
            at = match.end()
            continue
        if char == "$" and quote != "'" and re.match(r"[\w{]", text[at + 1 : at + 2]):
            raise Unsupported(f"its variable {text[at:]!r:.40} is not understood")
        at += 1
        if char == "\\" and quote != "'" and at < len(text) and (not quote or text[at] in '"\\$'):
            word = (word or "") + text[at]
            at += 1
        elif char in "\"'" and quote in ("", char):
            quote = "" if quote else char
            word = word or ""
        elif char in " \t" and not quote and split:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + char
    if quote:
        raise Unsupported(f"a quote is not closed in {text!r:.60}")
    return words if word is None else [*words, word]


def _value(match: re.Match[str], variables: Mapping[str, str]) -> str:
    name, modifier, other = match[1] or match[2], match[3], match[4]
    value = variables.get(name)
    if modifier == ":-" and not value:
        return str(other)
    if modifier == ":+":
        return str(other) if value else ""
    if value is None:
        raise Unsupported(f"its variable {name} is not known")
    return value


def ignored_by(context: Path) -> Callable[[str], bool]:
    """What says of a path below a folder, as text, whether `.dockerignore` leaves it out.

    Raises:
        Unsupported: a pattern is not of the usual kind.
    """
    source = next((context / n for n in ("Dockerfile.dockerignore", ".dockerignore") if (context / n).is_file()), None)
    rules = [] if source is None else _rules(source.read_text(encoding="utf-8"))

    def ignored(path: str) -> bool:
        parts = path.split("/")
        every = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        left_out = False
        for kept, pattern in rules:
            if left_out is kept and any(pattern.fullmatch(name) for name in every):
                left_out = not kept
        return left_out

    return ignored


def _rules(text: str) -> list[tuple[bool, re.Pattern[str]]]:
    rules = []
    for line in text.removeprefix("\ufeff").splitlines():
        pattern = line.strip()
        if not pattern or line.startswith("#"):
            continue
        kept = pattern.startswith("!")
        parts = [part for part in pattern.removeprefix("!").strip().split("/") if part not in ("", ".")]
        if not parts and pattern not in (".", "/"):
            continue
        if ".." in parts or re.search(r"[\[\]\\]", pattern):
            raise Unsupported(f"its .dockerignore has the pattern {pattern!r}, which is not understood")
        if parts:
            rules.append((kept, _pattern(parts)))
    return rules


def _pattern(parts: list[str]) -> re.Pattern[str]:
    text = "/".join(parts)
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("(?s)" + re.sub(r"\*\*/|\*\*|\*|\?|[^*?]+", lambda m: pieces.get(m[0], re.escape(m[0])), text))
