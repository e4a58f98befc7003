"""`GuestSandbox`: the verbs of a sandbox, spoken to the agent in it. The same for every kind of machinery."""

from __future__ import annotations

import abc
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentworld_envs.backends.sandbox import archive
from agentworld_envs.backends.sandbox.config import SandboxSettings
from agentworld_envs.backends.sandbox.connection import Connection
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.backends.sandbox.guest.shell_state import MOST_STATE
from agentworld_envs.backends.sandbox.screen import Screen
from agentworld_envs.interface import SandboxDead, SandboxError, SandboxRefused, SessionLost, Tampered
from agentworld_envs.interface.sandbox import COLUMNS, COPY_LIMIT, DEFAULT_TIMEOUT_S, READ_LIMIT, ROWS, Sandbox
from agentworld_envs.interface.sandbox_facts import CommandResult, Process

GRACE_S = 10.0
"""Seconds beyond a command's own time in which the agent has to answer."""
FILE_TIMEOUT_S = 60.0
START_TIMEOUT_S = 20.0
STATE_TIMEOUT_S = 10.0
_CHUNK = 32 * 2**20
_MOST_PROCESSES = 16 * 2**20
_PROMPT = r"\u@\h:\w\$ "


class GuestSandbox(Sandbox):
    """A sandbox that is reached over a connection. Subclasses know how to end the machine and how to copy it."""

    def __init__(
        self,
        connection: Connection,
        settings: SandboxSettings,
        *,
        home: str,
        give_way: bool = False,
        temporary: bool = False,
    ) -> None:
        """Take over a connection. `open` has to be called before anything else.

        Args:
            connection: to the agent.
            settings: limits and environment.
            home: where commands start.
            temporary: whether the agent is to remove `home` at the end, also when the owner was killed.
            give_way: whether a control group gives the sandbox its share of the processor (`spawn.Rights`).
        """
        self._connection = connection
        self._settings = settings
        self._home = home
        self._give_way = give_way
        self._temporary = temporary
        self._drawn: Screen | None = None

    def open(self) -> None:
        """Give the agent its settings. Raises SandboxDead when it does not answer."""
        limits = self._settings.limits
        header = {
            "env": self._settings.environment(),
            "home": self._home,
            "cpu_seconds": limits.cpu_seconds,
            "give_way": self._give_way,
            "temporary": self._home if self._temporary else None,
            "memory_limit": limits.memory_mb * 2**20,
        }
        self._ask(Kind.HELLO, header, timeout_s=START_TIMEOUT_S)

    def _ask(self, kind: Kind, header: dict[str, Any], blob: bytes = b"", *, timeout_s: float, most: int = 0) -> Frame:
        return self._connection.ask(kind, header, blob, timeout_s=timeout_s, most=most)

    def run(self, command: str, timeout_s: float = DEFAULT_TIMEOUT_S, *, merge_stderr: bool = False) -> CommandResult:
        if "\0" in command:
            raise ValueError("A command cannot have a NUL character in it; no shell can take one.")
        header = {**self._job(timeout_s), "merged": merge_stderr}
        blob = command.encode("utf-8", "surrogateescape")
        answer = self._ask(Kind.RUN, header, blob, timeout_s=timeout_s + GRACE_S, most=self._most_output)
        if answer.header.get("tampered"):
            raise Tampered("The command wrote to the private channel of its shell, so that its result means nothing.")
        return _result(answer)

    def exec(
        self,
        argv: Sequence[str],
        timeout_s: float = DEFAULT_TIMEOUT_S,
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
        output_cap: int | None = None,
    ) -> CommandResult:
        if isinstance(argv, str) or not argv or any("\0" in part for part in argv):
            raise ValueError(f"Expected argv to be a program and its arguments, without NUL, got {argv!r}.")
        cap = self._settings.limits.output_cap if output_cap is None else output_cap
        header = {**self._job(timeout_s), "output_cap": cap, "argv": list(argv), "env": dict(env or {}), "cwd": cwd}
        return _result(self._ask(Kind.EXEC, header, stdin, timeout_s=timeout_s + GRACE_S, most=2 * cap))

    @property
    def _most_output(self) -> int:
        return 2 * self._settings.limits.output_cap

    def _job(self, timeout_s: float) -> dict[str, Any]:
        limits = self._settings.limits
        return {"timeout_s": timeout_s, "output_cap": limits.output_cap, "output_limit": limits.output_limit}

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        end = time.monotonic() + FILE_TIMEOUT_S
        for offset in range(0, max(len(data), 1), _CHUNK):
            header = {"path": path, "append": offset > 0, "mode": mode}
            self._ask(Kind.WRITE, header, data[offset : offset + _CHUNK], timeout_s=end - time.monotonic())

    def read(self, path: str, limit: int = READ_LIMIT) -> bytes:
        end = time.monotonic() + FILE_TIMEOUT_S  # for all of it: the agent may give one byte at a time
        data = bytearray()
        more = True
        while more and len(data) <= limit:
            size = min(_CHUNK, limit + 1 - len(data))
            header = {"path": path, "offset": len(data), "limit": size}
            answer = self._ask(Kind.READ, header, timeout_s=end - time.monotonic(), most=size)
            data += answer.blob[:size]
            more = bool(answer.header.get("more")) and bool(answer.blob)
        if len(data) > limit:
            raise SandboxRefused(f"{path} has more than {limit} bytes.")
        return bytes(data)

    def upload(self, source: Path | str, path: str) -> None:
        data = archive.pack(Path(source), COPY_LIMIT)
        self._ask(Kind.UNPACK, {"path": path}, data, timeout_s=FILE_TIMEOUT_S)

    def download(self, path: str, target: Path | str, limit: int = COPY_LIMIT) -> list[str]:
        if not 0 < limit <= COPY_LIMIT:
            raise ValueError(f"Expected limit to be 1 to {COPY_LIMIT} bytes, got {limit}.")
        answer = self._ask(Kind.PACK, {"path": path, "limit": limit}, timeout_s=FILE_TIMEOUT_S, most=limit)
        return archive.unpack(answer.blob, Path(target), limit)

    def end_processes(self) -> None:
        if not self._ask(Kind.KILL, {}, timeout_s=GRACE_S).header.get("none_left"):
            raise SandboxError("What runs in the sandbox does not end.")

    def screen(
        self, keystrokes: str = "", wait_s: float = 1.0, *, settle_s: float = 0.0, until_idle: bool = False
    ) -> str:
        if self._drawn is None:
            self._drawn = Screen(ROWS, COLUMNS)
        header = {
            "rows": ROWS,
            "columns": COLUMNS,
            "wait_s": wait_s,
            "settle_s": settle_s,
            "until_idle": until_idle,
            "env": {"TERM": "xterm-256color", "PS1": _PROMPT},
        }
        keys = keystrokes.encode("utf-8", "surrogateescape")
        answer = self._ask(Kind.TERMINAL, header, keys, timeout_s=wait_s + GRACE_S)
        if answer.header.get("new"):
            self._drawn.reset()
        self._drawn.feed(answer.blob)
        return self._drawn.text()

    def shell_state(self) -> bytes:
        header = {**self._job(STATE_TIMEOUT_S), "merged": True, "output_cap": MOST_STATE, "output_limit": 2**62}
        answer = self._ask(Kind.SAVE, header, timeout_s=STATE_TIMEOUT_S + GRACE_S, most=MOST_STATE)
        result = self._told_by_shell(answer, "tell its state")
        if result.stdout_truncated:
            raise SandboxRefused(f"The shell's state has more than {MOST_STATE} bytes.")
        return answer.blob

    def restore_shell(self, state: bytes) -> None:
        if len(state) > MOST_STATE:
            raise SandboxRefused(f"A shell's state has at most {MOST_STATE} bytes, this has {len(state)}.")
        header = {**self._job(STATE_TIMEOUT_S), "merged": True}
        answer = self._ask(Kind.RESTORE, header, state, timeout_s=STATE_TIMEOUT_S + GRACE_S, most=self._most_output)
        self._told_by_shell(answer, "take over a state")

    def _told_by_shell(self, answer: Frame, what: str) -> CommandResult:
        result = _result(answer)
        if answer.header.get("tampered") or result.timed_out or result.shell_restarted:
            raise SessionLost(
                f"The shell did not {what} properly within {STATE_TIMEOUT_S:.0f} s; it may be a new one now."
            )
        return result

    def processes(self) -> list[Process]:
        return _processes(self._ask(Kind.PROCESSES, {}, timeout_s=GRACE_S, most=_MOST_PROCESSES).blob)

    def ping(self, timeout_s: float = 5.0) -> None:
        self._ask(Kind.PING, {}, timeout_s=timeout_s)

    @property
    def alive(self) -> bool:
        return not self._connection.dead

    def close(self) -> None:
        self._connection.close()
        self._end()

    @abc.abstractmethod
    def _end(self) -> None:
        """End the machine and give everything back. May be called more than once."""


