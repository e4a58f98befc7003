"""Rows of HotpotQA, 2WikiMultihopQA and MuSiQue: questions of several hops with their paragraphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_envs.domains.search.datasets.row import (
    BadRow,
    Context,
    QuestionRow,
    answer_spec,
    sound,
    text_of,
    unique,
)


def is_hotpot(row: Mapping[str, Any]) -> bool:
    """HotpotQA and sets in its form: `supporting_facts` and `context`."""
    return "supporting_facts" in row and "context" in row


def is_two_wiki(row: Mapping[str, Any]) -> bool:
    """2WikiMultihopQA: HotpotQA's form, with `evidences`."""
    return is_hotpot(row) and "evidences" in row


def is_musique(row: Mapping[str, Any]) -> bool:
    """MuSiQue: `paragraphs` that are marked as supporting or not."""
    return "paragraphs" in row and "question" in row


def read_hotpot(row: Mapping[str, Any]) -> list[QuestionRow]:
    """A row of HotpotQA or 2WikiMultihopQA, as published or as a data set library writes it (columns within a row).

    Raises:
        BadRow: what is missing.
    """
    facts, context = row.get("supporting_facts"), row.get("context")
    if isinstance(facts, Mapping):
        facts = _pairs(facts, "title", "sent_id")
    if isinstance(context, Mapping):
        context = _pairs(context, "title", "sentences" if "sentences" in context else "content")
    if not isinstance(facts, list) or not isinstance(context, list):
        raise BadRow("supporting_facts and context have to be lists")
    contexts = []
    for item in context:
        if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], list)):
            raise BadRow("context has to be a list of [title, [sentences]]")
        sentences = " ".join(str(sentence).strip() for sentence in item[1])
        contexts.append(Context(sound(item[0].strip()), sound(sentences)))
    titles = [sound(fact[0].strip()) for fact in facts if isinstance(fact, list) and fact and isinstance(fact[0], str)]
    tags = [str(row[name]) for name in ("type", "level") if isinstance(row.get(name), str) and row[name]]
    return [
        QuestionRow(
            id=str(row.get("_id") or row.get("id") or ""),
            question=text_of(row, "question"),
            answer=answer_spec([row.get("answer")]),
            supporting=unique(titles),
            contexts=tuple(contexts),
            tags=tuple(tags),
        )
    ]


def read_musique(row: Mapping[str, Any]) -> list[QuestionRow]:
    """A row of MuSiQue. Those that are not answerable have no right answer to be checked.

    Raises:
        BadRow: what is missing.
    """
    if row.get("answerable") is False:
        raise BadRow("not answerable")
    paragraphs = row.get("paragraphs")
    if not isinstance(paragraphs, list) or not all(isinstance(one, Mapping) for one in paragraphs):
        raise BadRow("paragraphs has to be a list of objects")
    contexts, supporting = [], []
    for one in paragraphs:
        context = Context(text_of(one, "title"), text_of(one, "paragraph_text", "text"))
        contexts.append(context)
        if one.get("is_supporting") is True:
            supporting.append(context.title)
    hops = row.get("question_decomposition")
    aliases = row.get("answer_aliases")
    return [
        QuestionRow(
            id=str(row.get("id") or ""),
            question=text_of(row, "question"),
            answer=answer_spec([row.get("answer"), *(aliases if isinstance(aliases, list) else [])]),
            supporting=unique(supporting),
            contexts=tuple(contexts),
            tags=(f"{len(hops)}hop",) if isinstance(hops, list) and hops else (),
        )
    ]


def _pairs(columns: Mapping[str, Any], first: str, second: str) -> list[list[Any]] | None:
    """Two columns as a list of pairs."""
    left, right = columns.get(first), columns.get(second)
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        return None
    return [list(pair) for pair in zip(left, right, strict=True)]
