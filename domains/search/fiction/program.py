"""`run`: carries out the steps of a question with somebody who can look facts up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    return step["name"]


def _find(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.described(step["kind"], step["where"])


def _follow(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.value(known[step["of"]], _relation(step))


def _difference(step: Step, known: list[Any], reader: Reader) -> Any:
    first, second = (known[index] for index in step["of"])
    return abs(first - second)


def _alias(step: Step, known: list[Any], reader: Reader) -> Any:
    return reader.named(step["name"])


def _each(step: Step, known: list[Any], reader: Reader) -> Any:
    return [reader.value(name, _relation(step)) for name in known[step["of"]]]


def _sum(step: Step, known: list[Any], reader: Reader) -> Any:
    return sum(known[step["of"]])


def _count(step: Step, known: list[Any], reader: Reader) -> Any:
    return len({name for index in step["of"] for name in known[index]})


def _both(step: Step, known: list[Any], reader: Reader) -> Any:
    return [known[index] for index in step["of"]]


def _extreme(step: Step, known: list[Any], reader: Reader) -> Any:
    pairs = zip(known[step["by"]], known[step["of"]], strict=True)
    return (max if step["which"] == "max" else min)(pairs)[1]


def _beyond(step: Step, known: list[Any], reader: Reader) -> Any:
    pairs = zip(known[step["of"]], known[step["by"]], strict=True)
    return [name for name, value in pairs if _year_or_number(value) > step["than"]]


def _holder(step: Step, known: list[Any], reader: Reader) -> Any:
    year = step["year"] if "year" in step else _year_or_number(known[step["year_of"]])
    return next((name for name, since, until in known[step["of"]] if since <= year < (until or year + 1)), "")


def _successor(step: Step, known: list[Any], reader: Reader) -> Any:
    holders = [name for name, _, _ in known[step["of"]]]
    after = holders.index(step["name"]) + 1 if step["name"] in holders else len(holders)
    return holders[after] if after < len(holders) else ""


def _table(step: Step, known: list[Any], reader: Reader) -> Any:
    rows = zip(known[step["of"]], *(known[index] for index in step["columns"]), strict=True)
    lines = [step["heads"], ["---"] * len(step["heads"]), *rows]
    return [f"| {' | '.join(map(str, line))} |" for line in lines]


def _year_or_number(value: int | str) -> int:
    return value if isinstance(value, int) else int(value[:4])


_STEPS: dict[str, Callable[[Step, list[Any], Reader], Any]] = {
    "name": _name,
    "alias": _alias,
    "find": _find,
    "follow": _follow,
    "each": _each,
    "difference": _difference,
    "sum": _sum,
    "count": _count,
    "both": _both,
    "extreme": _extreme,
    "beyond": _beyond,
    "holder": _holder,
    "successor": _successor,
    "table": _table,
}
