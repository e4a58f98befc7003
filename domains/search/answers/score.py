"""`score`: how right an answer is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from agentworld_envs.domains.search.answers.dates import same_date
from agentworld_envs.domains.search.answers.element import LONGEST as LONGEST_VALUE
from agentworld_envs.domains.search.answers.element import Element, Gold
from agentworld_envs.domains.search.answers.lists import readings
from agentworld_envs.domains.search.answers.matching import distinct, f1, longest_common, most_pairs
from agentworld_envs.domains.search.answers.normal import normalise
from agentworld_envs.domains.search.answers.numbers import same_number
from agentworld_envs.domains.search.answers.sentence import date_in, number_in
from agentworld_envs.domains.search.answers.spec import DateSpec, ListSpec, NumberSpec, TableSpec, TextSpec, read_spec
from agentworld_envs.domains.search.answers.tables import score_table

LONGEST = 200_000
"""Characters of an answer that are read; what comes after is not an answer (`detail["cut"]`)."""
SPARE = 64
"""So many elements or rows more than four times the wanted ones are compared; the others count as wrong."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of an answer."""

    score: float
    """In [0, 1]: F1 of lists, item F1 of tables, 0 or 1 of all else."""
    correct: bool
    """Whether nothing is wrong and nothing is missing."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Numbers behind the score, as JSON: `kind`; precision, recall and F1 of lists; of rows and items of tables."""


def score(spec: Mapping[str, Any] | BaseModel, text: str) -> Scored:
    """Score an answer. Pure, bounded in time, and never raises on the answer.

    One value is compared by normalised exact match (SQuAD), as a number within a tolerance, or as a date at least as
    precise as the right one; a number or a date also within a sentence that has just one (see `sentence`). Several
    guesses for one value are wrong. Lists are scored by the F1 of the best
    one-to-one matching, tables by rows and items (WideSearch).

    Args:
        spec: see `AnswerSpec`.
        text: what the agent handed in. No more than `LONGEST` characters are read.

    Raises:
        TaskError: the spec is broken.
    """
    right = read_spec(spec)
    cut = len(text) > LONGEST
    text = text[:LONGEST]
    if isinstance(right, ListSpec):
        scored = _score_list(right, text)
    elif isinstance(right, TableSpec):
        value, correct, detail = score_table(right, text, SPARE)
        scored = Scored(value, correct, detail)
    else:
        element = Element(text)
        matches = Gold(right).matches(element) or _said(right, element)
        scored = Scored(float(matches), matches, {"kind": right.kind})
    if cut:
        scored.detail["cut"] = True
    return scored


def _said(right: Any, element: Element) -> bool:
    """Whether a sentence has the right number or date, and no other one."""
    if isinstance(right, NumberSpec):
        number = number_in(element.text, right.unit)
        return number is not None and same_number(number, right.value, right.allowed, right.unit)
    return isinstance(right, DateSpec) and same_date(date_in(element.text), right.day)


def _score_list(spec: ListSpec, text: str) -> Scored:
    wanted = [TextSpec(value=value) if isinstance(value, str) else value for value in spec.values]
    if not spec.ordered:
        wanted = list({value.model_dump_json(): value for value in wanted}.values())
    golds = [Gold(value) for value in wanted]
    best: tuple[float, float, float, int, int] | None = None
    for items in readings(text):
        if not spec.ordered:
            items = distinct(items, lambda item: (normalise(item) if len(item) <= LONGEST_VALUE else "") or item)
        elements = [Element(item) for item in items[: 4 * len(golds) + SPARE]]

        def fits(row: int, column: int, elements: list[Element] = elements) -> bool:
            return golds[row].matches(elements[column])

        size = len(golds), len(elements)
        hits = longest_common(*size, fits) if spec.ordered else len(most_pairs(*size, fits))
        numbers = (*f1(hits, len(items), len(golds)), hits, len(items))
        if best is None or numbers[2] > best[2]:
            best = numbers
    assert best is not None  # there is always a reading
    precision, recall, value, hits, given = best
    detail = {"kind": "list", "precision": precision, "recall": recall, "f1": value}
    detail |= {"right": hits, "given": given, "wanted": len(golds)}
    return Scored(value, hits == given == len(golds), detail)
