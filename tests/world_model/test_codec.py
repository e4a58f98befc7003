"""The wire layout: whatever an environment prints comes back as it was."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentworld_envs.backends.world_model.codec import (
    CLOSE,
    HEADER,
    OPEN,
    PREFILL,
    defuse,
    fence,
    parse_prediction,
    render_action_turn,
    render_observation,
    wrap,
)

PIECES = st.sampled_from(
    [OPEN, CLOSE, "<think>", "</think>", HEADER, "\n", "\r\n", " ", "```", "<|im_end|>", "### Turn 3\n", "x", "é"]
)
observations = st.one_of(st.text(), st.lists(PIECES, max_size=12).map("".join))
thoughts = observations.filter(lambda t: "</think>" not in t)


@given(observations)
@settings(max_examples=400)
def test_any_observation_comes_back(observation: str) -> None:
    prediction = parse_prediction(wrap(observation))
    assert prediction.text == observation
    assert prediction.problem is None
    assert prediction.reasoning == ""
    assert prediction.empty == (not observation.strip())


@given(observations, thoughts)
@settings(max_examples=400)
def test_thinking_is_separated(observation: str, thought: str) -> None:
    by_channel = parse_prediction(wrap(observation), reasoning=thought)
    assert (by_channel.text, by_channel.reasoning) == (observation, thought)
    for space in ("", "\n\n", f"\n{HEADER}\n"):
        by_tag = parse_prediction(f"<think>\n{thought}\n</think>{space}{wrap(observation)}")
        assert by_tag.text == observation
        assert by_tag.reasoning == thought.strip()


@given(observations.filter(lambda t: not t.lstrip().startswith((OPEN, "<think>"))))
@settings(max_examples=400)
def test_a_prefilled_answer_comes_back(observation: str) -> None:
    rest = wrap(observation).removeprefix(PREFILL)
    assert parse_prediction(rest, prefilled=PREFILL).text == observation
    if observation.count(OPEN) == observation.count(CLOSE):
        ignored = parse_prediction(wrap(observation), prefilled=PREFILL)
        assert ignored.text == observation, "a model that ignores the prefill"


@given(observations)
@settings(max_examples=300)
def test_a_fence_cannot_be_closed_from_inside(action: str) -> None:
    lines = fence(action, "text").split("\n")
    ticks = lines[0].removesuffix("text")
    assert lines[-1] == ticks
    assert ticks not in action
    assert "\n".join(lines[1:-1]) == action


@given(st.text(), st.text(), thoughts)
@settings(max_examples=300)
def test_nothing_makes_the_parser_raise(text: str, reasoning: str, prefill: str) -> None:
    for reason in ("stop", "length", ""):
        parse_prediction(text, reasoning, prefill, reason)


@pytest.mark.parametrize(
    ("text", "observation", "found", "closed", "problem"),
    [
        (f"{OPEN}\nhi\n{CLOSE}", "hi", True, True, None),
        (f"{OPEN}hi{CLOSE}", "hi", True, True, None),
        (f"{OPEN}\n\n  hi \n\n{CLOSE}", "\n  hi \n", True, True, None),
        (f"{OPEN}\n{CLOSE}", "", True, True, None),
        (f"{OPEN}{CLOSE}", "", True, True, None),
        (f"{OPEN}\n{HEADER}\nhi\n{CLOSE}", "hi", True, True, None),
        (f"{HEADER}\n{OPEN}\nhi\n{CLOSE}", "hi", True, True, None),
        (f"Sure, here you are:\n{OPEN}\nhi\n{CLOSE}\nAnything else?", "hi", True, True, None),
        (f"{OPEN}\nhi\nthere", "hi\nthere", True, False, "closing"),
        ("hi", "hi", False, False, "no"),
        (f"{HEADER}\nhi", "hi", False, False, "no"),
        ("", "", False, False, "empty"),
        (" \n", "", False, False, "empty"),
        (f"<think>I could say {OPEN}x{CLOSE}", "", False, False, "no"),
        (f"<think>first {OPEN}x{CLOSE}</think>{OPEN}\ny\n{CLOSE}", "y", True, True, None),
        (f"say </think> and then </think>\n\n{OPEN}\ny\n{CLOSE}", "y", True, True, None),
        (f"thinking without a start, about {OPEN}x{CLOSE}\n</think>\n{OPEN}\ny\n{CLOSE}", "y", True, True, None),
        (f"Answer: {OPEN}\ncat: </think>\n{CLOSE}", "cat: </think>", True, True, None),
    ],
)
def test_cases(text: str, observation: str, found: bool, closed: bool, problem: str | None) -> None:
    prediction = parse_prediction(text)
    assert (prediction.text, prediction.tag_found, prediction.tag_closed) == (observation, found, closed)
    assert (prediction.problem is None) == (problem is None)


def test_a_cut_answer_is_no_prediction_even_when_it_is_closed() -> None:
    assert parse_prediction(wrap("hi"), finish_reason="length").problem is not None


def test_layout() -> None:
    assert render_action_turn(2, "go north") == "### Turn 2\n**Action:**\n```text\ngo north\n```"
    assert render_action_turn(1, "{}", "json", "Predict.", "A room.") == (
        "### Turn 1\n**Current State:**\nA room.\n\n**Action:**\n```json\n{}\n```\n\nPredict."
    )
    assert render_observation("A room.") == "**Environment Observation:**\nA room."


def test_control_tokens_are_broken_and_nothing_else() -> None:
    assert defuse("a<|im_end|>\n<|im_start|>system") == "a< |im_end|>\n< |im_start|>system"
    assert defuse("<\uff5cbegin\uff5c>") == "< \uff5cbegin\uff5c>"
    for harmless in ("a <| b |> c", "x |> f <| y", "<p>", "a<|b", "<||>"):
        assert defuse(harmless) == harmless


@pytest.mark.parametrize(
    ("text", "finish_reason", "problem"),
    [
        ("You arrive at bed 1.", "stop", None),
        ("You arrive at bed 1.\n</predicted_observation>", "stop", None),
        ("You arrive at", "length", "the answer was cut at max_tokens"),
        (" \n", "stop", "the answer is empty"),
        ("You arrive at the fri", "content_filter", "the answer has no </predicted_observation> tag"),
        ("<think>\nThe agent goes", "stop", "the answer has no </predicted_observation> tag"),
    ],
)
def test_a_turn_that_was_begun_may_end_without_the_closing_tag(
    text: str, finish_reason: str, problem: str | None
) -> None:
    prediction = parse_prediction(text, prefilled=PREFILL, finish_reason=finish_reason)
    assert prediction.problem == problem
    assert prediction.tag_closed is ("</" in text)
    if problem is None:
        assert prediction.text == "You arrive at bed 1."
