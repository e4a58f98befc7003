"""Formats of configuration files, and programs that print their settings as JSON, or fail when they are not valid."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentworld_envs.domains.terminal.checks import RunCheck
from agentworld_envs.domains.terminal.ingredients import lines

SHOW_INI = """\
import configparser, json, sys
found = configparser.ConfigParser(interpolation=None)
with open(sys.argv[1], encoding="utf-8") as source:
    found.read_file(source)
print(json.dumps({name: dict(found[name]) for name in found.sections()}, sort_keys=True))
"""
"""`python3 -c SHOW_INI FILE`: sections with keys and values."""
SHOW_BLOCKS = r"""
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
tokens, line = [], 1
for part in re.findall(r'\n|#[^\n]*|"[^"\n]*"|[{};]|[^\s{};"#]+|[^\S\n]+|"', text):
    if part == "\n":
        line += 1
    elif part == '"':
        sys.exit(f"line {line}: quote is not closed")
    elif part.strip() and part[0] != "#":
        tokens.append((part, line))
def block(depth):
    found, words = [], []
    while tokens:
        part, line = tokens.pop(0)
        if part == ";":
            if not words:
                sys.exit(f"line {line}: nothing before ;")
            found.append([word for word, _ in words])
            words = []
        elif part == "{":
            if len({at for _, at in words}) != 1:
                sys.exit(f"line {line}: expected one line of words before {{")
            found.append([[word for word, _ in words], block(depth + 1)])
            words = []
        elif part == "}":
            if words or not depth:
                sys.exit(f"line {line}: unexpected }}" + (" (is a ; missing?)" if words else ""))
            return found
        else:
            words.append((part, line))
            if words[0][1] != line:
                sys.exit(f"line {words[0][1]}: ; is missing")
    if depth or words:
        sys.exit(f"line {line}: unexpected end of file")
    return found
print(json.dumps(block(0)))
"""
"""`python3 -c SHOW_BLOCKS FILE`: settings as lists of words, blocks as pairs of their words and their settings."""
SHOW_ENV = """set -eu; set -a; . "$1"; python3 -c 'import json, os, sys
print(json.dumps({k: os.environ.get(k) for k in sys.argv[1:]}))' "${@:2}" """
"""`bash -c SHOW_ENV show FILE NAME...`: variables that the file sets when a shell reads it."""


def shows(program: str, path: str, expected: Any, *more: str) -> RunCheck:
    """The file is valid, and these are its settings."""
    argv = (
        ("bash", "-c", program, "show", path, *more) if program is SHOW_ENV else ("python3", "-I", "-c", program, path)
    )
    return RunCheck(argv=argv, stdout=json.dumps(expected), compare="json")


def ini_text(sections: Mapping[str, Mapping[str, str]], note: str) -> str:
    """An INI file with comments."""
    parts = [f"; {note}\n"]
    for name, keys in sections.items():
        parts.append(f"\n[{name}]\n# settings of {name}\n" + lines(f"{key} = {value}" for key, value in keys.items()))
    return "".join(parts)