def _result(answer: Frame) -> CommandResult:
    """What the agent says about a command. It may lie, but it cannot do harm here."""
    header = answer.header
    try:
        head, tail, err_head, err_tail = _cut(answer.blob, header["lengths"])
        left_out, err_left_out = (int(value) for value in header["left_out"])
        return CommandResult(
            stdout=_text(head, tail, left_out),
            stderr=_text(err_head, err_tail, err_left_out),
            exit_code=int(header["code"]),
            stdout_truncated=left_out > 0,
            stderr_truncated=err_left_out > 0,
            timed_out=header["stopped"] == "timeout",
            output_exceeded=header["stopped"] == "output",
            out_of_memory=bool(header.get("out_of_memory")),
            shell_restarted=bool(header.get("shell_restarted")),
            duration_s=float(header["seconds"]),
            cwd=str(header.get("cwd", "")).encode("utf-8", "backslashreplace").decode(),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SandboxDead(f"The sandbox answered a command with nonsense: {error!r}.") from error


def _processes(blob: bytes) -> list[Process]:
    """What the agent says about processes."""
    found = []
    try:
        while blob:
            line, _, rest = blob.partition(b"\n")
            pid, parent, length = (int(field) for field in line.split())
            if not 0 <= length <= len(rest):
                raise ValueError(f"{length} bytes of {len(rest)}")
            parts = rest[:length].split(b"\0")
            found.append(Process(pid, parent, tuple(part.decode("utf-8", "backslashreplace") for part in parts)))
            blob = rest[length:]
    except ValueError as error:
        raise SandboxDead(f"The sandbox answered with nonsense about its processes: {error}.") from error
    return found


def _cut(blob: bytes, lengths: Sequence[int]) -> list[bytes]:
    parts, start = [], 0
    for length in lengths:
        parts.append(blob[start : start + length])
        start += length
    return parts


def _text(head: bytes, tail: bytes, left_out: int) -> str:
    if not left_out:
        return (head + tail).decode("utf-8", "backslashreplace")
    first, last = (part.decode("utf-8", "backslashreplace") for part in (head, tail))
    return f"{first}\n[... {left_out} bytes left out ...]\n{last}"
