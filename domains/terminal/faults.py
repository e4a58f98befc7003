"""What a shell prints when it is made to fail, and where on a screen the output of a command is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.command import Kind, read
from agentworld_envs.interface import Action
from agentworld_envs.interface.fault import ExplicitKind

_PROMPT = re.compile(r"[a-z_][\w-]*@[\w-]+:([^\n]*?)[$#] ?$")
_LINES: Mapping[ExplicitKind, str] = {
    "error": "bash: fork: Resource temporarily unavailable",
    "timeout": "ssh: connect to host sandbox port 22: Connection timed out",
    "server_error": "Error response from daemon: 503 Service Unavailable",
}
_SCREENS: Mapping[ExplicitKind, str] = {
    "error": "open terminal failed: Resource temporarily unavailable",
    "timeout": "error connecting to /tmp/tmux-1000/default (Connection timed out)",
    "server_error": "Error response from daemon: 503 Service Unavailable",
}


def fault_text(action: Action, kind: ExplicitKind, history: Sequence[tuple[Action, str]], cwd: str) -> str | None:
    """The screen after a command that was not run; `None` where the action only declares the end.

    Args:
        action: what was to be done.
        kind: how it fails.
        history: earlier actions with their screens; they tell in which folder the shell is.
        cwd: where it was at the start.
    """
    command = read(action)
    if command.kind is Kind.KEYS:
        return _SCREENS[kind]
    if command.kind is not Kind.RUN:
        return None
    where = next((found for done, seen in reversed(history) if (found := _folder(done, seen)) is not None), cwd)
    return wording.turn(where, command.text, _LINES[kind] + "\n", where)


def _folder(action: Action, screen: str) -> str | None:
    """The shell's folder after a command, as its prompt tells it."""
    if read(action).kind is not Kind.RUN:
        return None
    found = _PROMPT.match(screen.rstrip().rpartition("\n")[2])
    return None if found is None else re.sub("^~", wording.HOME, found[1])


def output_span(action: Action, screen: str) -> tuple[int, int]:
    """Start and end of what was printed: behind the echo of a command, before the next prompt."""
    command = read(action)
    start, end = 0, len(screen)
    if _PROMPT.match(screen.rpartition("\n")[2].rstrip()):
        end = screen.rfind("\n") + 1
    if command.kind is Kind.RUN:
        first = command.text.partition("\n")[0].rstrip()
        echo = screen.partition("\n")[0].rstrip()
        if echo.endswith(first) and _PROMPT.match(echo[: len(echo) - len(first)].rstrip() + " "):
            for _ in range(command.text.count("\n") + 1):
                start = screen.find("\n", start) + 1 or len(screen)
    return min(start, end), end
