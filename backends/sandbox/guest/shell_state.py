"""The state of a shell, as one shell tells it and another takes it over.

It was written by whoever used the shell, perhaps the enemy. It is only ever read by a shell in a sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from agentworld_envs.backends.sandbox.guest.driver import SECTIONS

MOST_STATE = 4 * 2**20
"""Bytes of the largest state."""


class Unusable(Exception):
    """This is not the state of a shell."""


def folder(state: bytes) -> str:
    """Where the shell was, links resolved; may not exist any more. Raises Unusable."""
    return os.fsdecode(_sections(state)[0])


def restoring(state: bytes, environment: Iterable[str]) -> bytes:
    """The text that gives a fresh shell this state.

    Its order matters: aliases are not looked at while the functions are read, which had theirs replaced already; what
    could stop or bother the text itself (options, traps) comes last, as one command, which is read before it is run.

    Args:
        state: the shell's folder, a NUL, and what it wrote upon `driver.SAVE`.
        environment: names of the variables that the fresh shell was started with.

    Raises:
        Unusable: it is not a state.
    """
    _, logical, variables, arguments, stack, mask, limits, *rest = _sections(state)
    aliases, functions, attributes, traps, off, shopts, options = rest
    posix = [line for line in options.splitlines() if line.endswith(b" posix")]  # it switches others
    names = " ".join(name for name in environment if name.isidentifier()).encode()
    place = _quoted(logical)
    lines = [
        b"builtin test " + place + b" -ef . && builtin cd -- " + place,
        *(b"builtin pushd -n " + name for name in reversed(stack.splitlines()) if name != b"''"),
        b"builtin unset -v OLDPWD " + names,
        variables,
        mask,
        aliases,
        b"builtin shopt -u expand_aliases",
        b"builtin shopt -s extglob",
        functions,
        *_as_builtins(attributes),
        b"builtin set --" + arguments,
        b"{",
        *_as_builtins(b"\n".join(posix)),
        *_as_builtins(shopts),
        *_limits(limits),
        *_as_builtins(off),
        *_as_builtins(b"\n".join(line for line in options.splitlines() if line not in posix)),
        _each_as_builtin(traps),
        b"}",
    ]
    return b"\n".join(lines) + b"\n"


def _sections(state: bytes) -> list[bytes]:
    sections = state.split(b"\0")
    if len(state) > MOST_STATE or len(sections) != SECTIONS + 2 or sections.pop():
        raise Unusable("that is not the state of a shell")
    return sections


def _quoted(text: bytes) -> bytes:
    return b"'" + text.replace(b"'", b"'\\''") + b"'"


def _as_builtins(lines: bytes) -> Iterable[bytes]:
    """Commands of one line each, also where a function has the name of the command."""
    return (b"builtin " + line for line in lines.splitlines())


def _each_as_builtin(commands: bytes) -> bytes:
    """The same for commands whose arguments are in single quotes and may have several lines."""
    found, quoted = [], False
    for line in commands.split(b"\n"):
        found.append(line if quoted or not line else b"builtin " + line)
        quoted = _is_open(line, quoted)
    return b"\n".join(found)


def _is_open(line: bytes, quoted: bool) -> bool:
    """Whether single quotes are open after a line; `quoted`: whether they are before it."""
    escaped = False
    for byte in line:
        if quoted or escaped:
            quoted, escaped = quoted and byte != ord("'"), False
        else:
            quoted, escaped = byte == ord("'"), byte == ord("\\")
    return quoted


def _limits(lines: bytes) -> Iterable[bytes]:
    pairs = (line.split() for line in lines.splitlines())
    return (b"builtin ulimit " + b" ".join(pair) for pair in pairs if len(pair) == 2 and pair[1] != b"-")
