"""`Judgement`: five scores out of whatever a judge has written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from agentworld_envs.evaluation.agentworldbench.lenient import Unreadable, parse_lenient

DIMENSIONS: Final = ("format", "factuality", "consistency", "realism", "quality")
"""Scores of a judgement, each 1 (very poor) to 5 (excellent)."""
BEST: Final = 5

_OPEN: Final = "<final_evaluation>"
_CLOSE: Final = "</final_evaluation>"
_THINK_CLOSE: Final = re.compile(r"</think>", re.IGNORECASE)
_THINK_OPEN: Final = re.compile(r"<think>", re.IGNORECASE)
_FENCED: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)(?:\n\s*```|\Z)", re.DOTALL)
_SCORES: Final = re.compile(r"[\"']?scores[\"']?\s*[:=]\s*(?=\{)", re.IGNORECASE)
_WHOLE: Final = re.compile(r"\s*(-?\d{1,9})\s*(?:/\s*(\d{1,9})\s*)?")
_MOST_TRIES: Final = 50


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says of one prediction."""

    scores: dict[str, int]
    """Dimension -> 1 to 5; 0 where it is missing."""
    kinds: tuple[str, ...] = ()
    """What was not as asked: `no_tag`, `repaired` (JSON with mistakes), `half_json`, `wrong_scale`, `text_value`,
    `rounded`, `missing_dimension`."""

    @property
    def total(self) -> float:
        """Mean of the dimensions that have a score, as published."""
        given = [score for score in self.scores.values() if score > 0]
        return sum(given) / len(given)


@dataclass(frozen=True, slots=True)
class NoJudgement:
    """A judge's text without scores."""

    kind: str
    """`empty`, `prose` (no JSON), `no_scores` (JSON without them), `half_json` (cut among them) or `all_zero`."""


def parse_judgement(text: str) -> Judgement | NoJudgement:
    """Read a judge's answer. Never raises.

    Looked at, behind the thinking: the last `<final_evaluation>` block, or the whole text where there is none (what a
    judge quotes outside of its block is not its verdict); in that, the fenced blocks from the last one, then every
    object from the last one; strictly, then leniently. Only an object with scores counts.

    Values: a float is rounded, `"4/5"` is 4, anything above 5 is 5 (`wrong_scale`), and what is no number, or is not
    above 0, is missing.
    """
    answer = _without_thinking(text)
    if not answer.strip():
        return NoJudgement("empty")
    problem = "prose"
    for part, kinds in _parts(answer):
        for found_value, more in _objects(part):
            value = _lowered(found_value)
            scores = _scores_in(value)
            if scores is None:
                problem = "no_scores" if problem == "prose" else problem
                continue
            if scores is value and not more and _SCORES.search(part):
                more = ("repaired",)  # only an inner object of something broken could be read
            found = _judgement(scores, (*kinds, *more))
            if isinstance(found, Judgement):
                return found
            problem = found.kind
    return NoJudgement(problem)


def _without_thinking(text: str) -> str:
    ends = list(_THINK_CLOSE.finditer(text))
    if ends and text[ends[-1].end() :].strip():
        return text[ends[-1].end() :]
    opened = _THINK_OPEN.match(text.lstrip())
    return "" if opened and not ends else _THINK_CLOSE.sub("", text)


def _parts(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    start = text.rfind(_OPEN)
    if start >= 0:
        inner = text[start + len(_OPEN) :]
        yield inner.partition(_CLOSE)[0], ()
    else:
        yield text, ("no_tag",)


def _objects(text: str) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Candidates for the object with the scores, the most likely first."""
    blocks = [match[1] for match in _FENCED.finditer(text) if "scores" in match[1]]
    for block in [*reversed(blocks), text]:
        starts = [match.start() for match in re.finditer(r"\{", block)]
        # The outermost objects come first: an inner one is part of one that was tried already.
        for start in _outer(block, starts)[::-1][:_MOST_TRIES]:
            yield from _read(block, start)
    # What is left: the scores alone, wherever they are.
    for match in list(_SCORES.finditer(text))[::-1][:_MOST_TRIES]:
        for value, kinds in _read(text, match.end()):
            yield value, kinds or ("repaired",)


def _outer(text: str, starts: list[int]) -> list[int]:
    """Of the places where an object may begin, those that are not inside of a whole one."""
    decoder = json.JSONDecoder(strict=False)
    found: list[int] = []
    end = -1
    for start in starts[: 20 * _MOST_TRIES]:
        if start < end:
            continue
        found.append(start)
        try:
            end = decoder.raw_decode(text, start)[1]
        except (ValueError, RecursionError):
            continue
    return found


def _read(text: str, start: int) -> Iterator[tuple[Any, tuple[str, ...]]]:
    try:
        yield json.JSONDecoder(strict=False).raw_decode(text, start)[0], ()
    except (ValueError, RecursionError):
        try:
            value, whole = parse_lenient(text, start)
        except Unreadable:
            return
        yield value, ("repaired",) if whole else ("half_json",)


def _scores_in(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    scores = value.get("scores", value)
    if not isinstance(scores, dict):
        return None
    return scores if any(name in scores for name in DIMENSIONS) else None


def _lowered(value: Any) -> Any:
    """Keys of an object, and of the object with the scores, in small letters without space around them."""
    if not isinstance(value, dict):
        return value
    return {
        str(key).strip().lower(): _lowered(item) if str(key).strip().lower() == "scores" else item
        for key, item in value.items()
    }


def _judgement(scores: dict[str, Any], kinds: tuple[str, ...]) -> Judgement | NoJudgement:
    values: dict[str, int] = {}
    found = list(kinds)
    for name in DIMENSIONS:
        value, more = _value(scores.get(name))
        values[name] = value
        found += more
    if not any(values.values()):
        return NoJudgement("all_zero")
    if not all(values.values()):
        if "half_json" in found:
            return NoJudgement("half_json")  # the rest was cut off: the mean of what is left would be of other things
        found.append("missing_dimension")
    return Judgement(values, tuple(dict.fromkeys(found)))


def _value(value: Any) -> tuple[int, list[str]]:
    """A score in 0 to 5, and what was odd about it."""
    kinds: list[str] = []
    if isinstance(value, dict):  # {"score": 4, "reason": ...}
        value = value.get("score")
    if isinstance(value, bool) or value is None:
        return 0, kinds
    if isinstance(value, str):
        match = _WHOLE.fullmatch(value)
        if match is None:
            return 0, ["text_value"]
        kinds.append("text_value")
        if match[2] and int(match[2]) != BEST:
            kinds.append("wrong_scale")
        value = int(match[1])
    if isinstance(value, float):
        if not math.isfinite(value):
            return 0, kinds
        if value != round(value):
            kinds.append("rounded")
        value = round(value)
    if not isinstance(value, int) or value <= 0:
        return 0, [*kinds, "wrong_scale"] if isinstance(value, int) and value < 0 else kinds
    if value > BEST:
        kinds.append("wrong_scale")
    return min(value, BEST), kinds
