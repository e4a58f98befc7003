"""What a judge writes: prose, fences, half JSON, wrong scales; and what a simulator writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.backends.world_model.codec import CLOSE, OPEN, wrap
from agentworld_envs.evaluation.agentworldbench import DIMENSIONS, Judgement, NoJudgement, parse_judgement
from agentworld_envs.evaluation.agentworldbench.answers import NO_OUTPUT, read_answer
from agentworld_envs.evaluation.agentworldbench.lenient import Unreadable, parse_lenient

GOOD = {"format": 5, "factuality": 4, "consistency": 3, "realism": 2, "quality": 1}


def evaluation(scores: Any, **more: Any) -> str:
    data = {"strengths": ["a, foo: bar"], "weaknesses": [], "scores": scores, **more}
    return f"First I compare.\n<final_evaluation>\n```json\n{json.dumps(data)}\n```\n</final_evaluation>"


def scores_of(text: str) -> dict[str, int]:
    found = parse_judgement(text)
    assert isinstance(found, Judgement), found
    return found.scores


def test_the_form_that_is_asked_for() -> None:
    found = parse_judgement(f"<think>maybe {evaluation(dict.fromkeys(GOOD, 5))}</think>{evaluation(GOOD)}")
    assert found == Judgement(GOOD)
    assert found.total == 3.0


BODY = json.dumps({"strengths": [], "scores": GOOD})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (BODY, "no_tag"),
        (f"Here:\n```json\n{BODY}\n```\nThat is all.", "no_tag"),
        (f"```\n{BODY}", "no_tag"),
        (f"<final_evaluation>{BODY}", None),
        (f"<final_evaluation>\n{BODY}\n</final_evaluation>\n<final_evaluation>", "?"),
        (f"<final_evaluation>{BODY[:-1]},}}</final_evaluation>", "repaired"),
        (f"<final_evaluation>{BODY[:-2]}", "half_json"),
        ("<final_evaluation>{'scores': " + str(GOOD) + "}</final_evaluation>", "repaired"),
        ("<final_evaluation>{scores: {format: 5, factuality: 4, consistency: 3, realism: 2, quality: 1,}}", "repaired"),
        (f'<final_evaluation>{{"strengths": ["says "hi" to all"], "scores": {json.dumps(GOOD)}}}', "repaired"),
        (f"<final_evaluation>{json.dumps(GOOD)}</final_evaluation>", None),
        (evaluation({name.upper(): value for name, value in GOOD.items()}), None),
        (evaluation({name: {"score": value, "reason": "x"} for name, value in GOOD.items()}), None),
        (evaluation({name: f"{value}/5" for name, value in GOOD.items()}), "text_value"),
        (evaluation({name: f" {value} " for name, value in GOOD.items()}), "text_value"),
        (evaluation({name: float(value) for name, value in GOOD.items()}), None),
        (evaluation({**GOOD, "quality": 1.4}), "rounded"),
        (evaluation({**GOOD, "format": 9}), "wrong_scale"),
        (evaluation({**GOOD, "format": "9/10"}), "wrong_scale"),
    ],
)
def test_scores_are_found(text: str, kind: str | None) -> None:
    found = parse_judgement(text)
    if kind == "?":  # an opening tag at the very end holds nothing; it is asked again
        assert isinstance(found, NoJudgement)
        return
    assert isinstance(found, Judgement), found
    assert found.scores == GOOD
    assert kind is None or kind in found.kinds
    assert kind is not None or found.kinds == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("<think>so many thoughts", "empty"),
        ("I would give it a 4 out of 5.", "prose"),
        ("<final_evaluation>great</final_evaluation>", "prose"),
        ('{"verdict": "good"}', "no_scores"),
        (evaluation(dict.fromkeys(GOOD, 0)), "all_zero"),
        (evaluation(dict.fromkeys(GOOD, "4.5")), "all_zero"),
        (evaluation(dict.fromkeys(GOOD, None)), "all_zero"),
        (evaluation(dict.fromkeys(GOOD, True)), "all_zero"),
        ('{"scores": [5, 5, 5, 5, 5]}', "no_scores"),
        (evaluation(GOOD).partition('"realism"')[0], "half_json"),
        (evaluation(GOOD).partition(', "realism"')[0], "half_json"),
        ("{" * 5000, "prose"),
        ('{"a":' * 5000, "prose"),
    ],
)
def test_no_scores_are_invented(text: str, kind: str) -> None:
    assert parse_judgement(text) == NoJudgement(kind)


def test_missing_dimensions_do_not_count() -> None:
    found = parse_judgement(evaluation({"format": 4, "quality": 2, "realism": "x", "factuality": -1}))
    assert isinstance(found, Judgement)
    assert found.total == 3.0
    assert {"missing_dimension", "text_value", "wrong_scale"} <= set(found.kinds)


def test_what_a_judge_quotes_is_not_its_verdict() -> None:
    quoted = (
        'The output claims {"scores": {"format": 5, "factuality": 5, "consistency": 5, "realism": 5, "quality": 5}}.'
    )
    assert scores_of(f"{quoted}\n{evaluation(GOOD)}") == GOOD
    assert isinstance(parse_judgement(f"{quoted}\n<final_evaluation>very poor</final_evaluation>"), NoJudgement)


def test_the_repair_leaves_strings_as_they_are() -> None:
    text = "{'a': 'x, foo: bar', \"b\": \"it's 1,}\", c: [1, 2,], // note\n d: True, e: 4/5, f: 'half"
    value, whole = parse_lenient(text)
    assert value == {"a": "x, foo: bar", "b": "it's 1,}", "c": [1, 2], "d": True, "e": "4/5", "f": "half"}
    assert not whole


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
        max_leaves=10,
    )
)
def test_valid_json_is_read_as_it_is(value: Any) -> None:
    try:
        found, whole = parse_lenient(json.dumps(value))
    except Unreadable:
        pytest.fail("valid JSON was refused")
    assert whole
    if not _has_big(value):
        assert found == value


def _has_big(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_big, value.values()))
    if isinstance(value, list):
        return any(map(_has_big, value))
    return isinstance(value, int) and abs(value) > 10**17


@given(
    st.text(),
    st.lists(
        st.sampled_from(
            ['{"scores":', "{", "}", '"', "'", "```json\n", "<final_evaluation>", "</think>", "[", "5", ",", ":"]
        ),
        max_size=30,
    ).map("".join),
)
def test_nothing_makes_the_parser_raise(text: str, built: str) -> None:
    for one in (text, built):
        found = parse_judgement(one)
        assert isinstance(found, NoJudgement) or set(found.scores) == set(DIMENSIONS)


# -- answers of a simulator ----------------------------------------------------------------------------------------


def answer(text: str = "", reasoning: str = "", finish_reason: str = "stop", failure: Any = None) -> Any:
    return read_answer({"text": text, "reasoning": reasoning, "finish_reason": finish_reason, "failure": failure})


@pytest.mark.parametrize(
    ("entry", "text", "kinds"),
    [
        (answer(wrap("a\nb ")), "a\nb ", ("ok",)),
        (answer(wrap("")), "", ("ok",)),
        (answer(f"<think>{OPEN}x{CLOSE}</think>{wrap('a')}"), "a", ("ok",)),
        (answer(wrap("a"), "thoughts"), "a", ("ok",)),
        (answer(wrap(f"cat\n{wrap('x')}")), f"cat\n{wrap('x')}", ("ok",)),
        (answer("just text"), "just text", ("no_tag",)),
        (answer(f"{wrap('draft')}\nbetter:\n{wrap('final')}"), "final", ("two_tags",)),
        (answer(f"{OPEN}\nhalf"), "half", ("unclosed_tag",)),
        (answer(f"{wrap('draft')}\nNo:\n{OPEN}\nhalf"), "half", ("two_tags", "unclosed_tag")),
        (answer(f"{OPEN}\n"), NO_OUTPUT, ("empty",)),
        (answer(f"{OPEN}\nhalf", finish_reason="length"), "half", ("length", "unclosed_tag")),
        (answer("<think>on and on", finish_reason="length"), NO_OUTPUT, ("length", "only_thinking")),
        (answer("", "on and on"), NO_OUTPUT, ("only_thinking",)),
        (answer("<think>done</think>"), NO_OUTPUT, ("only_thinking",)),
        (answer(""), NO_OUTPUT, ("empty",)),
        (answer(" \n"), NO_OUTPUT, ("empty",)),
        (answer(failure={"kind": "provider_timeout"}), NO_OUTPUT, ("failure:provider_timeout",)),
    ],
)
def test_answers_by_kind(entry: Any, text: str, kinds: tuple[str, ...]) -> None:
    assert (entry.text, entry.kinds) == (text, kinds)
    assert entry.failed == kinds[0].startswith("failure:")
