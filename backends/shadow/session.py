"""`ShadowSession`: a real and a simulated episode of one task, of which one is shown."""

from __future__ import annotations

from typing import Literal

from agentworld_envs.backends.shadow.record import Outcome, Parting, Side, StepRecord
from agentworld_envs.backends.world_model import WorldModelSession
from agentworld_envs.interface import Failure, Session, Verdict, classify


class ShadowSession(Session):
    """One episode, twice. The hidden side can neither end nor spoil it.

    Verdicts and commands are those of the shown side; those of the hidden one are in `records` and `outcomes`.
    """

    def __init__(self, real: Session, simulated: WorldModelSession, shown: Side) -> None:
        """Args: real, simulated: freshly opened, of the same task and seed. shown: which of them the agent plays."""
        super().__init__(real.domain, real.task, real.seed)
        self.sides: dict[Side, Session] = {"real": real, "world_model": simulated}
        self.shown: Side = shown
        self.records: list[StepRecord] = []
        """One for every action that reached the backend."""
        self.outcomes: dict[Side, Outcome] = {}
        """How the two sides came out; filled when the shown episode has ended without a failure."""
        self.parting: Parting | None = None
        """Where one side's episode was over while the other's was not; `None` while they are in step."""
        self._lost: dict[Side, Failure] = {
            side: session.failure for side, session in self.sides.items() if session.failure is not None
        }
        self._ended: set[Side] = set()
        self._decided: dict[Side, Outcome] = {}
        if len(self._lost) == 1:
            self.parting = Parting(0, next(iter(self._lost)), "failed")
        face = self.sides[shown]
        self.observation, self.sandbox, self.failure = face.observation, face.sandbox, face.failure

    @property
    def simulated(self) -> WorldModelSession:
        """The simulated side."""
        session = self.sides["world_model"]
        assert isinstance(session, WorldModelSession)
        return session

    @property
    def hidden(self) -> Side:
        """The side that the agent does not see."""
        return "world_model" if self.shown == "real" else "real"

    def failure_of(self, side: Side) -> Failure | None:
        """Why a side cannot be stepped any more, `None` when it can."""
        return self._lost.get(side)

    def steppable(self, side: Side) -> bool:
        """Whether a side takes part in the next step."""
        return side not in self._lost and side not in self._ended

    def lose(self, side: Side, failure: Failure) -> None:
        """A side failed for good. The other goes on alone."""
        self._lost.setdefault(side, failure)
        self._part(side, "failed")

    def end(self, side: Side) -> None:
        """A side ended of itself."""
        self._ended.add(side)

    def note_parting(self) -> None:
        """Note, after a step, that one side's episode is over and the other's is not."""
        over = self._ended | set(self._decided)
        if len(over) == 1:
            [side] = over
            self._part(side, "ended" if side in self._ended else "decided")

    @property
    def beyond(self) -> bool:
        """Whether the hidden side's own episode is over by its verdict, though it is stepped on."""
        return self.hidden in self._decided

    def decide(self, side: Side, verdict: Verdict) -> None:
        """Keep the first verdict that is done: that side's own episode would have been over there."""
        if verdict.done and side not in self._decided:
            self._decided[side] = Outcome(verdict, step=len(self.records) + 1)

    def verdict(self) -> Verdict:
        return self.sides[self.shown].verdict()

    def final(self, steps: int) -> Verdict:
        """The shown side's final verdict; the hidden one's is taken too, and kept in `outcomes`.

        Raises:
            Exception: what the shown side raises.
        """
        self.outcomes[self.hidden] = self._outcome(self.hidden, steps)
        try:
            verdict = self.sides[self.shown].final(steps)
        except Exception as error:
            self.outcomes[self.shown] = Outcome(None, classify(error), len(self.records))
            raise
        self.outcomes[self.shown] = Outcome(verdict, step=len(self.records))
        return verdict

    def _outcome(self, side: Side, steps: int) -> Outcome:
        if side in self._decided:
            return self._decided[side]
        if side in self._lost:
            return Outcome(None, self._lost[side], len(self.records))
        try:
            return Outcome(self.sides[side].final(steps), step=len(self.records))
        except Exception as error:  # noqa: BLE001 - the hidden side's end is no matter of the shown episode
            return Outcome(None, classify(error), len(self.records))

    def commands(self) -> list[str]:
        return self.sides[self.shown].commands()

    def fork_onto(self, real: Session, simulated: WorldModelSession) -> ShadowSession:
        """The same episode on forked sides."""
        twin = ShadowSession(real, simulated, self.shown)
        twin.records = list(self.records)
        twin.outcomes, twin.parting = dict(self.outcomes), self.parting
        twin._lost.update(self._lost)
        twin._ended, twin._decided = set(self._ended), dict(self._decided)
        return twin

    def _part(self, side: Side, why: Literal["ended", "decided", "failed"]) -> None:
        if self.parting is None:
            self.parting = Parting(len(self.records) + 1, side, why)
