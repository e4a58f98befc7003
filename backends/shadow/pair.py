"""`Pair`: one shadow session's share of one vector step, from the action to the transition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from agentworld_envs.backends.shadow.record import Half, Side, StepRecord
from agentworld_envs.backends.shadow.session import ShadowSession
from agentworld_envs.interface import (
    Action,
    Domain,
    Failure,
    Source,
    Task,
    Tracker,
    Transition,
    Usage,
    Verdict,
    classify,
)


class Scorer(Protocol):
    """Compares a simulated observation with the real one of the same action. Pure."""

    def __call__(
        self, domain: Domain, task: Task, action: Action, real: str, simulated: str
    ) -> Mapping[str, float | None]:
        """Numbers by name; `None` where one does not apply."""


class Pair:
    """Steps the two sides of one session. Whatever goes wrong in it stays in it."""

    def __init__(self, session: ShadowSession, action: Action, *, forced: bool) -> None:
        """Args: forced: whether the simulator goes on from the real observation."""
        self.session = session
        self.action = action
        self.forced = forced
        self.taken: dict[Side, Transition] = {}
        self._turns = len(session.simulated.history)
        self._before: Tracker | None = None
        if forced and session.steppable("world_model"):
            try:
                tracker = session.simulated.tracker
                self._before = None if tracker is None else tracker.fork()
            except Exception as error:  # noqa: BLE001 - the simulated side's trouble is its own
                session.lose("world_model", classify(error))
        self._beyond = not forced and session.beyond
        self.stepped = {side: session.steppable(side) for side in session.sides}

    def finish(self, scorer: Scorer | None) -> Transition:
        """Book both answers and give the shown one."""
        session = self.session
        real, simulated = self.taken.get("real"), self.taken.get("world_model")
        if self.forced and simulated is not None and real is not None and real.failure is None:
            self._force(real.observation)
        halves = {side: self._half(side) for side in session.sides}
        scores, trouble = self._compare(scorer)
        record = StepRecord(
            step=len(session.records) + 1,
            action=self.action,
            shown=session.shown,
            forced=self.forced,
            beyond=self._beyond,
            real=halves["real"],
            simulated=halves["world_model"],
            scores=scores,
            scoring_failure=trouble,
            flags={} if simulated is None else simulated.flags,
        )
        self._settle(halves)
        session.records.append(record)
        return self._shown(record)

    def _compare(self, scorer: Scorer | None) -> tuple[Mapping[str, float | None], Failure | None]:
        """Scores where both sides gave an observation, or why there are none."""
        session, real, simulated = self.session, self.taken.get("real"), self.taken.get("world_model")
        if scorer is None or real is None or simulated is None or real.failure or simulated.failure:
            return {}, None
        try:
            found = scorer(session.domain, session.task, self.action, real.observation, simulated.observation)
        except Exception as error:  # noqa: BLE001 - a comparison that fails must not end an episode
            return {}, classify(error)
        return found, None

    def _force(self, observation: str) -> None:
        """Let the simulator go on from what really happened."""
        try:
            self.session.simulated.force(self._turns, self._before, self.action, observation)
        except Exception as error:  # noqa: BLE001 - the domain's tracker failed, which is the simulated side's trouble
            self.session.lose("world_model", classify(error))

    def _half(self, side: Side) -> Half | None:
        transition = self.taken.get(side)
        if transition is None:
            return None
        verdict: Verdict | None = None
        failure = transition.failure
        if failure is None or (side == "world_model" and self.forced):
            try:
                verdict = self.session.sides[side].verdict()
                self.session.decide(side, verdict)
            except Exception as error:  # noqa: BLE001 - the shown side's verdict is asked for again, and raises there
                failure = failure or (None if side == self.session.shown else classify(error))
        return Half(transition.observation, transition.terminated, failure, verdict)

    def _settle(self, halves: Mapping[Side, Half | None]) -> None:
        """What follows for the next step."""
        session = self.session
        for side, half in halves.items():
            if half is None or (side == "world_model" and self.forced):
                continue  # a forced simulator goes on from what really happened, whatever it said
            if half.failure is not None:
                session.lose(side, half.failure)
            elif half.terminated:
                session.end(side)
        if not self.forced:
            session.note_parting()

    def _shown(self, record: StepRecord) -> Transition:
        session = self.session
        shown = self.taken.get(session.shown)
        if shown is None:  # not steppable: the runner does not ask for it, others may
            failure = session.failure_of(session.shown) or Failure("internal", "This episode has ended.", False)
            shown = Transition("", session.shown, failure=failure)
        hidden = self.taken.get(session.hidden)
        bills: list[tuple[Source, Usage]] = []
        if hidden is not None and hidden.usage is not None:
            bills.append((hidden.source, hidden.usage))
        return Transition(
            observation=shown.observation,
            source=shown.source,
            terminated=shown.terminated,
            failure=shown.failure,
            usage=shown.usage,
            other_usage=bills,
            flags={**shown.flags, **record.flags, "shadow": record.to_json()},
        )
