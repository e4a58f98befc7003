"""`backend="real"`: the domain's own dynamics."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from agentworld_envs.interface import Action, Backend, Domain, Session, Task, Transition, Verdict, World, classify

logger = logging.getLogger(__name__)


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
    """Runs worlds one after the other in the calling thread; the worlds of one batch cannot disturb each other."""

    name = "real"
    source = "real"

    def open(self, domain: Domain, tasks: Sequence[Task], seeds: Sequence[int]) -> list[Session]:
        sessions: list[Session] = []
        for task, seed in zip(tasks, seeds, strict=True):
            session = RealSession(domain, task, seed)
            try:
                session.world = domain.world(task)
                session.observation = session.world.reset()
            except Exception as error:  # noqa: BLE001 - one world that cannot be opened must not stop the others
                session.failure = classify(error)
            sessions.append(session)
        return sessions

    def step(self, sessions: Sequence[Session], actions: Sequence[Action]) -> list[Transition]:
        return [self._act(session, action) for session, action in zip(sessions, actions, strict=True)]

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
