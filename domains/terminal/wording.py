"""What the terminal prints besides the output of commands."""

from __future__ import annotations

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


def stopped(seconds: float) -> str:
    """What stands behind the output of a command that was stopped at its deadline."""
    return f"^C\n[The command was stopped after {seconds:g} seconds.]\n"


TOO_MUCH = "^C\n[The command was stopped because it printed too much.]\n"
NEW_SHELL = "[The shell has ended; a new one was started.]\n"
OUT_OF_MEMORY = "[A process was killed because the machine is out of memory.]\n"
