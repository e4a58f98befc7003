"""The rule-based measures: known values, agreement with the textbook table, bounds, speed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.evaluation import text_metrics
from agentworld_envs.evaluation.text_metrics import edit_similarity, exact, token_f1

SHORT = st.text(alphabet="ab\n é😀", max_size=14)


def table(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        new = [i]
        for j, y in enumerate(b, 1):
            new.append(min(row[j] + 1, new[-1] + 1, row[j - 1] + (x != y)))
        row = new
    return row[-1]


@given(SHORT, SHORT)
def test_edit_similarity_is_the_textbook_distance(a: str, b: str) -> None:
    expected = 1 - table(a, b) / max(len(a), len(b), 1)
    assert edit_similarity(a, b) == pytest.approx(expected)
    assert edit_similarity(a, b) == edit_similarity(b, a)
    assert exact(a, b) == (edit_similarity(a, b) == 1.0)


@given(SHORT, SHORT)
def test_token_f1_is_symmetric_and_bounded(a: str, b: str) -> None:
    assert token_f1(a, b) == token_f1(b, a)
    assert 0.0 <= token_f1(a, b) <= 1.0
    assert token_f1(a, a) == 1.0


def test_known_values() -> None:
    assert edit_similarity("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert edit_similarity("", "") == 1.0
    assert edit_similarity("", "a") == 0.0
    assert token_f1("the cat sat", "the cat ran fast") == pytest.approx(4 / 7)
    assert token_f1("", " \n") == 1.0
    assert token_f1("", "a") == 0.0
    assert not exact("a", "a ")


def test_long_texts_are_compared_by_coarser_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_metrics, "EXACT_CELLS", 10)
    assert edit_similarity("one\ntwo\nthree\nfour\n", "one\n2222\nthree\n4444\n") == pytest.approx(0.5)
    monkeypatch.setattr(text_metrics, "EXACT_CELLS", 40)
    assert edit_similarity("alpha beta gamma", "alpha zeta delta") == pytest.approx(1 - 2 / 5)


def test_an_observation_of_sixty_thousand_characters_takes_no_time_when_one_line_differs() -> None:
    left = "".join(f"line {index}: the value is {index * 7919 % 997}\n" for index in range(2000))
    right = left.replace("line 1000:", "line 1OOO!")
    began = time.perf_counter()
    assert 0.99 < edit_similarity(left, right) < 1.0
    assert time.perf_counter() - began < 0.5
