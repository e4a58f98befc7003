"""PDDL: an s-expression reader, and the problem of an official game read into `Task.initial_state`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agentworld_envs.domains.text_world.vocabulary import PROPERTIES
from agentworld_envs.interface import TaskError

Tree = Any
"""A string, or a list of trees. (Recursive aliases say more but cost a cast at every use.)"""

_TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
_PROPERTY_OF = {name: name for name in PROPERTIES if name != "vessel"} | {"isreceptacleobject": "vessel"}
_STATE_OF = {"isclean": "clean", "ishot": "hot", "iscool": "cool", "issliced": "sliced", "istoggled": "toggled"}


def strip_type(name: str) -> str:
    """`mugtype` -> `mug`."""
    return name.removesuffix("type")


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def read_tree(text: str) -> Tree:
    """Read one s-expression. Words are lower-cased and comments dropped, as the original's translator does.

    Raises:
        TaskError: brackets do not match or something follows the expression; says in which line.
    """
    stack: list[list[Tree]] = [[]]
    opened: list[int] = []
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token[0] == ";":
            continue
        if len(stack) == 1 and stack[0]:
            raise TaskError(f"PDDL line {_line(text, match.start())}: {token!r} after the end of the expression.")
        if token == "(":
            opened.append(match.start())
            stack.append([])
        elif token == ")":
            if not opened:
                raise TaskError(f"PDDL line {_line(text, match.start())}: ')' without '('.")
            opened.pop()
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token.lower())
    if opened:
        raise TaskError(f"PDDL line {_line(text, opened[-1])}: this '(' is never closed.")
    if not stack[0]:
        raise TaskError("PDDL: expected an expression, found nothing.")
    return stack[0][0]


def write_tree(tree: Tree) -> str:
    """The canonical one-line text of a tree."""
    return tree if isinstance(tree, str) else "(" + " ".join(write_tree(part) for part in tree) + ")"


def _typed(words: list[Tree]) -> Iterator[tuple[str, str]]:
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-":
            kind = next(rest, None)
            if not isinstance(kind, str):
                raise TaskError("PDDL :objects: a type name is missing after '-'.")
            yield from ((name, kind) for name in names)
            names = []
        elif isinstance(word, str):
            names.append(word)
        else:
            raise TaskError(f"PDDL :objects: expected names, found {write_tree(word)[:80]}.")


def _sections(text: str) -> dict[str, list[Tree]]:
    tree = read_tree(text)
    if not isinstance(tree, list) or tree[:1] != ["define"]:
        raise TaskError("PDDL: expected (define (problem ...) ...).")
    found: dict[str, list[Tree]] = {}
    for part in tree[1:]:
        if isinstance(part, list) and part and isinstance(part[0], str):
            found.setdefault(part[0], []).extend(part[1:])
    for name in (":objects", ":init", ":goal"):
        if not found.get(name):
            raise TaskError(f"PDDL: the problem has no ({name} ...) section or an empty one.")
    return found


class _Facts:
    """Initial facts by predicate, restricted to declared entities."""

    def __init__(self, init: list[Tree], kinds: dict[str, str]) -> None:
        self._rows: dict[str, list[tuple[str, ...]]] = {}
        self.mentioned: set[str] = set()
        for fact in init:
            flat = isinstance(fact, list) and fact and all(isinstance(word, str) for word in fact)
            if not flat or not all(word in kinds for word in fact[1:]):
                continue  # costs, negations, and entities that do not exist
            self._rows.setdefault(fact[0], []).append(tuple(fact[1:]))
            self.mentioned.update(fact[1:])

    def rows(self, predicate: str, size: int) -> list[tuple[str, ...]]:
        found = self._rows.get(predicate, [])
        if bad := [row for row in found if len(row) != size]:
            raise TaskError(f"PDDL :init: ({predicate} {' '.join(bad[0])}) should have {size} arguments.")
        return found

    def single(self, predicate: str) -> dict[str, str]:
        table: dict[str, str] = {}
        for key, value in self.rows(predicate, 2):
            if table.setdefault(key, value) != value:
                raise TaskError(f"PDDL :init: {key!r} has two different {predicate} facts; expected one.")
        return table

    def many(self, predicate: str) -> dict[str, list[str]]:
        table: dict[str, list[str]] = {}
        for key, value in self.rows(predicate, 2):
            if value not in table.setdefault(key, []):
                table[key].append(value)
        return table

    def names(self, predicate: str) -> set[str]:
        return {row[0] for row in self.rows(predicate, 1)}


def read_problem(text: str) -> tuple[dict[str, Any], str]:
    """Read an ALFWorld problem.

    Args:
        text: the `pddl_problem` of a game file.

    Returns:
        `Task.initial_state` (see `Household`) and the text of the goal formula.

    Raises:
        TaskError: not PDDL, or not such a problem; says what was expected.
    """
    sections = _sections(text)
    kinds = dict(_typed(sections[":objects"]))
    facts = _Facts(sections[":init"], kinds)
    agents = [name for name, kind in kinds.items() if kind == "agent"]
    at = facts.single("atlocation")
    if len(agents) != 1 or agents[0] not in at:
        raise TaskError(f"PDDL: expected one agent with an (atLocation ...) fact, found {len(agents)} agents.")
    types = facts.single("receptacletype")
    places = facts.single("receptacleatlocation")
    openable, opened = facts.names("openable"), facts.names("opened")
    receptacles = {
        name: {
            "type": strip_type(types.get(name, "")),
            "location": places.get(name),
            "openable": name in openable,
            "opened": name in opened,
        }
        for name, kind in sorted(kinds.items())
        if kind == "receptacle" and name in facts.mentioned
    }
    fits: dict[str, list[str]] = {}
    for holder, kind in facts.rows("cancontain", 2):
        fits.setdefault(strip_type(holder), []).append(strip_type(kind))
    state: dict[str, Any] = {
        "agent": at[agents[0]],
        "receptacles": receptacles,
        "objects": _objects(facts, kinds),
        "fits": {holder: sorted(set(names)) for holder, names in sorted(fits.items())},
    }
    held = [row[1] for row in facts.rows("holds", 2)]
    if len(held) > 1:
        raise TaskError(f"PDDL :init: the agent holds {len(held)} objects; expected at most one.")
    if held:
        state["holding"] = held[0]
    return state, write_tree(sections[":goal"][0])


def _objects(facts: _Facts, kinds: dict[str, str]) -> dict[str, Any]:
    types, holders, spots = facts.single("objecttype"), facts.many("inreceptacle"), facts.many("objectatlocation")
    owning = {own: facts.names(predicate) for predicate, own in _PROPERTY_OF.items()}
    being = {own: facts.names(predicate) for predicate, own in _STATE_OF.items()}
    contents: dict[str, list[str]] = {}
    for inner, outer in facts.rows("inreceptacleobject", 2):
        contents.setdefault(outer, []).append(inner)
    table: dict[str, Any] = {}
    for name, kind in sorted(kinds.items()):
        if kind != "object" or name not in facts.mentioned:
            continue
        row: dict[str, Any] = {
            "type": strip_type(types.get(name, "")),
            "in": sorted(holders.get(name, [])),
            "locations": sorted(spots.get(name, [])),
            "properties": [own for own in PROPERTIES if name in owning[own]],
        }
        if states := [own for own, names in being.items() if name in names]:
            row["state"] = states
        if name in contents:
            row["contains"] = sorted(set(contents[name]))
        table[name] = row
    return table
