"""Plain rows: a question and its answer, in the manners of Search-R1 and LiteResearcher, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_envs.domains.search.datasets.row import BadRow, QuestionRow, answer_spec, sound, text_of, unique
from agentworld_envs.domains.search.datasets.specs import EXAMPLES, checked_spec
from agentworld_envs.domains.search.engine.urls import BadURL, canonical

QUESTION = ("question", "query", "problem")
ANSWER = ("answer", "answers", "golden_answers", "ground_truth", "target")


def is_plain(row: Mapping[str, Any]) -> bool:
    """A question somewhere, and an answer somewhere; or the questions that were made from one page."""
    try:
        return "qa_pairs" in row or bool(_question(row) and _answers(row) is not None)
    except BadRow:
        return False


def read_plain(row: Mapping[str, Any]) -> list[QuestionRow]:
    """`question` with `answer`, `answers` or `golden_answers`; optionally `id`, `aliases`, `mask_url` and `supporting`.

    An answer is a text, a list of texts of which each is right, a number, a boolean, or a spec (`{"kind": ...}`): that
    is how to ask for a list or a table. Also read are Search-R1's rows (`reward_model.ground_truth.target`),
    LiteResearcher's (`extra_info.question`, `extra_info.mask_url`), and the `qa_pairs` of one `url`, which is hidden.

    Raises:
        BadRow: what is missing.
    """
    pairs = row.get("qa_pairs")
    if isinstance(pairs, list):
        mask = _masks(row.get("url"))
        made = [read_plain({"mask_url": list(mask), **pair})[0] for pair in pairs if isinstance(pair, Mapping)]
        if not made or len(made) != len(pairs):
            raise BadRow("qa_pairs has to be a list of objects with question and answer")
        return made
    extra = row.get("extra_info")
    extra = extra if isinstance(extra, Mapping) else {}
    tags = [row["data_source"]] if isinstance(row.get("data_source"), str) and row["data_source"] else []
    return [
        QuestionRow(
            id=str(row.get("id") or row.get("_id") or ""),
            question=_question(row),
            answer=_spec(_answers(row), row.get("aliases", row.get("answer_aliases"))),
            mask=_masks(row.get("mask_url")) or _masks(extra.get("mask_url")) or _masks(_searched(extra)),
            supporting=unique(_texts(row.get("supporting"))),
            tags=tuple(tags),
        )
    ]


def _question(row: Mapping[str, Any]) -> str:
    """The question of a row, or of its `extra_info`, or the last thing a user says in its `prompt`."""
    extra = row.get("extra_info")
    for place in (row, extra):
        if isinstance(place, Mapping) and any(isinstance(place.get(name), str) for name in QUESTION):
            return text_of(place, *QUESTION)
    prompt = row.get("prompt")
    if isinstance(prompt, list):
        said = [turn for turn in prompt if isinstance(turn, Mapping) and turn.get("role") == "user"]
        if said:
            return text_of(said[-1], "content")
    return text_of(row, *QUESTION, "prompt")


def _answers(row: Mapping[str, Any]) -> Any:
    """Whatever stands where an answer may stand; `None` when nothing does."""
    for name in ANSWER:
        if row.get(name) is not None:
            return row[name]
    for name in ("reward_model", "extra_info"):
        inner = row.get(name)
        if isinstance(inner, Mapping) and (found := _answers(inner)) is not None:
            return found
    return None


def _spec(answer: Any, aliases: Any) -> dict[str, Any]:
    if isinstance(answer, Mapping):
        if "kind" not in answer:
            inner = _answers(answer)
            if inner is None:
                raise BadRow(
                    f"an answer that is an object needs a 'kind': {', '.join(EXAMPLES)}; for example {EXAMPLES['list']}"
                )
            return _spec(inner, aliases)
        return checked_spec(answer)
    if isinstance(answer, bool):
        return {"kind": "boolean", "value": answer}
    if isinstance(answer, int | float):
        spec: dict[str, Any] = {"kind": "number", "value": answer}
        if isinstance(answer, int):
            spec["tolerance"] = 0
        return checked_spec(spec)
    first = answer if isinstance(answer, list) else [answer]
    more = aliases if isinstance(aliases, list) else [aliases]
    return answer_spec([*first, *more])


def _masks(value: Any) -> tuple[str, ...]:
    """The addresses that a row wants hidden.

    Raises:
        BadRow: something there is no address, so that it would hide nothing.
    """
    found = []
    for one in value if isinstance(value, list | tuple) else [value]:
        if one is None or one == "" or (isinstance(one, str) and not one.strip()):
            continue
        try:
            canonical(one if isinstance(one, str) else "")
        except BadURL as error:
            raise BadRow(f"what it wants hidden is no address: {str(one)[:100]!a} ({error})") from error
        found.append(sound(one.strip()))
    return tuple(found)


def _texts(value: Any) -> tuple[str, ...]:
    """One text, or a list of some."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(sound(one.strip()) for one in values if isinstance(one, str) and one.strip())


def _searched(extra: Mapping[str, Any]) -> Any:
    """Where LiteResearcher's rows repeat the hidden address: `tools_kwargs.search.create_kwargs.url`."""
    value: Any = extra
    for name in ("tools_kwargs", "search", "create_kwargs", "url"):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
