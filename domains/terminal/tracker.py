"""`TerminalTracker`: what a simulated episode has shown, and what its commands are certain to have done."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.checks import Check
from agentworld_envs.domains.terminal.command import Kind, read
from agentworld_envs.domains.terminal.consistency import contradictions
from agentworld_envs.domains.terminal.effects import Unfollowed, follow
from agentworld_envs.domains.terminal.memory import Memory
from agentworld_envs.domains.terminal.recall import recall
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.interface import Action, Evidence, Frame, Tracker


class TerminalTracker(Tracker):
    """Follows simple commands exactly, and knows what it does not know.

    After a command that it cannot follow nothing is known any more: it may have changed any file, left a process that
    will, or given the names of other commands a new meaning. The contents of a file that a program wrote are not known
    until the simulator shows them. The verdict on an episode is undetermined where a check needs what is not known.
    """

    def __init__(self, start: InitialState, checks: Sequence[Check]) -> None:
        """Args: start: of the task. checks: of the task; they only say which paths matter."""
        self._checks = checks
        self.belief = Belief.at_start(start)
        """Folder, files and processes, as far as they are known."""
        self._memory = Memory(self.belief.fork())
        self._asked = False
        self._ended = False

    def answer(self, action: Action) -> str | None:
        command = read(action)
        if self._ended or command.kind is Kind.SUBMIT:
            return wording.ENDED
        if command.kind is Kind.DONE:
            return wording.ENDED if self._asked else wording.CONFIRM
        return None

    def frame(self, action: Action) -> Frame | None:
        command, cwd = read(action), self.belief.cwd
        if command.kind is not Kind.RUN or cwd is None:
            return None
        lead = wording.turn(cwd, command.text, "", cwd).rpartition(wording.prompt(cwd).rstrip())[0]
        after = self.belief.fork()
        with contextlib.suppress(Unfollowed):
            follow(after, command.text)
        return Frame(lead, f"{wording.USER}@{wording.HOST}:", wording.prompt(after.cwd or cwd).rstrip(" "))

    def observe(self, action: Action, observation: str) -> None:
        command = read(action)
        confirmed, self._asked = self._asked, command.kind is Kind.DONE
        if command.kind is Kind.SUBMIT or (command.kind is Kind.DONE and confirmed):
            self._ended = True
        before = self._memory.begin(self.belief)
        if command.kind is Kind.RUN:
            self.belief.run(command.text, observation)
        elif command.kind is Kind.KEYS:
            self.belief.type(command.strokes)
        self._memory.end(before, self.belief, command.text, observation)

    def recall(self, action: Action, limit: int) -> str:
        command = read(action)
        typed = command.kind is Kind.KEYS
        text = " ".join(stroke.keys for stroke in command.strokes) if typed else command.text
        return recall(self.belief, self._memory, text, limit, typed=typed)

    def contradictions(self, action: Action, observation: str) -> list[str]:
        command = read(action)
        if command.kind is not Kind.RUN or self._ended:
            return []
        return contradictions(self.belief, command.text, observation)

    def evidence(self) -> Evidence:
        return {}

    def final_evidence(self) -> Evidence:
        paths = {path for check in self._checks for path in check.paths()}
        trees = {path for check in self._checks for path in check.trees()}
        return {"final": True, **self.belief.facts(paths, trees)}

    def fork(self) -> TerminalTracker:
        twin = TerminalTracker.__new__(TerminalTracker)
        twin._checks, twin.belief = self._checks, self.belief.fork()
        twin._memory = self._memory.fork()
        twin._asked, twin._ended = self._asked, self._ended
        return twin

    @property
    def ended(self) -> bool:
        return self._ended
