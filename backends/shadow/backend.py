"""`ShadowBackend`: steps reality and a world model in lock-step on the same actions."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

from agentworld_envs.backends.real import RealBackend, RealSession
from agentworld_envs.backends.shadow.pair import Pair, Scorer
from agentworld_envs.backends.shadow.record import Side
from agentworld_envs.backends.shadow.session import ShadowSession
from agentworld_envs.backends.world_model import WorldModelBackend, WorldModelSession
from agentworld_envs.interface import (
    Action,
    Backend,
    ConfigError,
    Domain,
    Session,
    Source,
    Task,
    Transition,
    Usage,
    classify,
)

THREADS = 4
"""Vector steps (of different environments on one backend) whose real halves run at a time."""


class ShadowBackend(Backend):
    """One real step of the batch and one batched generation per vector step.

    The agent plays the shown side, which is what it would be without the other one. A hidden side that fails or ends
    is recorded (`ShadowSession.records`, and flag `shadow` of every transition) and changes nothing for the agent.

    Teacher-forced, the simulator's history and tracker hold the real observations: every step is predicted from a true
    past, also after a failed prediction. Free-running, they hold its own, so that errors add up; after a failure the
    simulated episode is over, as it would be alone.
    """

    name = "shadow"
    source: ClassVar[Source] = "real"
    shown: ClassVar[Side] = "real"

    def __init__(
        self, real: RealBackend, simulator: WorldModelBackend, *, forced: bool = True, scorer: Scorer | None = None
    ) -> None:
        """Put the two together; `shutdown` shuts both down.

        Args:
            forced: whether the simulator's history holds the real observations (else its own).
            scorer: compares the observations of every step; `None` for none.
        """
        self.real = real
        self.simulator = simulator
        self.forced = forced
        self.scorer = scorer
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        """Start both sides of every task. A session fails only if its shown side does."""
        real = self.real.open(domain, tasks, seeds)
        simulated = self.simulator.open(domain, tasks, seeds)
        return [ShadowSession(r, _simulated(s), self.shown) for r, s in zip(real, simulated, strict=True)]

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        """Step both sides of every session, side by side where reality waits for other processes."""
        pairs = [Pair(_ours(s), action, forced=self.forced) for s, action in zip(sessions, actions, strict=True)]
        domain = sessions[0].domain if sessions else None
        if domain is not None and domain.needs_sandbox and any(pair.stepped["real"] for pair in pairs):
            real = self._thread(lambda: self._take("real", pairs))
            try:
                self._take("world_model", pairs)
            finally:
                real.result()
        else:
            self._take("real", pairs)
            self._take("world_model", pairs)
        return [pair.finish(self.scorer) for pair in pairs]

    def _thread(self, function: Callable[[], None]) -> Future[None]:
        if self._threads is None or self._pid != os.getpid():  # a forked child has none of its parent's threads
            self._threads, self._pid = ThreadPoolExecutor(THREADS, "shadow-real"), os.getpid()
        return self._threads.submit(function)

    def _take(self, side: Side, pairs: Sequence[Pair]) -> None:
        """Step one side of all pairs that have it."""
        backend: Backend = self.real if side == "real" else self.simulator
        live = [pair for pair in pairs if pair.stepped[side]]
        if not live:
            return
        started = time.perf_counter()
        try:
            transitions = backend.step([pair.session.sides[side] for pair in live], [pair.action for pair in live])
            if len(transitions) != len(live):
                raise RuntimeError(f"{backend.name} returned {len(transitions)} transitions for {len(live)}.")
        except Exception as error:  # noqa: BLE001 - one side that breaks its contract must not spoil the other
            transitions = [Transition("", side, failure=classify(error)) for _ in live]
        seconds = (time.perf_counter() - started) / len(live)
        for pair, transition in zip(live, transitions, strict=True):
            if transition.usage is None:
                transition.usage = Usage(seconds=seconds)
            pair.taken[side] = transition

    def fork(self, session: Session) -> Session:
        """An independent session in the same state on both sides.

        A hidden side that cannot be copied is lost in the twin, which is no matter of the shown one.

        Raises:
            Exception: what the shown side raises.
        """
        ours = _ours(session)
        if ours.shown == "real":
            try:
                simulated = _simulated(self.simulator.fork(ours.simulated))
            except Exception as error:  # noqa: BLE001 - see above
                simulated = WorldModelSession(ours.domain, ours.task, ours.seed)
                simulated.failure = classify(error)
            return ours.fork_onto(self.real.fork(ours.sides["real"]), simulated)
        simulated = _simulated(self.simulator.fork(ours.simulated))
        try:
            real = self.real.fork(ours.sides["real"])
        except Exception as error:  # noqa: BLE001 - see above
            real = RealSession(ours.domain, ours.task, ours.seed)
            real.failure = classify(error)
        return ours.fork_onto(real, simulated)

    def close(self, sessions: Sequence[Session]) -> None:
        self.simulator.close([_ours(session).simulated for session in sessions])
        self.real.close([_ours(session).sides["real"] for session in sessions])

    def release(self) -> None:
        """End this backend's own threads, and leave the two backends below to their owner. Idempotent."""
        threads, self._threads = self._threads, None
        if threads is not None and self._pid == os.getpid():
            threads.shutdown()

    def shutdown(self) -> None:
        self.release()
        try:
            self.simulator.shutdown()
        finally:
            self.real.shutdown()

    def describe(self) -> dict[str, Any]:
        """Which side is shown, how the simulator goes on, and what it is."""
        mode = "teacher_forced" if self.forced else "free_running"
        return {"name": self.name, "shown": self.shown, "mode": mode, "world_model": self.simulator.describe()}


class ShownSimulation(ShadowBackend):
    """The agent plays the simulated episode; the real one follows. Never teacher-forced."""

    source = "world_model"
    shown = "world_model"


def _ours(session: Session) -> ShadowSession:
    if not isinstance(session, ShadowSession):
        raise ConfigError(f"Expected a session of the shadow backend, got a {type(session).__name__}.")
    return session


def _simulated(session: Session) -> WorldModelSession:
    assert isinstance(session, WorldModelSession), "the simulator is a world-model backend"
    return session
