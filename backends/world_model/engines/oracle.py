"""`Oracle`: a perfect simulator, which is the real world itself."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from agentworld_envs.interface import Action, Session, World

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.session import WorldModelSession

MOST_WORLDS: Final = 64
"""Worlds that are kept at a time; those that were not asked for longest are closed and made again when needed."""


class _Run(NamedTuple):
    session: WorldModelSession
    world: World
    done: list[Action]
    observation: str


class Oracle:
    """Does the actions of an episode in a real world of its own, and says what came of the last one.

    It exists to test everything around a simulator: with it, a simulated episode has to equal the real one. The world
    goes on with its episode; another past, that of a fork or a retry, is done again from the start.
    """

    def __init__(self) -> None:
        self._runs: OrderedDict[int, _Run] = OrderedDict()
        self._lock = threading.Lock()

    def observe(self, session: WorldModelSession) -> str:
        """The real observation after all actions of `session`, the pending one included."""
        actions = session.actions
        with self._lock:
            run = self._runs.pop(id(session), None)
        if run is not None and (run.session is not session or run.done != actions[: len(run.done)]):
            _close(run.world)
            run = None
        world = session.domain.world(session.task) if run is None else run.world
        try:
            observation = world.reset() if run is None else run.observation
            for action in actions[0 if run is None else len(run.done) :]:
                observation = world.act(action)
        except BaseException:
            _close(world)
            raise
        self._keep(_Run(session, world, actions, observation))
        return observation

    def _keep(self, run: _Run) -> None:
        with self._lock:
            ended = [key for key, other in self._runs.items() if other.session.closed]
            while len(self._runs) - len(ended) >= MOST_WORLDS:
                ended.append(next(key for key in self._runs if key not in ended))
            worlds = [self._runs.pop(key).world for key in ended]
            self._runs[id(run.session)] = run
        for world in worlds:
            _close(world)

    def forget(self, sessions: Sequence[Session]) -> None:
        """Close the worlds of episodes that are over."""
        with self._lock:
            runs = [self._runs.pop(id(session), None) for session in sessions]
        for run in runs:
            if run is not None:
                _close(run.world)

    def close(self) -> None:
        """Close all worlds. Idempotent; used again, it begins anew."""
        with self._lock:
            runs, self._runs = self._runs, OrderedDict()
        for run in runs.values():
            _close(run.world)


def _close(world: World) -> None:
    try:
        world.close()
    except Exception:  # an episode that is over must not fail another one
        logger.exception("A world of the oracle could not be closed.")
