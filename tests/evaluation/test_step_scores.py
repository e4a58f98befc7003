"""Scores of one step, and the structures that are read from observations."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.domains.text_world import TextWorld
from agentworld_envs.evaluation.step_scores import SCORES, score_step, share_invented, share_right
from agentworld_envs.evaluation.structure import parse_structure, similarity
from agentworld_envs.interface import Action, Task

TASK = Task(id="t", domain="text_world", instruction="")
LOOK = Action("command", {"command": "look"}, "look")


def scores(real: str, simulated: str) -> dict[str, float | None]:
    return score_step(TextWorld(), TASK, LOOK, real, simulated)


def test_known_scores() -> None:
    real = "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 2."
    simulated = "You arrive at desk 1. On the desk 1, you see a mug 1, a cup 3, and a key 4."
    found = scores(real, simulated)
    assert list(found) == list(SCORES)
    assert found["exact"] == 0.0
    # arrived at, listed (2, not 3), mug 1, pen 2 -> two of four; invented: cup 3 and key 4 of five
    assert found["facts"] == 2 / 4
    assert found["facts_invented"] == 2 / 5
    # 22 and 26 tokens; all but "pen" and "2" in common
    assert found["token_f1"] == pytest.approx(2 * 20 / (22 + 26))
    assert found["structure"] is None
    assert found["structure_parsed"] is None


def test_equal_observations_have_full_scores() -> None:
    found = scores("You open the fridge 1. The fridge 1 is open. In it, you see nothing.", "You open the fridge 1.")
    assert found["facts"] == 1 / 3
    same = scores('{"a": 1}', '{"a": 1}')
    assert same == {
        "exact": 1.0,
        "edit": 1.0,
        "token_f1": 1.0,
        "facts": None,
        "facts_invented": None,
        "structure": 1.0,
        "structure_parsed": 1.0,
    }


def test_shares() -> None:
    assert share_right({}, {"a": 1}) is None
    assert share_invented({"a": 1}, {}) is None
    assert share_right({"a": None, "b": 2}, {"a": None, "b": 3, "c": 4}) == 0.5
    assert share_right({"a": None}, {}) == 0.0
    assert share_invented({"a": 1, "b": 2}, {"a": 9, "c": 4}) == 0.5


TABLE = "name,age\nada,36\nalan,41"
TREE = ".\n├── a\n│   └── b.txt\n└── c.txt\n\n1 directory, 2 files"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": [1, 2]}', "json"),
        ('{\n  "a": 1\n}', "json"),
        ('{"a": 1}\n{"a": 2}', "json"),
        ("[]", "json"),
        ('agent@sandbox:~$ cat x.json\n{"a": 1}\nagent@sandbox:~$', "json"),
        (TABLE, "table"),
        ("agent@sandbox:~$ cat x.csv\n" + TABLE + "\nagent@sandbox:~$", "table"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "table"),
        ("NAME    SIZE\nx       1\ny       2", "table"),
        (TREE, "tree"),
        ("./a\n./a/b.txt\n./c.txt", "tree"),
        ("You see a mug 1.", None),
        ("", None),
        ("agent@sandbox:~$", None),
        ("{not json", None),
        ("one line, with a comma", None),
        ("a\nb\nc", None),
        ("1", None),
    ],
)
def test_kinds_of_structures(text: str, kind: str | None) -> None:
    found = parse_structure(text)
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    ("real", "simulated", "score", "parsed"),
    [
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', 1.0, 1.0),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 3}', 0.5, 1.0),
        ('{"a": 1, "b": 2}', '{"a": 1}', 2 / 3, 1.0),
        ('{"a": 1}', '{"a": "1"}', 0.0, 1.0),
        (TABLE, TABLE.replace("41", "42"), 5 / 6, 1.0),
        (TABLE, TABLE.replace(",", "\t"), 1.0, 1.0),
        (TREE, TREE.replace("b.txt", "d.txt"), 2 / 3, 1.0),
        (TREE, "./a\n./a/b.txt", None, None),
        ('{"a": 1}', "a is 1", None, 0.0),
        ('{"a": 1}', TABLE, None, 0.0),
        ("a is 1", '{"a": 1}', None, None),
    ],
)
def test_scores_of_structures(real: str, simulated: str, score: float | None, parsed: float | None) -> None:
    found = scores(real, simulated)
    if parsed is not None or score is not None:
        assert found["structure_parsed"] == parsed
    if score is None:
        assert found["structure"] is None or parsed is None
    else:
        assert found["structure"] == pytest.approx(score)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda x: st.lists(x, max_size=4), max_leaves=8
    )
)
def test_any_json_is_like_itself(value: object) -> None:
    structure = parse_structure(json.dumps({"value": value}))
    assert structure is not None
    assert similarity(structure, structure) == 1.0


@given(st.text(max_size=300), st.text(max_size=300))
def test_scores_are_shares_whatever_is_compared(real: str, simulated: str) -> None:
    for name, value in scores(real, simulated).items():
        assert value is None or (0.0 <= value <= 1.0 and math.isfinite(value)), name


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "a/b\n" * 50_000, "a,b\n" * 50_000, "  " * 50_000])
def test_large_and_deep_text_is_read_quickly(text: str) -> None:
    parse_structure(text)
