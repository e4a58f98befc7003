"""`Turn`: one step of one controlled session, before and after the inner backend is asked."""

from __future__ import annotations

from functools import partial

from agentworld_envs.backends.control.alter import alter
from agentworld_envs.backends.control.obedience import obeyed
from agentworld_envs.backends.control.session import ControlledSession
from agentworld_envs.backends.control.wording import told
from agentworld_envs.interface import Action, Injection, Source, Transition
from agentworld_envs.interface.control import episode_rng
from agentworld_envs.interface.fault import EXPLICIT, ExplicitKind, FaultKind


class Turn:
    """Lets at most one fault hit an action: the first explicit one that is due, else the first that finds something to
    change in the answer. In an instruction, where the answer is not known yet: the first one that is due."""

    def __init__(self, session: ControlledSession, action: Action) -> None:
        self.session, self.action = session, action
        self.transition: Transition | None = None
        """Set when it is known; before the inner backend is asked only where a fault keeps it from being asked."""
        self._due: list[int] = []
        """Numbers of the faults that may hit the action, the first one first."""
        self._told: int | None = None
        """Number of the fault that a world model was told to make."""

    def begin(self, source: Source) -> None:
        """What has to happen before the action is executed."""
        self._due = self.session.schedule.due(self.action)
        if self.session.control.inject == "code":
            self._block(source)
        if self.transition is None and self.session.control.instructs:
            self._instruct()

    def _block(self, source: Source) -> None:
        """Keep the action from being executed, when an explicit fault can hit it."""
        for index in self._due:
            kind = self._kind(index)
            text = self._fault_text(kind) if kind in EXPLICIT else None
            if text is not None:
                self.transition = Transition(text, source)
                self._hit(index, executed=False)
                self.session.history.append((self.action, text))
                self.session.whole = None
                return

    def _instruct(self) -> None:
        """Tell the simulator what holds for this turn, a fault included."""
        session = self.session
        texts = [
            instruction.text for instruction in session.control.instruction if instruction.holds(session.schedule.step)
        ]
        blocks = None
        if session.control.inject == "instruction":
            index = next((index for index in self._due if self._can_be_told(index)), None)
            if index is not None:
                self._told, kind = index, self._kind(index)
                texts.append(told(kind))
                blocks = partial(self._is_blocked, kind) if kind in EXPLICIT else None
        session.inner.instruct(turn="\n".join(texts), blocks=blocks)

    def _can_be_told(self, index: int) -> bool:
        return self._can_fail() and (self._kind(index) != "stale" or bool(self.session.history))

    def end(self, transition: Transition) -> None:
        """What has to happen to the answer of the inner backend."""
        session = self.session
        self.transition = transition
        if transition.failure is not None:
            return
        data = session.data(self.action, transition.observation)
        if self._told is not None:
            did = self._obeys(self._kind(self._told), transition.observation)
            blocked = self._kind(self._told) in EXPLICIT and did is True
            self._hit(self._told, executed=not blocked, did=did)
        elif session.control.inject == "code" and self._due and self._can_fail():
            self._alter(transition, data)
        session.history.append((self.action, transition.observation))
        session.whole = (self.action.command, data) if transition.fault is None else None

    def _alter(self, transition: Transition, data: str) -> None:
        """Change the answer by the first implicit fault that finds something to change in it."""
        session = self.session
        start, end = session.domain.fault_span(session.task, self.action, transition.observation)
        for index in self._due:
            kind = self._kind(index)
            if kind in EXPLICIT:
                continue
            rng = episode_rng(session.seed, session.task, index, session.schedule.step)
            changed = alter(kind, data, session.previous, rng)
            if changed is not None:
                seen = transition.observation
                if changed and end < len(seen) and seen[:end].endswith("\n") and not changed.endswith("\n"):
                    changed += "\n"  # what follows stands on a line of its own
                transition.observation = seen[:start] + changed + seen[end:]
                self._hit(index, executed=True)
                return

    def _hit(self, index: int, *, executed: bool, did: bool | None = None) -> None:
        """Book a fault on the transition."""
        session, transition = self.session, self.transition
        assert transition is not None, "there is nothing yet that a fault could have hit"
        session.schedule.spend(index)
        session.injected += 1
        fault = Injection(self._kind(index), session.injected, session.control.inject, executed, did)
        transition.fault = fault
        transition.flags = {**transition.flags, "fault": fault._asdict()}

    def _kind(self, index: int) -> FaultKind:
        return self.session.schedule.faults[index].kind

    def _fault_text(self, kind: ExplicitKind) -> str | None:
        session = self.session
        return session.domain.fault_text(session.task, self.action, kind, session.history)

    def _can_fail(self) -> bool:
        return self._fault_text("error") is not None

    def _obeys(self, kind: FaultKind, observation: str) -> bool | None:
        session = self.session
        if kind == "stale" and session.history and observation.strip() == session.history[-1][1].strip():
            return True  # it was repeated with everything around
        again = session.whole is not None and session.whole[0] == self.action.command
        whole = session.whole[1] if session.whole is not None and again else None
        return obeyed(kind, session.data(self.action, observation), session.previous, whole)

    def _is_blocked(self, kind: FaultKind, observation: str) -> bool:
        return self._obeys(kind, observation) is True
