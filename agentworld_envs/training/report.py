"""`DataReport`: what became of every episode and every turn. Nothing is left out without a count."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agentworld_envs.training.masking import CLASSES


@dataclass(slots=True)
class DataReport:
    """Counts of one export.

    `turns` is the sum of `turns_of_dropped_episodes`, `turns_dropped`, `turns_masked` and `turns_kept`.
    """

    episodes: int = 0
    episodes_dropped: Counter[str] = field(default_factory=Counter)
    """By kind, see `filters`; also `played_again` (another attempt at it counts), `not_solved` (for agents) and
    `not_simulable:KIND` (no world model can be told of its task)."""
    turns: int = 0
    """Recorded steps of all episodes."""
    turns_of_dropped_episodes: int = 0
    turns_dropped: Counter[str] = field(default_factory=Counter)
    """By kind, see `filters`: they are in the history of later turns, but are not learned. Also `answered_by_code` (no
    model is ever asked), and for agents `slip` and `unwritable` (the action tags would change the action)."""
    turns_masked: Counter[str] = field(default_factory=Counter)
    """By class of `masking`: drawn not to be learned."""
    turns_kept: Counter[str] = field(default_factory=Counter)
    """By class of `masking` (`action` of an agent has none: `-`): learned, unless their row was dropped."""
    rows: int = 0
    """Written."""
    rows_dropped: Counter[str] = field(default_factory=Counter)
    """`duplicate`: the same messages and loss were written before; `too_long`."""
    surrogates_replaced: int = 0
    """Characters without an encoding (lone surrogates), now U+FFFD."""
    unfinished: int = 0
    """Attempts that were killed. They are in no other count: what was not interrupted has the same ones."""
    lines_left_out: int = 0
    """Lines of recordings that could not be read."""

    @property
    def episodes_kept(self) -> int:
        return self.episodes - self.episodes_dropped.total()

    def drop_episode(self, kind: str, turns: int) -> None:
        """Book an episode of so many turns that is left out as a whole."""
        self.episodes += 1
        self.turns += turns
        self.episodes_dropped[kind] += 1
        self.turns_of_dropped_episodes += turns

    def add(self, other: DataReport) -> None:
        """Add the counts of another export."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, kinds in a fixed order."""
        data: dict[str, Any] = {"episodes_kept": self.episodes_kept}
        for name in self.__slots__:
            value = getattr(self, name)
            data[name] = dict(sorted(value.items())) if isinstance(value, Counter) else value
        return data

    def class_rows(self) -> list[tuple[str, int, int]]:
        """Class, turns kept, turns masked, for a table; classes without a turn are left out."""
        names = [*CLASSES, *sorted((set(self.turns_kept) | set(self.turns_masked)) - set(CLASSES))]
        rows = [(name, self.turns_kept[name], self.turns_masked[name]) for name in names]
        return [row for row in rows if row[1] or row[2]]
