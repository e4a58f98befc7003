"""`State`: the changing part of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentworld_envs.domains.text_world.household import Household, Op


class State:
    """Mutable; `fork` costs a few microseconds. Numbers and masks are those of its `Household`."""

    __slots__ = (
        "clean",
        "cool",
        "hold",
        "home",
        "hot",
        "inside",
        "left",
        "loc",
        "menu",
        "opened",
        "sliced",
        "toggled",
        "where",
    )

    def __init__(
        self,
        home: Household,
        loc: int,
        hold: int,
        inside: list[tuple[int, ...]],
        where: list[int],
        opened: int = 0,
        clean: int = 0,
        hot: int = 0,
        cool: int = 0,
        sliced: int = 0,
        toggled: int = 0,
        left: frozenset[tuple[int, int]] = frozenset(),
    ) -> None:
        self.home = home
        self.loc = loc
        """The agent's location."""
        self.hold = hold
        """The object in the agent's hand, or -1."""
        self.inside = inside
        """Objects in each receptacle, ascending."""
        self.where = where
        """Locations at which each object counts as present, a mask. Empty while it is held."""
        self.opened = opened
        """Mask of receptacles."""
        self.clean = clean
        self.hot = hot
        self.cool = cool
        self.sliced = sliced
        self.toggled = toggled
        """Masks of objects, as are the four above."""
        self.left = left
        """(object, receptacle) pairs: taken from there and not put back since. `look` needs them."""
        self.menu: dict[str, Op] | None = None
        """Admissible commands, once asked for; `None` after a change."""

    def fork(self) -> State:
        """An independent copy."""
        twin = State.__new__(State)
        twin.home = self.home
        twin.loc = self.loc
        twin.hold = self.hold
        twin.inside = self.inside.copy()
        twin.where = self.where.copy()
        twin.opened = self.opened
        twin.clean = self.clean
        twin.hot = self.hot
        twin.cool = self.cool
        twin.sliced = self.sliced
        twin.toggled = self.toggled
        twin.left = self.left
        twin.menu = self.menu
        return twin
