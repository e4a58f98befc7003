"""`Goal`: a goal formula of PDDL, compiled for one household.

One evaluator serves generated tasks and official games. Nested `exists` are merged and their variables searched in the
order of their domains, each condition being checked as soon as its variables are bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.pddl import Tree, read_tree, strip_type, write_tree
from agentworld_envs.domains.text_world.predicates import DYNAMIC, STATIC, TYPES, Check, Literal
from agentworld_envs.domains.text_world.state import State
from agentworld_envs.interface import TaskError

_COMPOUND = ("or", "forall", "imply")


@dataclass(slots=True)
class Group:
    """A conjunction under one `exists`: variables with their possible values, and conditions on them."""

    slots: list[int] = field(default_factory=list)
    domains: dict[int, tuple[int, ...]] = field(default_factory=dict)
    literals: list[Literal] = field(default_factory=list)
    others: list[tuple[frozenset[int], Check]] = field(default_factory=list)
    """Conditions of any other form, with the slots they read."""

    def assignments(self, state: State, size: int, static_only: bool = True) -> Iterator[list[int]]:
        """Values of the variables (a list of `size` slots) that fulfil the conditions that never change.

        Args:
            static_only: whether to ignore the conditions that actions can change.
        """
        order = sorted(self.slots, key=lambda slot: len(self.domains[slot]))
        checks = self._schedule(order, static_only)
        env = [-1] * size
        return self._search(state, env, order, checks, 0)

    def _search(
        self, state: State, env: list[int], order: list[int], checks: list[list[Check]], level: int
    ) -> Iterator[list[int]]:
        if not all(check(state, env) for check in checks[level]):
            return
        if level == len(order):
            yield env.copy()
            return
        for value in self.domains[order[level]]:
            env[order[level]] = value
            yield from self._search(state, env, order, checks, level + 1)

    def _schedule(self, order: Sequence[int], static_only: bool) -> list[list[Check]]:
        rows = [
            (frozenset(slot for slot in literal.args if slot >= 0), literal.test)
            for literal in self.literals
            if not (static_only and literal.changes)
        ]
        if not static_only:
            rows += self.others
        checks: list[list[Check]] = [[] for _ in range(len(order) + 1)]
        level_of = {slot: level + 1 for level, slot in enumerate(order)}
        for reads, check in rows:
            # A slot bound outside of this group is there from the beginning.
            checks[max((level_of.get(slot, 0) for slot in reads), default=0)].append(check)
        return checks

    def compile(self) -> Check:
        """Whether some assignment fulfils everything."""
        order = sorted(self.slots, key=lambda slot: len(self.domains[slot]))
        checks = self._schedule(order, static_only=False)
        domains = [self.domains[slot] for slot in order]
        depth = len(order)

        def search(state: State, env: list[int], level: int) -> bool:
            for check in checks[level]:
                if not check(state, env):
                    return False
            if level == depth:
                return True
            slot = order[level]
            for value in domains[level]:
                env[slot] = value
                if search(state, env, level + 1):
                    return True
            return False

        return lambda state, env: search(state, env, 0)


class Goal:
    """When a state solves the task."""

    def __init__(self, text: str, home: Household) -> None:
        """Compile.

        Args:
            text: a PDDL formula, e.g. `(exists (?o - object) (holds agent1 ?o))`; case does not matter.
            home: whose entities the formula speaks of.

        Raises:
            TaskError: the formula is malformed or speaks of something that this engine does not know.
        """
        self._home = home
        self._state = home.start()  # for conditions that never change
        self._count = 0
        self.negates = False
        """Whether something has to be absent. What was never shown would then look like success."""
        self.groups: list[Group] = []
        """The goal as a conjunction of groups, which is what the expert plans for."""
        tree = read_tree(text)
        for part in tree[1:] if isinstance(tree, list) and tree[:1] == ["and"] else [tree]:
            group = Group()
            self._add(part, {}, group)
            self.groups.append(group)
        self._checks = [group.compile() for group in self.groups]
        self.size = max(self._count, 1)
        """Number of variable slots."""

    def holds(self, state: State) -> bool:
        """Whether `state` solves the task."""
        env = [-1] * self.size
        return all(check(state, env) for check in self._checks)

    def _add(self, tree: Tree, scope: dict[str, tuple[int, str]], group: Group) -> None:
        """Add a condition to the conjunction `group`."""
        head = self._head(tree)
        if head == "and":
            for part in tree[1:]:
                self._add(part, scope, group)
        elif head == "exists":
            inner = self._bind(tree, scope, group)
            self._add(tree[2], inner, group)
        elif head in _COMPOUND or (head == "not" and self._head(tree[1]) in (*_COMPOUND, "and", "exists", "not")):
            self.negates = self.negates or head != "or"
            group.others.append(self._compound(tree, scope))
        else:
            literal = self._literal(tree, scope)
            self.negates = self.negates or (literal.changes and not literal.positive)
            reads = [slot for slot in literal.args if slot >= 0]
            if not literal.changes and len(reads) == 1 and reads[0] in group.domains:
                env = [-1] * (self._count + 1)
                kept = []
                for value in group.domains[reads[0]]:
                    env[reads[0]] = value
                    if literal.test(self._state, env):
                        kept.append(value)
                group.domains[reads[0]] = tuple(kept)
            else:
                group.literals.append(literal)

    def _compound(self, tree: Tree, scope: dict[str, tuple[int, str]]) -> tuple[frozenset[int], Check]:
        head = self._head(tree)
        reads = frozenset(slot for slot, _ in scope.values())
        if head == "or":
            parts = [self._whole(part, scope) for part in tree[1:]]
            return reads, lambda state, env: any(part(state, env) for part in parts)
        if head == "imply":
            left, right = self._whole(tree[1], scope), self._whole(tree[2], scope)
            return reads, lambda state, env: not left(state, env) or right(state, env)
        if head == "not":
            body = self._whole(tree[1], scope)
            return reads, lambda state, env: not body(state, env)
        counter = self._whole(["exists", tree[1], ["not", tree[2]]], scope)  # forall
        return reads, lambda state, env: not counter(state, env)

    def _whole(self, tree: Tree, scope: dict[str, tuple[int, str]]) -> Check:
        group = Group()
        self._add(tree, scope, group)
        return group.compile()

    def _bind(self, tree: Tree, scope: dict[str, tuple[int, str]], group: Group) -> dict[str, tuple[int, str]]:
        if len(tree) != 3 or not isinstance(tree[1], list):
            raise TaskError(f"Goal: expected ({tree[0]} (variables) condition), found {tree!r:.120}.")
        home = self._home
        sizes = {
            "object": len(home.objects),
            "receptacle": len(home.receptacles),
            "location": len(home.location_ids),
            "agent": 1,
        }
        inner = dict(scope)
        names: list[str] = []
        words = [str(word) for word in tree[1]]
        while words:
            word = words.pop(0)
            if word != "-":
                names.append(word)
                continue
            kind = words.pop(0) if words else ""
            if kind not in sizes:
                raise TaskError(f"Goal: variables of type {kind!r}; expected one of {', '.join(sizes)}.")
            for name in names:
                inner[name] = (self._count, kind)
                group.slots.append(self._count)
                group.domains[self._count] = tuple(range(sizes[kind]))
                self._count += 1
            names = []
        if names:
            raise TaskError(f"Goal: the variables {', '.join(names)} have no type.")
        return inner

    def _literal(self, tree: Tree, scope: dict[str, tuple[int, str]]) -> Literal:
        positive = self._head(tree) != "not"
        tree = tree if positive else tree[1]
        name, args = self._head(tree), [write_tree(arg) for arg in tree[1:]]
        if name in TYPES and len(args) == 2:
            slot = self._resolve(args[0], TYPES[name], scope)
            kinds = self._home.object_types if name == "objecttype" else self._home.receptacle_types
            wanted = strip_type(args[1])
            having = frozenset(i for i, kind in enumerate(kinds) if kind == wanted)
            if slot < 0:
                return Literal(name, (slot,), positive, False, lambda _s, _e: (-1 - slot in having) is positive)
            return Literal(name, (slot,), positive, False, lambda _s, env: (env[slot] in having) is positive)
        entry = DYNAMIC.get(name) or STATIC.get(name)
        if entry is None or len(entry[0]) != len(args):
            known = ", ".join(sorted({*DYNAMIC, *STATIC, *TYPES}))
            raise TaskError(f"Goal: cannot check ({' '.join([name, *args])}); known: {known}.")
        kinds_of, fact = entry
        slots = tuple(self._resolve(arg, kind, scope) for arg, kind in zip(args, kinds_of, strict=True))
        first, second = (*slots, -1)[:2]

        def test(state: State, env: list[int]) -> bool:
            a = env[first] if first >= 0 else -1 - first
            b = env[second] if second >= 0 else -1 - second
            return fact(state, a, b) is positive

        return Literal(name, slots, positive, name in DYNAMIC, test)

    def _resolve(self, arg: str, kind: str, scope: dict[str, tuple[int, str]]) -> int:
        if arg in scope:
            slot, own = scope[arg]
            if kind not in ("any", own):
                raise TaskError(f"Goal: {arg} is of type {own}, expected {kind}.")
            return slot
        home = self._home
        tables = {"object": home.object_ids, "receptacle": home.receptacle_ids, "location": home.location_ids}
        if kind == "agent" and not arg.startswith("?"):
            return -1
        for own, ids in tables.items():
            if arg in ids and kind in ("any", own):
                return -1 - ids.index(arg)
        raise TaskError(f"Goal: {arg!r} is neither a bound variable nor a known {kind}.")

    @staticmethod
    def _head(tree: Tree) -> str:
        if not isinstance(tree, list) or not tree or not isinstance(tree[0], str):
            raise TaskError(f"Goal: expected (predicate ...), found {tree!r:.120}.")
        if tree[0] in ("not", "imply", "forall") and len(tree) != (2 if tree[0] == "not" else 3):
            raise TaskError(f"Goal: ({tree[0]} ...) has {len(tree) - 1} parts.")
        return tree[0]


def compile_goal(text: str, home: Household) -> Goal:
    """The goal `text` for `home`; the last one is kept with the household, since it is asked for at every step."""
    kept = home.compiled
    if kept is not None and (kept[0] is text or kept[0] == text):
        goal: Goal = kept[1]
        return goal
    goal = Goal(text, home)
    home.compiled = (text, goal)
    return goal
