"""`run`: carries out the steps of a question with somebody who can look facts up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from agentworld_envs.domains.search.fiction.questions import Step
from agentworld_envs.domains.search.fiction.relations import Relation, relations


class Reader(Protocol):
    """Looks facts up."""

    def value(self, name: str, relation: Relation) -> Any: ...
    def named(self, name: str) -> str: ...
    def described(self, kind: str, where: Sequence[tuple[str, str]]) -> str: ...


def run(program: Sequence[Step], reader: Reader) -> str:
    """The answer as text: that of the last step."""
    known: list[Any] = []
    for step in program:
        known.append(_STEPS[step["op"]](step, known, reader))
    return written(known[-1])


def written(value: Any) -> str:
    """An answer as an agent gives it: ISO 8601 for dates, one line for each item or row."""
    if isinstance(value, list | tuple):
        return "\n".join(written(item) for item in value)
    return str(value)


def _relation(step: Step) -> Relation:
    return relations(step["kind"])[step["relation"]]


def _name(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.named(step["name"])


def _find(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.described(step["kind"], step["where"])


def _follow(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.value(known[step["of"]], _relation(step))


def _difference(step: Step, known: list[Any], reader: Reader) -> Any:
    first, second = (known[index] for index in step["of"])
    return abs(first - second)


_STEPS = {"name": _name, "find": _find, "follow": _follow, "difference": _difference}
