"""`facts_of`: what a screen asserts, whoever drew it."""

from __future__ import annotations

import re
from typing import Any

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.command import Command, Kind

_WHO = re.escape(f"{wording.USER}@{wording.HOST}:")
_PROMPT = re.compile(rf"(?m)^{_WHO}(?P<cwd>[^\n$]*)\$")
_LAST = re.compile(rf"(?:^|\n){_WHO}(?P<cwd>[^\n$]*)\$[ ]*$")
_ERRORS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("command not found", re.compile(r": command not found$|: not found$")),
    ("no such file", re.compile(r"[Nn]o such file or directory|FileNotFoundError")),
    ("permission denied", re.compile(r"[Pp]ermission denied|Operation not permitted|PermissionError")),
    ("is a directory", re.compile(r": Is a directory|-r not specified|IsADirectoryError")),
    ("not a directory", re.compile(r": Not a directory|NotADirectoryError")),
    ("exists already", re.compile(r": File exists|already exists")),
    ("not empty", re.compile(r": Directory not empty")),
    ("syntax error", re.compile(r"syntax error|SyntaxError|unexpected EOF|unexpected end of file")),
    ("wrong use", re.compile(r"invalid option|unrecognized option|missing (?:file )?operand|^[Uu]sage:|invalid mode")),
    ("traceback", re.compile(r"^Traceback \(most recent call last\):")),
    ("other error", re.compile(r"^(?:bash|fatal|error|\w[\w.+-]*): .*(?:cannot|error|failed|fatal)", re.IGNORECASE)),
)
_STOPPED = re.compile(r"(?m)^\[The command was stopped ")
_MOST_LINES = 4096


def facts_of(command: Command, observation: str) -> dict[str, Any]:
    """Facts by name.

    For shell commands: `command shown` (the screen begins with a prompt and the command), `folder` (in the new prompt;
    `None` without one, when the command still holds the screen), `lines` (of output), `stopped`, and one for every
    kind of error message with how many lines have it (`error: no such file`: 1), the first kind of each line only. For
    keystrokes the same of the whole screen, without `command shown` and `lines`. For `[]`: `asked back`, `over`.
    """
    text = observation.strip("\n")
    if command.kind in (Kind.DONE, Kind.SUBMIT):
        return {"asked back": text == wording.CONFIRM, "over": text == wording.ENDED}
    last = _LAST.search(text)
    facts: dict[str, Any] = {"folder": None if last is None else last["cwd"]}
    output = text if last is None else text[: last.start()]
    if command.kind is Kind.RUN:
        echo = _PROMPT.match(text)
        typed = command.text.replace("\n", "\n> ")
        shown = echo is not None and text[echo.end() :].lstrip(" ").startswith(typed)
        facts["command shown"] = shown
        if shown and echo is not None:
            facts["folder before"] = echo["cwd"]
            output = output[echo.end() :].lstrip(" ")[len(typed) :].removeprefix("\n")
        facts["lines"] = len(output.splitlines())
    facts["stopped"] = _STOPPED.search(output) is not None
    for line in output.splitlines()[:_MOST_LINES]:
        kind = next((name for name, pattern in _ERRORS if pattern.search(line)), None)
        if kind is not None:
            facts[f"error: {kind}"] = facts.get(f"error: {kind}", 0) + 1
    return facts
