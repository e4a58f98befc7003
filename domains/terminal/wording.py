"""What the terminal prints besides the output of commands."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cDEHMNOZ])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SOURCED = re.compile(r"(?m)^/dev/fd/\d+: line \d+: +")
USER, HOST, HOME = "agent", "sandbox", "/home/agent"

CONFIRM = """\
Are you sure that the task is done? The machine will be stopped and its state checked; nothing can be changed after \
that. Send [] once more to confirm, or go on with another command."""
"""Answer to the first `[]`."""
ENDED = "The session is over."
"""Answer to the `[]` that confirms it, and to `submit`."""


def prompt(cwd: str) -> str:
    """What the shell shows before a command, bash's usual prompt."""
    where = cwd
    if cwd == HOME or cwd.startswith(HOME + "/"):
        where = "~" + cwd[len(HOME) :]
    return f"{USER}@{HOST}:{where}$ "


def turn(before: str, command: str, output: str, after: str) -> str:
    """A command as the screen shows it: prompt and command, what it printed, and the next prompt.

    Args:
        before: folder in which it was run.
        command: its text, any number of lines.
        output: what it printed.
        after: folder in which the shell is now.
    """
    echo = prompt(before) + command.replace("\n", "\n> ")
    gap = "" if not output or output.endswith("\n") else "\n"
    return f"{echo}\n{output}{gap}{prompt(after)}".rstrip(" ")


def plain(output: str) -> str:
    """What a command printed, as a screen would show it: no colours, no control characters, of lines that were written
    over only what is left, and the shell's messages under its name."""
    output = _ESCAPES.sub("", output.replace("\r\n", "\n"))
    if "\r" in output:
        output = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in output.split("\n"))
    output = _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", output)
    return _SOURCED.sub("bash: ", output)


def stopped(seconds: float) -> str:
    """What stands behind the output of a command that was stopped at its deadline."""
    note = f"The command was stopped after {seconds:g} seconds. A program that waits for keys wants a keystroke list."
    return f"^C\n[{note}]\n"


TOO_MUCH = "^C\n[The command was stopped because it printed too much.]\n"
NEW_SHELL = "[The shell has ended; a new one was started.]\n"
OUT_OF_MEMORY = "[A process was killed because the machine is out of memory.]\n"
