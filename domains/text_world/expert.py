"""The expert: a short plan from any reachable state, with full knowledge of the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, product

from agentworld_envs.domains.text_world.goal import Goal
from agentworld_envs.domains.text_world.household import Op
from agentworld_envs.domains.text_world.naming import bits
from agentworld_envs.domains.text_world.rules import admissible, apply
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.interface import TaskError

_MOST = 256  # ways to fulfil a goal that are tried; the shortest plan wins
_VERB_FOR = {"isclean": "clean", "ishot": "heat", "iscool": "cool"}


class _Stuck(Exception):
    """This way does not lead to the goal."""


@dataclass
class _Wanted:
    """What has to be true in the end, for one choice of entities."""

    inside: list[tuple[int, int]] = field(default_factory=list)
    treated: dict[int, list[str]] = field(default_factory=dict)
    sliced: list[int] = field(default_factory=list)
    toggled: list[int] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    held: int = -1
    loc: int = -1

    def add(self, predicate: str, values: list[int]) -> None:
        if predicate == "inreceptacle":
            self.inside.append((values[0], values[1]))
        elif predicate in _VERB_FOR:
            self.treated.setdefault(values[0], []).append(_VERB_FOR[predicate])
        elif predicate == "issliced":
            self.sliced.append(values[0])
        elif predicate == "istoggled":
            self.toggled.append(values[0])
        elif predicate == "opened":
            self.opened.append(values[0])
        elif predicate == "holds":
            self.held = values[1]
        elif predicate == "atlocation":
            self.loc = values[1]
        else:
            raise _Stuck


class _Plan:
    """Commands carried out on a copy of the state, so that every one of them is known to be admissible."""

    def __init__(self, state: State) -> None:
        self.state = state.fork()
        self.home = state.home
        self.commands: list[str] = []

    def do(self, verb: str, first: int, second: int = -1) -> None:
        """Execute, or find out that it cannot be done."""
        op = Op(verb, first, second)
        for command, found in admissible(self.state).items():
            if found == op:
                apply(self.state, op)
                self.commands.append(command)
                return
        raise _Stuck

    def go(self, r: int) -> None:
        if self.home.location[r] != self.state.loc:
            self.do("go", r)

    def reach(self, r: int) -> None:
        """Stand at a receptacle and see to it that it is open."""
        self.go(r)
        if self.home.openable & ~self.state.opened & 1 << r:
            self.do("open", r)

    def holder(self, o: int) -> int:
        """A receptacle where `o` can be fetched; one at hand if there is."""
        found = [r for r, items in enumerate(self.state.inside) if o in items and self.home.location[r] >= 0]
        if not found:
            raise _Stuck
        return min(found, key=lambda r: self.home.location[r] != self.state.loc)

    def fetch(self, o: int) -> None:
        if self.state.hold == o:
            return
        if self.state.hold >= 0:
            self.drop()
        r = self.holder(o)
        self.reach(r)
        self.do("take", o, r)

    def drop(self) -> None:
        """Put down what is held, at the least cost."""
        held, home, state = self.state.hold, self.home, self.state
        options = [r for r in bits(home.fits[held]) if home.location[r] >= 0]
        if not options:
            raise _Stuck
        shut = home.openable & ~state.opened
        r = min(options, key=lambda r: (home.location[r] != state.loc) + (shut >> r & 1))
        self.reach(r)
        self.do("move", held, r)

    def treat(self, o: int, verb: str) -> None:
        """Hold `o` and heat, cool or clean it."""
        self.fetch(o)
        options = [r for r in bits(self.home.appliance[verb]) if self.home.location[r] >= 0]
        if not options:
            raise _Stuck
        r = min(options, key=lambda r: self.home.location[r] != self.state.loc)
        self.go(r)
        self.do(verb, o, r)

    def slice(self, o: int) -> None:
        if self.state.hold == o:
            self.drop()
        if self.state.hold < 0 or not self.home.knives >> self.state.hold & 1:
            knives = [k for k in bits(self.home.knives) if k != o and self.fetchable(k)]
            if not knives:
                raise _Stuck
            self.fetch(min(knives, key=self.cost))
        if not self.state.where[o] >> self.state.loc & 1:
            spots = [r for place in bits(self.state.where[o]) for r in self.home.here[place]]
            if not spots:
                raise _Stuck
            self.go(spots[0])
        self.do("slice", o, self.state.hold)

    def fetchable(self, o: int) -> bool:
        return any(o in items for items in self.state.inside) and bool(self.home.pickupable >> o & 1)

    def cost(self, o: int) -> int:
        r = self.holder(o)
        return (self.home.location[r] != self.state.loc) + ((self.home.openable & ~self.state.opened) >> r & 1)

    def missing(self, o: int, verbs: list[str]) -> list[str]:
        done = {"clean": self.state.clean, "heat": self.state.hot, "cool": self.state.cool}
        return [verb for verb in verbs if not done[verb] >> o & 1]

    def fulfil(self, wanted: _Wanted) -> None:
        """Do everything, in an order in which nothing undoes what was done."""
        for o in wanted.sliced:
            if not self.state.sliced >> o & 1:
                self.slice(o)
        for o, r in sorted(wanted.inside, key=lambda pair: pair[0] != self.state.hold):
            todo = self.missing(o, wanted.treated.get(o, []))
            if o in self.state.inside[r] and not todo:
                continue
            for verb in todo:
                self.treat(o, verb)
            self.fetch(o)
            self.reach(r)
            self.do("move", o, r)
        for o, verbs in wanted.treated.items():
            for verb in self.missing(o, verbs):
                self.treat(o, verb)
        if wanted.held >= 0:
            self.fetch(wanted.held)
        for r in wanted.opened:
            self.reach(r)
        for o in wanted.toggled:
            if not self.state.toggled >> o & 1:
                r = self.holder(o)
                self.go(r)
                self.do("use", o, r)
        if wanted.loc >= 0 and self.state.loc != wanted.loc:
            spots = self.home.here[wanted.loc]
            if not spots:
                raise _Stuck
            self.go(spots[0])


def _ways(goal: Goal, state: State) -> list[_Wanted]:
    """Choices of entities that could fulfil the goal, as what they demand."""
    if any(group.others for group in goal.groups):
        raise TaskError("The expert plans for conjunctions of facts only; this goal has another form.")
    found = []
    options = [list(islice(group.assignments(state, goal.size), _MOST)) for group in goal.groups]
    for choice in islice(product(*options), _MOST * 4):
        wanted = _Wanted()
        try:
            for group, env in zip(goal.groups, choice, strict=True):
                for literal in group.literals:
                    if not literal.changes or (literal.test(state, env) and not literal.positive):
                        continue
                    if not literal.positive:
                        raise _Stuck
                    wanted.add(literal.predicate, [env[arg] if arg >= 0 else -1 - arg for arg in literal.args])
        except _Stuck:
            continue
        home = state.home
        # What cannot be carried stays where it is: most choices for lamps fall here, before any planning.
        if all(o in state.inside[r] or home.pickupable >> o & home.fits[o] >> r & 1 for o, r in wanted.inside):
            found.append(wanted)
    return found[:_MOST]


def plan(state: State, goal: Goal) -> list[str]:
    """Commands that lead from `state` to `goal`; none when it holds already. `state` is left as it is.

    Raises:
        TaskError: there is no such plan, or the goal has a form that the expert does not plan for.
    """
    if goal.holds(state):
        return []
    best: list[str] | None = None
    for wanted in _ways(goal, state):
        attempt = _Plan(state)
        try:
            attempt.fulfil(wanted)
        except _Stuck:
            continue
        if goal.holds(attempt.state) and (best is None or len(attempt.commands) < len(best)):
            best = attempt.commands
    if best is None:
        raise TaskError("The expert found no way to the goal from here.")
    return best
