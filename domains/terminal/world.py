"""`TerminalWorld`: the real dynamics of an episode, in a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.checks import Check
from agentworld_envs.domains.terminal.clock import Clock
from agentworld_envs.domains.terminal.command import Command, Kind, read
from agentworld_envs.domains.terminal.evidence import gather, running
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.start import prepare
from agentworld_envs.interface import Action, Evidence, SandboxError, SandboxRefused, SessionLost, Tampered, World
from agentworld_envs.interface.sandbox import CommandResult, Machines, Sandbox

COMMAND_SECONDS = 30.0
"""A bare command is stopped after this long."""


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
        self._done: list[Action] = []
        """What was done so far, to do it again where a copy of the files would not be the same state."""
        self._typed = False
        self._ended = False
        self._facts: dict[str, Any] | None = None

    def reset(self) -> str:
        self._sandbox = self._machines.take()
        prepare(self._sandbox, self._start)
        self._clock = Clock()
        return f"{self._instruction}\n\n{wording.prompt(self._cwd)}".rstrip(" ")

    def act(self, action: Action) -> str:
        if self._ended:
            return wording.ENDED
        command = read(action)
        self._done.append(action)
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
        except (SessionLost, Tampered):
            raise
        self._cwd = getattr(result, "cwd", "") or before
        return wording.turn(before, command, _output(result), self._cwd)

    def _type(self, command: Command) -> str:
        sandbox = self._open()
        self._typed = True
        screen = ""
        for stroke in command.strokes:
            screen = sandbox.screen(stroke.typed, stroke.seconds)
        return screen.rstrip()

    def evidence(self) -> Evidence:
        return {}

    def final_evidence(self) -> Evidence:
        if self._facts is None:
            sandbox = self._open()
            processes = running(sandbox, self._checks)
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
        return {"final": True, **self._facts}

    def fork(self) -> TerminalWorld:
        """An independent world in the same state.

        Files and the state of the shell are copied. Processes cannot be: while any runs in the background, or once
        something was typed into the terminal, the twin gets there by doing all actions again.
        """
        twin = TerminalWorld(self._machines, self._start, self._instruction, self._checks)
        if self._sandbox is None:
            twin.__dict__.update(self.__dict__)
            return twin
        try:
            if self._typed or self._start.services:
                twin.reset()
                for action in list(self._done):
                    twin.act(action)
            else:
                self._copy_to(twin)
        except BaseException:
            twin.close()
            raise
        return twin

    def _copy_to(self, twin: TerminalWorld) -> None:
        sandbox = self._open()
        pass
        twin._sandbox = sandbox.fork()
        pass
        twin._clock, twin._cwd, twin._asked, twin._ended = self._clock, self._cwd, self._asked, self._ended
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
    text = result.stdout
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
