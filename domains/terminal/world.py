"""`TerminalWorld`: the real dynamics of an episode, in a sandbox."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.checks import Check
from agentworld_envs.domains.terminal.clock import Clock
from agentworld_envs.domains.terminal.command import Command, Kind, read
from agentworld_envs.domains.terminal.evidence import gather
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.start import prepare
from agentworld_envs.interface import Action, Evidence, SandboxError, SandboxRefused, Tampered, World
from agentworld_envs.interface.machines import Machines
from agentworld_envs.interface.sandbox import Sandbox
from agentworld_envs.interface.sandbox_facts import CommandResult

logger = logging.getLogger(__name__)

COMMAND_SECONDS = 30.0
"""A bare command is stopped after this long."""
_FIND_SECONDS = 20.0
_UNCOPIED = """
[ -z "$(find /workspace /home/agent /tmp /var/tmp -xdev -type f -links +1 -print -quit)" ] || echo hard links
[ -z "$(ls -A /dev/shm 2>/dev/null)" ] || echo shared memory
"""
OPEN_SECONDS = 10.0
"""The terminal's shell may take this long to show its first prompt."""


class TerminalWorld(World):
    """A shell in a sandbox, and a terminal with a shell of its own in the same sandbox for keystrokes."""

    def __init__(self, machines: Machines, start: InitialState, instruction: str, checks: Sequence[Check]) -> None:
        """Opens nothing yet.

        Args:
            machines: where the sandboxes come from.
            start: what is there at the beginning.
            instruction: the task, which the first observation carries.
            checks: decide what is looked at in the end. Nothing of them gets into the sandbox while the agent is there.
        """
        self._machines = machines
        self._start = start
        self._instruction = instruction
        self._checks = checks
        self._sandbox: Sandbox | None = None
        self._clock = Clock()
        self._cwd = start.cwd
        self._asked = False
        """Whether the latest action was the first `[]`."""
        self._done: list[tuple[Action, str]] = []
        """What was done so far and shown, to do it again where a copy of the files would not be the same state."""
        self._typed = False
        self._ended = False
        self._facts: dict[str, Any] | None = None

    def reset(self) -> str:
        self._sandbox = self._machines.take()
        prepare(self._sandbox, self._start)
        return f"{self._instruction}\n\n{wording.prompt(self._cwd)}".rstrip(" ")

    def act(self, action: Action) -> str:
        if self._ended:
            return wording.ENDED
        shown = self._act(action)
        self._done.append((action, shown))
        return shown

    def _act(self, action: Action) -> str:
        command = read(action)
        confirmed, self._asked = self._asked, command.kind is Kind.DONE
        if command.kind is Kind.SUBMIT or (command.kind is Kind.DONE and confirmed):
            self._ended = True
            return wording.ENDED
        if command.kind is Kind.DONE:
            return wording.CONFIRM
        text = self._type(command) if command.kind is Kind.KEYS else self._run(command.text)
        return self._clock.settle(text)

    def _run(self, command: str) -> str:
        sandbox = self._open()
        before = self._cwd
        try:
            result = sandbox.run(command, COMMAND_SECONDS, merge_stderr=True)
        except SandboxRefused as error:  # too long for one request
            return wording.turn(before, command, f"bash: {error}\n", before)
        except Tampered:  # the agent's own act, not a failure of the machine: its shell is gone, and that is all
            return wording.turn(before, command, wording.NEW_SHELL, before)
        self._cwd = result.cwd or before
        return wording.turn(before, command, _output(result), self._cwd)

    def _type(self, command: Command) -> str:
        sandbox = self._open()
        screen = ""
        if not self._typed:  # what is typed before the first prompt would be shown twice
            self._typed = True
            sandbox.screen("", OPEN_SECONDS, until_idle=True)
        for stroke in command.strokes:
            screen = sandbox.screen(stroke.typed, stroke.seconds, until_idle=bool(stroke.keys))  # no keys: it waits
        return screen.rstrip()

    def evidence(self) -> Evidence:
        return {}

    def final_evidence(self) -> Evidence:
        if self._facts is None:
            sandbox = self._open()
            processes = [" ".join(process.args) for process in sandbox.processes()]
            try:
                snapshot = sandbox.freeze()
            except SandboxRefused:  # a kind without isolation: whoever chose it trusts the agent
                self._facts = gather(sandbox, self._checks)
            else:
                self._sandbox = None
                with snapshot, snapshot.start() as judge:
                    self._facts = gather(judge, self._checks)
            self._facts["processes"] = processes
            self._ended = True
        return {"final": True, "complete": True, **self._facts}

    def fork(self) -> TerminalWorld:
        """An independent world in the same state.

        Files and the state of the shell are copied. Processes, open terminals, shared memory and hard links cannot
        be: where there are any, the twin gets there by doing all actions again in a fresh sandbox. When that shows
        anything else than it did the first time, copying is the lesser evil, and a warning says what the twin lacks.
        (Not carried over in any case: open descriptors of the shell, its history, pids.)
        """
        twin = self._new()
        if self._sandbox is None:
            twin.__dict__.update(self.__dict__)
            return twin
        lacking = self._not_copied()
        if lacking:
            with contextlib.ExitStack() as undo:
                undo.callback(twin.close)
                if self._do_again(twin):
                    undo.pop_all()
                    return twin
            logger.warning("A fork of a terminal lacks what cannot be copied (%s).", lacking)
            twin = self._new()
        try:
            self._copy_to(twin)
        except BaseException:
            twin.close()
            raise
        return twin

    def _new(self) -> TerminalWorld:
        return TerminalWorld(self._machines, self._start, self._instruction, self._checks)

    def _not_copied(self) -> str:
        """What a copy of the files and of the shell's state would not have; empty when it has all."""
        sandbox = self._open()
        if self._typed:
            return "the terminal"
        if self._start.services or sandbox.processes():
            return "processes"
        found = sandbox.exec(["bash", "-c", _UNCOPIED], _FIND_SECONDS, cwd="/")
        return found.stdout.strip() or ("" if found.exit_code == 0 else "files that cannot be looked at")

    def _do_again(self, twin: TerminalWorld) -> bool:
        """Bring the twin here by the same actions. Gives whether it was shown the same."""
        twin.reset()
        return all(twin.act(action) == shown for action, shown in list(self._done))

    def _copy_to(self, twin: TerminalWorld) -> None:
        sandbox = self._open()
        state = sandbox.shell_state()
        twin._sandbox = sandbox.fork()
        twin._sandbox.restore_shell(state)
        twin._cwd, twin._asked, twin._ended = self._cwd, self._asked, self._ended
        twin._done = list(self._done)

    @property
    def ended(self) -> bool:
        return self._ended

    def close(self) -> None:
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.close()

    def _open(self) -> Sandbox:
        if self._sandbox is None:
            raise SandboxError("The terminal's sandbox was closed.")
        return self._sandbox


def _output(result: CommandResult) -> str:
    text = wording.plain(result.stdout)
    notes = ""
    if result.timed_out:
        notes += wording.stopped(COMMAND_SECONDS)
    if result.output_exceeded:
        notes += wording.TOO_MUCH
    if result.out_of_memory:
        notes += wording.OUT_OF_MEMORY
    if result.shell_restarted:
        notes += wording.NEW_SHELL
    if notes and text and not text.endswith("\n"):
        text += "\n"
    return text + notes
