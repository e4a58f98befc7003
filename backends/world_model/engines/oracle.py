"""`Oracle`: a perfect simulator, which is the real world itself."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from agentworld_envs.interface import Action, World

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
            run.world.close()
            run = None
        world = session.domain.world(session.task) if run is None else run.world
        try:
            observation = world.reset() if run is None else run.observation
            for action in actions[0 if run is None else len(run.done) :]:
                observation = world.act(action)
        except BaseException:
            world.close()
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
            world.close()

    def close(self) -> None:
        """Close all worlds. Idempotent; used again, it begins anew."""
        with self._lock:
            runs, self._runs = self._runs, OrderedDict()
        for run in runs.values():
            run.world.close()
