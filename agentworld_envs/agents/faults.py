"""`count_faults`: how many faults were injected, and how many of those that a world model was told to make it made.

Obedience is not fidelity: a model that always obeys may be wrong about everything else. They are reported apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from agentworld_envs.interface import Injection
from agentworld_envs.trajectories import Trajectory


@dataclass(slots=True)
class FaultCount:
    """The injected faults of one kind."""

    injected: int = 0
    blocked: int = 0
    """Of these, how many kept the action from being executed."""
    told: int = 0
    """Of these, how many a world model was told to make."""
    obeyed: int = 0
    """Of those, how many it made."""
    disobeyed: int = 0
    """How many it did not make. Of the rest its answers do not tell."""

    @property
    def obedience(self) -> float | None:
        """Share of obeyed instructions among those of which it can be told; `None` without any."""
        known = self.obeyed + self.disobeyed
        return self.obeyed / known if known else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "obedience": self.obedience}


def count_faults(faults: Iterable[Injection]) -> dict[str, FaultCount]:
    """Counts by kind, sorted by kind."""
    counts: dict[str, FaultCount] = {}
    for fault in faults:
        count = counts.setdefault(fault.kind, FaultCount())
        count.injected += 1
        count.blocked += not fault.executed
        count.told += fault.by == "instruction"
        count.obeyed += fault.obeyed is True
        count.disobeyed += fault.by == "instruction" and fault.obeyed is False
    return dict(sorted(counts.items()))


def recorded_faults(trajectory: Trajectory) -> list[Injection]:
    """The faults that a recording tells of, in order."""
    found = [Injection.recorded(step.flags) for step in trajectory.steps]
    return [fault for fault in found if fault is not None]
