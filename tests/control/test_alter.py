"""What implicit faults make of answers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.backends.control.alter import FAILED, MORE, alter

KINDS = ("truncated_data", "missing_field", "stale", "pagination", "partial_failure")
LINES = "".join(f"file{number}.txt\n" for number in range(24))
ITEMS = "On the desk 1, you see a mug 1, a pen 2, a cup 3, and a credit card 1."


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def change(kind: str, body: str, previous: str | None = None) -> str:
    changed = alter(kind, body, previous, rng())  # type: ignore[arg-type]
    assert changed is not None
    assert changed != body
    return changed


def test_it_is_cut_in_the_middle_without_a_marker() -> None:
    for body in (LINES, ITEMS, '{"a": 1, "b": [1, 2, 3]}'):
        cut = change("truncated_data", body)
        assert body.startswith(cut)
        assert 0.2 < len(cut) / len(body) < 0.8


def test_one_entry_gets_lost() -> None:
    assert len(change("missing_field", LINES).splitlines()) == 23
    assert set(change("missing_field", LINES).splitlines()) < set(LINES.splitlines())
    lost = change("missing_field", ITEMS)
    assert lost.startswith("On the desk 1, you see a ")
    assert lost.endswith(".")
    assert sum(name in lost for name in ("mug 1", "pen 2", "cup 3", "credit card 1")) == 3
    assert ", and a " in lost
    assert len(json.loads(change("missing_field", '{"a": 1, "b": 2, "c": 3}'))) == 2
    assert len(json.loads(change("missing_field", "[1, 2, 3]"))) == 2


def test_two_items_leave_one() -> None:
    lost = change("missing_field", "In it, you see a mug 1, and a pen 2.")
    assert lost in ("In it, you see a mug 1.", "In it, you see a pen 2.")


def test_the_previous_answer_comes_again() -> None:
    assert change("stale", "new\n", "old\n") == "old\n"
    assert alter("stale", "same", "same", rng()) is None
    assert alter("stale", "first", None, rng()) is None


def test_the_first_page() -> None:
    assert change("pagination", LINES).splitlines() == [*LINES.splitlines()[:10], MORE]
    assert change("pagination", "a\nb\n") == f"a\n{MORE}\n"
    assert change("pagination", ITEMS) == f"On the desk 1, you see a mug 1, a pen 2 {MORE}."
    assert json.loads(change("pagination", "[1, 2, 3, 4]")) == {"items": [1, 2], "page": 1, "has_more": True}
    assert json.loads(change("pagination", '{"a": 1, "b": 2}')) == {"a": 1, "has_more": True}


def test_half_of_a_batch_fails() -> None:
    lines = change("partial_failure", LINES).splitlines()
    assert lines.count(FAILED) == 12
    assert len(lines) == 24
    assert change("partial_failure", ITEMS).count("something unreadable") == 2
    assert sorted(map(str, json.loads(change("partial_failure", "[1, 1]")))) == ["1", str({"error": FAILED})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", ["", "\n", "ok", "You see a mug 1.", "{}", "[1]"])
def test_what_is_too_small_is_left_alone(kind: str, body: str) -> None:
    changed = alter(kind, body, None, rng())  # type: ignore[arg-type]
    assert changed is None or (kind == "truncated_data" and body.startswith("You see"))


@given(st.sampled_from(KINDS), st.text(max_size=300), st.none() | st.text(max_size=30))
def test_no_text_breaks_it(kind: str, body: str, previous: str | None) -> None:
    changed = alter(kind, body, previous, rng())  # type: ignore[arg-type]
    assert changed == alter(kind, body, previous, rng())  # type: ignore[arg-type]
    assert changed is None or changed != body


@given(
    st.sampled_from(KINDS[:2] + KINDS[3:]),
    st.recursive(st.integers() | st.text(), lambda x: st.lists(x, min_size=2, max_size=9), max_leaves=20),
)
def test_json_stays_json(kind: str, value: object) -> None:
    body = json.dumps(value)
    changed = alter(kind, body, None, rng())  # type: ignore[arg-type]
    if isinstance(value, list) and kind != "truncated_data":
        assert changed is not None
        json.loads(changed)
