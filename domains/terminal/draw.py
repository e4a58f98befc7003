"""`Draw`: choices of a family as plain Python values, all from the one generator that the family is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

COMPANIES = (
    *("Amberfield", "Birchgate", "Cobaltline", "Dunmere", "Elmbrook", "Fennhollow", "Graywick", "Hartsholm"),
    *("Ironvale", "Juniperworks", "Kestrelby", "Larkstone", "Mossport", "Northloom", "Oakreach", "Pellbrook"),
    *("Quarrydale", "Redmarsh", "Saltbridge", "Thornwell", "Umberlake", "Vellmoor", "Westhaven", "Yarrowdene"),
)
"""Companies that do not exist."""
LOGINS = (
    *("adele", "bruno", "carla", "dario", "edith", "fabio", "greta", "hanno", "irma", "jonas", "karin", "leon"),
    *("mira", "nils", "olga", "pavel", "ronja", "sven", "tilda", "ugo", "vera", "willem", "yara", "zeno"),
)
"""First names that serve as login names."""
TOPICS = (
    *("billing", "catalog", "delivery", "events", "fleet", "gateway", "harvest", "intake", "journal", "kiosk"),
    *("ledger", "mailer", "notify", "orders", "payroll", "quotas", "returns", "stock", "tickets", "uploads"),
)
"""What departments, services and folders are about."""


class Draw:
    """Choices, in the order in which they are asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        """Args: rng: of the task; nothing else decides."""
        self._rng = rng

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return int(self._rng.integers(low, high + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of these."""
        return items[self.between(0, len(items) - 1)]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different ones of these, in an order of their own."""
        return [items[int(index)] for index in self._rng.permutation(len(items))[:count]]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All of these in another order."""
        return self.some(items, len(items))

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self._rng.random() < share)

    def code(self, prefix: str, digits: int = 4) -> str:
        """Something like `PREFIX-4711`, without a leading zero."""
        return f"{prefix}-{self.between(10 ** (digits - 1), 10**digits - 1)}"

    def company(self) -> str:
        """A company that does not exist."""
        return self.pick(COMPANIES)
