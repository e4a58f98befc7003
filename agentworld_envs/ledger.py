"""`Ledger`: what an episode cost on the environment's side, kept apart from the policy's cost and from `info`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agentworld_envs.interface import Injection, Source, Usage

Line = Literal["world", "simulator", "judge", "sandbox"]
"""Who is billed."""

LINE_OF_SOURCE: dict[Source, Line] = {"real": "world", "world_model": "simulator", "replay": "world"}


@dataclass(slots=True)
class LedgerEntry:
    """One bill."""

    step: int
    """Step of the episode, 0 for the reset."""
    line: Line
    usage: Usage
    fault: Injection | None = None
    """The fault that was injected into this step on purpose."""


class Ledger:
    """The bills of one episode, in order."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[LedgerEntry] | None = None) -> None:
        self.entries = entries if entries is not None else []

    def add(self, step: int, line: Line, usage: Usage, fault: Injection | None = None) -> None:
        """Book `usage` (seconds, tokens, US dollars) on `line`, and the fault that was injected, if any."""
        self.entries.append(LedgerEntry(step, line, usage, fault))

    def total(self, line: Line | None = None) -> Usage:
        """The sum of one line, or of all of them."""
        total = Usage()
        for entry in self.entries:
            if line is None or entry.line == line:
                total.add(entry.usage)
        return total

    @property
    def faults(self) -> list[Injection]:
        """The faults that were injected so far, in order."""
        return [entry.fault for entry in self.entries if entry.fault is not None]

    def copy(self) -> Ledger:
        """An independent ledger with the same entries (a fork has cost what its parent had)."""
        return Ledger([LedgerEntry(e.step, e.line, replace(e.usage), e.fault) for e in self.entries])

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
