"""`WorldModelSession`: an imagined episode: its turns so far, and what code concludes from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agentworld_envs.backends.world_model.codec import render_action_turn, render_observation
from agentworld_envs.backends.world_model.engines.base import Message
from agentworld_envs.interface import Action, Domain, Session, SimulationSpec, Task, Tracker, Verdict, classify


class Turn(NamedTuple):
    """One action, the observation that was predicted for it, and both as messages for the turns to come."""

    action: Action
    observation: str
    messages: tuple[Message, Message]


class WorldModelSession(Session):
    """One episode on a world model.

    Score, success and admissible commands come from the domain's tracker, which is code; the model's text is only
    what the agent reads. Opening it asks no model: the first observation is the domain's own.
    """

    def __init__(self, domain: Domain, task: Task, seed: int) -> None:
        super().__init__(domain, task, seed)
        self.spec = SimulationSpec(system="", first_observation="", prompt_version="")
        self.history: list[Turn] = []
        """Turns that are over."""
        self.pending: Action | None = None
        """The action whose observation is being predicted, `None` between steps."""
        self.tracker: Tracker | None = None
        """`None` when the session could not be opened."""
        self.beginning: Tracker | None = None
        """The tracker as it was before the first action. Do not change."""
        self.closed = False
        self.instruction, self.turn_instruction = "", ""
        self._blocks: Callable[[str], bool] | None = None
        try:
            self.spec = domain.simulation(task)
            self.tracker = domain.tracker(task)
            self.beginning = self.tracker.fork()
            self.observation = self.spec.first_observation
        except Exception as error:  # noqa: BLE001 - a task that cannot be briefed is the failure of its own slot
            self.failure = classify(error)

    @property
    def actions(self) -> list[Action]:
        """Every action so far, the pending one last; a fresh list."""
        done = [turn.action for turn in self.history]
        return done if self.pending is None else [*done, self.pending]

    def action_message(self, action: Action, suffix: str = "", state: str = "") -> Message:
        """`action` as the user message of the next turn. `state`: shown in place of what the first turn begins with."""
        number = len(self.history) + 1
        state = state or (self.spec.state if number == 1 else "")
        text = self.domain.wire(self.task, action)
        return Message("user", render_action_turn(number, text, self.spec.action_fence, suffix, state))

    def instruct(self, *, episode: str = "", turn: str = "", blocks: Callable[[str], bool] | None = None) -> None:
        self.instruction = episode or self.instruction
        self.turn_instruction, self._blocks = turn, blocks

    @property
    def instructed(self) -> bool:
        """Whether the next prompt has an instruction in it."""
        return bool(self.instruction or self.turn_instruction)

    def advance(self, action: Action, observation: str) -> None:
        """Book one predicted turn.

        Raises:
            Exception: whatever the domain's tracker raises; the session is then as it was, as far as the tracker is.
        """
        blocked = self._blocks is not None and self._blocks(observation)
        if self.tracker is not None and not blocked:
            self.tracker.observe(action, observation)
        messages = (self.action_message(action), Message("assistant", render_observation(observation)))
        self.history.append(Turn(action, observation, messages))

    def force(self, turns: int, before: Tracker | None, action: Action, observation: str) -> None:
        """Put a turn that really happened in the place of the predicted one (teacher forcing).

        Args:
            turns: length of the history before the prediction; there may be none, when it failed.
            before: the tracker as it was before the prediction, given away: fork it ahead of the step.
            action, observation: the turn.

        Raises:
            Exception: as `advance`.
        """
        del self.history[turns:]
        self.tracker = before
        self.advance(action, observation)

    def verdict(self) -> Verdict:
        if self.tracker is None:
            return Verdict(0.0, False)
        return self.domain.verify(self.task, self.tracker.evidence())

    def final(self, steps: int) -> Verdict:
        if self.tracker is None:
            return Verdict(0.0, False)
        return self.domain.verify(self.task, self.tracker.final_evidence())

    def commands(self) -> list[str]:
        return [] if self.tracker is None else self.tracker.commands()

    def fork(self) -> WorldModelSession:
        """An independent session with the same turns. A flat copy of the list of turns and the tracker's own fork."""
        twin = WorldModelSession.__new__(WorldModelSession)
        Session.__init__(twin, self.domain, self.task, self.seed)
        twin.observation, twin.failure = self.observation, self.failure
        twin.spec, twin.history, twin.pending = self.spec, list(self.history), None
        twin.closed = False
        twin.instruction, twin.turn_instruction, twin._blocks = self.instruction, "", None
        twin.beginning = self.beginning
        twin.tracker = None if self.tracker is None else self.tracker.fork()
        return twin
