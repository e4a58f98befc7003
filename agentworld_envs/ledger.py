"""`Ledger`: what an episode cost on the environment's side, kept apart from the policy's cost and from `info`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from agentworld_envs.interface import Source, Usage

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


class Ledger:
    """The bills of one episode, in order."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[LedgerEntry] | None = None) -> None:
        self.entries = entries if entries is not None else []

    def add(self, step: int, line: Line, usage: Usage) -> None:
        """Book `usage` (seconds, tokens, US dollars) on `line`."""
        self.entries.append(LedgerEntry(step, line, usage))

    def total(self, line: Line | None = None) -> Usage:
        """The sum of one line, or of all of them."""
        total = Usage()
        for entry in self.entries:
            if line is None or entry.line == line:
                total.add(entry.usage)
        return total

    def copy(self) -> Ledger:
        """An independent ledger with the same entries (a fork has cost what its parent had)."""
        return Ledger([LedgerEntry(e.step, e.line, replace(e.usage)) for e in self.entries])

    def __iter__(self) -> Iterator[LedgerEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
