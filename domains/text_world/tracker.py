"""`Belief`: what a simulated episode has shown, kept by the rules engine itself."""

from __future__ import annotations

import re
from typing import Self

from agentworld_envs.domains.text_world.evidence import Facts
from agentworld_envs.domains.text_world.household import Household, Op
from agentworld_envs.domains.text_world.rules import WATCHING, admissible, apply
from agentworld_envs.domains.text_world.wording import acknowledgement
from agentworld_envs.domains.text_world.world import command_of
from agentworld_envs.interface import Action, Tracker

_NAME = r"[a-z]+ [0-9]{1,4}"
LIST = re.compile(
    rf"(?:On the (?P<on>{_NAME}), you see|The (?P<open>{_NAME}) is open\. In it, you see) (?P<items>[^.]{{1,2000}})\."
    rf"|The (?P<shut>{_NAME}) is closed\."
)
"""What a look at a receptacle shows."""
_ITEM = re.compile(rf"a ({_NAME})")
_UNSEEN = re.compile(
    rf"take (?P<taken>{_NAME}) from (?P<source>{_NAME})|use (?P<used>{_NAME})|slice (?P<cut>{_NAME}) with {_NAME}"
)
_MOST_INVENTED = 64


def listed_names(text: str) -> list[str] | None:
    """Names in a list like `a mug 1, and a pen 2`; `None` when it is not such a list."""
    if text == "nothing":
        return []
    matches = [_ITEM.fullmatch(part) for part in re.split(r", and |, ", text)]
    return None if None in matches else [match[1] for match in matches if match]


class Belief(Tracker):
    """A `State` in which nothing lies anywhere until it has been shown.

    The effect of a command is applied only when the command is admissible as far as is known and the answer is the
    game's own sentence for exactly this command. A list of contents on arrival, on opening and on examining replaces
    what was believed of that receptacle. An object that only such a list has put somewhere, against the task's initial
    state and without an acknowledged `move`, can be taken, but it is no evidence.
    """

    def __init__(self, home: Household) -> None:
        """Args: home: the task's household; its contents are used to tell a true list from an invented one."""
        self._home = home
        self._state = home.start()
        self._state.inside = [() for _ in home.receptacles]
        self._state.where = [0 for _ in home.objects]
        self._known = 0  # receptacles whose contents have been shown, a mask
        self._handled = 0  # objects that have been taken, a mask
        self._claimed: frozenset[tuple[int, int]] = frozenset()  # (object, receptacle) by a list alone

    def observe(self, action: Action, observation: str) -> None:
        command, text = command_of(action), observation.strip()
        op = admissible(self._state).get(command) or self._unseen(command, text)
        if op is None:
            return
        if op.verb in WATCHING:
            if op.verb == "examine":
                self._read(text, op.first)
            return
        expected = acknowledgement(self._state, op)
        if op.verb in ("go", "open"):
            rest = text[len(expected) :]
            if not text.startswith(expected) or rest[:1].strip():
                return
            apply(self._state, op)
            self._read(rest.strip(), op.first)
        elif text == expected:
            if op.verb == "take":
                self._handled |= 1 << op.first
                self._claimed -= {(op.first, op.second)}
            apply(self._state, op)

    def evidence(self) -> Facts:
        if not self._claimed:
            return Facts(self._state)
        proven = self._state.fork()
        for o, r in self._claimed:
            proven.inside[r] = tuple(item for item in proven.inside[r] if item != o)
        return Facts(proven)

    def fork(self) -> Self:
        twin = type(self).__new__(type(self))
        twin._home, twin._state = self._home, self._state.fork()
        twin._known, twin._handled, twin._claimed = self._known, self._handled, self._claimed
        return twin

    def commands(self) -> list[str]:
        return sorted(admissible(self._state))

    def _read(self, text: str, r: int) -> None:
        """Take over a list of contents of receptacle `r`, if it is one."""
        state, home = self._state, self._state.home
        match = LIST.fullmatch(text)
        openable = bool(home.openable >> r & 1)
        if match is None or (match["on"] or match["open"] or match["shut"]) != home.receptacles[r]:
            return
        if openable is (match["on"] is not None):
            return
        if match["shut"]:
            state.opened &= ~(1 << r)
            state.menu = None
            return
        names = listed_names(match["items"])
        if names is None:
            return
        if openable:
            state.opened |= 1 << r
        found = [o for o in dict.fromkeys(self._number(name) for name in names) if o not in (-1, state.hold)]
        for o in set(state.inside[r]) - set(found):
            self._remove(o, r)
        for o in found:
            if o not in state.inside[r]:
                self._place(o, r)
        self._known |= 1 << r
        state.menu = None

    def _remove(self, o: int, r: int) -> None:
        self._state.inside[r] = tuple(item for item in self._state.inside[r] if item != o)
        self._state.where[o] = 0
        self._claimed -= {(o, r)}

    def _place(self, o: int, r: int) -> None:
        """Put `o` where it has been seen."""
        state, home = self._state, self._home
        original = o < len(home.objects) and o in home.inside[r] and not self._handled >> o & 1
        for other, items in enumerate(state.inside):
            if o in items and not (original and o in home.inside[other]):
                self._remove(o, other)
        state.inside[r] = tuple(sorted({*state.inside[r], o}))
        state.where[o] = home.where[o] if original else 1 << max(home.location[r], 0)
        if not original:
            self._claimed |= {(o, r)}

    def _number(self, name: str) -> int:
        """Number of an object by name; one that the household lacks is added, -1 if nothing is known of its class."""
        home = self._state.home
        found = home.object_of.get(name)
        if found is None and len(home.objects) < len(self._home.objects) + _MOST_INVENTED:
            wider = home.with_object(name)
            if wider is not None:
                self._state.home, self._state.menu = wider, None
                self._state.where.append(0)
                found = len(home.objects)
        return -1 if found is None else found

    def _unseen(self, command: str, text: str) -> Op | None:
        """A command on an object in a receptacle at hand that has not been looked into yet.

        It happens where several receptacles share a spot, and with lamps in closed drawers: the answer alone shows
        that the object is there.
        """
        state = self._state
        match = _UNSEEN.fullmatch(command)
        spots = [r for r in state.home.here[state.loc] if not self._known >> r & 1]
        if match is None or not spots or not text.startswith("You "):
            return None
        if match["source"]:
            spots = [r for r in spots if state.home.receptacles[r] == match["source"]]
        o = self._number(match["taken"] or match["used"] or match["cut"])
        if o < 0 or not spots or o == state.hold or any(o in items for items in state.inside):
            return None
        trial = self.fork()
        trial._place(o, next((r for r in spots if o < len(self._home.objects) and o in self._home.inside[r]), spots[0]))
        trial._state.menu = None
        op = admissible(trial._state).get(command)
        if op is None or text != acknowledgement(trial._state, op):
            return None
        self._state, self._claimed = trial._state, trial._claimed
        return op
