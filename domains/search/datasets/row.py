"""`QuestionRow`: one question of a public set, whatever the set; and what its readers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentworld_envs.domains.search.answers.normal import normalise

_YES_NO = {"yes": True, "no": False}


class BadRow(ValueError):
    """A row that cannot be asked; the message says why."""


@dataclass(frozen=True, slots=True)
class Context:
    """A paragraph that a set brings along with a question."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question with its answer, and where that is found."""

    id: str
    """Unique within the file."""
    question: str
    answer: Mapping[str, Any]
    """Spec, see `answers.AnswerSpec`."""
    mask: tuple[str, ...] = ()
    """Addresses that the row itself wants hidden, as they are written there (LiteResearcher's `mask_url`)."""
    supporting: tuple[str, ...] = ()
    """Titles of the pages that hold the answer, in the order of the set."""
    contexts: tuple[Context, ...] = ()
    """Paragraphs that came with the question: those that hold the answer, and distractors."""
    tags: tuple[str, ...] = ()
    """Type, level and number of hops, as far as the set says."""
    line: int = 0
    """Where it begins in the file (1-based)."""


def text_of(row: Mapping[str, Any], *names: str) -> str:
    """The first of some fields that is a text with something in it, without space around it.

    Raises:
        BadRow: there is none, or it holds half of a surrogate pair.
    """
    for name in names:
        value = row.get(name)
        if isinstance(value, str) and value.strip():
            return sound(value.strip())
    raise BadRow(f"no {' or '.join(names)}")


def sound(text: str) -> str:
    """The text, if it can be written to a file.

    Raises:
        BadRow: it holds half of a surrogate pair.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadRow(f"half of a surrogate pair at character {error.start} of {text[:40]!a}") from error
    return text


def answer_spec(values: Iterable[Any]) -> dict[str, Any]:
    """The spec of an answer, given as all texts that are right: the first is the answer, the others its aliases.

    `yes` and `no` alone are a boolean.

    Raises:
        BadRow: there is none.
    """
    texts = [sound(str(value).strip()) for value in values if isinstance(value, str | int | float)]
    texts = list(dict.fromkeys(text for text in texts if text))
    if not texts:
        raise BadRow("no answer")
    if len(texts) == 1 and normalise(texts[0]) in _YES_NO:
        return {"kind": "boolean", "value": _YES_NO[normalise(texts[0])]}
    return {"kind": "text", "value": texts[0], "aliases": texts[1:]}


def unique(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts without repetitions, in order."""
    return tuple(dict.fromkeys(texts))
