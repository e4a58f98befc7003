"""`Schedule`: which faults are due in one episode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentworld_envs.interface import Action, Chance, Every, Fault, Task
from agentworld_envs.interface.control import episode_rng


@dataclass(slots=True)
class _Progress:
    """How far one fault is."""

    begins: tuple[int, ...]
    """Steps from which on it still has to begin."""
    matches: int = 0
    """Actions that it was meant for so far."""
    left: int = 0
    """Actions that it still hits; 0: it has not begun, or is over."""


class Schedule:
    """The faults of one episode, in order. A pure function of (seed, task, actions so far)."""

    def __init__(self, faults: Sequence[Fault], seed: int, task: Task) -> None:
        """Args: faults: in order of precedence. seed, task: of the episode; they decide what is left to chance."""
        self.faults = tuple(faults)
        self.step = 0
        """Actions so far."""
        self._seed, self._task = seed, task
        self._progress = [_Progress(f.when if isinstance(f.when, tuple) else ()) for f in self.faults]

    def due(self, action: Action) -> list[int]:
        """One more action: the numbers of the faults that may hit it, the first one first."""
        self.step += 1
        found = []
        for index, (fault, progress) in enumerate(zip(self.faults, self._progress, strict=True)):
            if not fault.target.hits(action):
                continue
            progress.matches += 1
            if not progress.left and self._begins(index, fault, progress):
                progress.left = fault.duration
            if progress.left:
                found.append(index)
        return found

    def _begins(self, index: int, fault: Fault, progress: _Progress) -> bool:
        if isinstance(fault.when, Every):
            return progress.matches % fault.when.every == 0
        if isinstance(fault.when, Chance):
            rng = episode_rng(self._seed, self._task, index, progress.matches)
            return float(rng.random()) < fault.when.chance
        if not progress.begins or progress.begins[0] > self.step:
            return False
        progress.begins = progress.begins[1:]
        return True

    def spend(self, index: int) -> None:
        """A fault has hit the action."""
        self._progress[index].left -= 1

    def fork(self) -> Schedule:
        """An independent schedule, equally far."""
        twin = Schedule((), self._seed, self._task)
        twin.faults, twin.step = self.faults, self.step
        twin._progress = [replace(progress) for progress in self._progress]
        return twin
