"""`backend="real"`: the domain's own dynamics."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from agentworld_envs.interface import Action, Backend, Domain, Session, Task, Transition, Verdict, World, classify

logger = logging.getLogger(__name__)

MAX_THREADS = 64
"""Sandboxes that are stepped at a time."""
R = TypeVar("R")


class RealConfig(BaseModel):
    """Configuration of the real backend."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def build(self) -> RealBackend:
        return RealBackend()


class RealSession(Session):
    """An episode in a world."""

    world: World | None = None
    """`None` when the world could not be opened, or was closed."""

    def verdict(self) -> Verdict:
        assert self.world is not None, "stepped after close"
        return self.domain.verify(self.task, self.world.evidence())

    def final(self, steps: int) -> Verdict:
        assert self.world is not None, "stepped after close"
        return self.domain.verify(self.task, self.world.final_evidence())

    def commands(self) -> list[str]:
        return self.world.commands() if self.world is not None else []


class RealBackend(Backend):
    """Runs worlds that cannot disturb each other.

    Worlds in sandboxes wait for other processes, so that a batch of them is opened and stepped by as many threads: one
    slow command does not hold the others up. All other worlds run one after the other in the calling thread.
    """

    name = "real"
    source = "real"

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        return self._each(domain, self._open, [(domain, task, seed) for task, seed in zip(tasks, seeds, strict=True)])

    @staticmethod
    def _open(domain: Domain, task: Task, seed: int) -> Session:
        session = RealSession(domain, task, seed)
        try:
            session.world = domain.world(task)
            session.observation = session.world.reset()
            session.sandbox = domain.machines.kind if domain.machines is not None else ""
        except Exception as error:  # noqa: BLE001 - one world that cannot be opened must not stop the others
            session.failure = classify(error)
        return session

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        domain = sessions[0].domain if sessions else None
        return self._each(domain, self._act, list(zip(sessions, actions, strict=True)))

    def _each(self, domain: Domain | None, function: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        if domain is None or not domain.needs_sandbox or len(arguments) < 2:
            return [function(*each) for each in arguments]
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MAX_THREADS, "real-world")
        return list(self._threads.map(lambda each: function(*each), arguments))

    @staticmethod
    def _act(session: Session, action: Action) -> Transition:
        assert isinstance(session, RealSession)
        assert session.world is not None, "stepped after close"
        try:
            return Transition(session.world.act(action), "real", terminated=session.world.ended)
        except Exception as error:  # noqa: BLE001 - an escape from one world is that slot's failure
            return Transition("", "real", failure=classify(error))

    def fork(self, session: Session) -> Session:
        assert isinstance(session, RealSession)
        twin = RealSession(session.domain, session.task, session.seed)
        twin.observation, twin.failure = session.observation, session.failure
        twin.sandbox = session.sandbox
        twin.world = session.world.fork() if session.world is not None else None
        return twin

    def close(self, sessions: Sequence[Session]) -> None:
        for session in sessions:
            assert isinstance(session, RealSession)
            world, session.world = session.world, None
            if world is not None:
                try:
                    world.close()
                except Exception:  # the other worlds have to be closed all the same
                    logger.exception("A world of task %s could not be closed.", session.task.id)

    def shutdown(self) -> None:
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
