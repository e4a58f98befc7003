"""Answer specs as users write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentworld_envs.domains.search.answers import render, score
from agentworld_envs.domains.search.datasets.load import load_questions
from agentworld_envs.domains.search.datasets.row import BadRow
from agentworld_envs.domains.search.datasets.specs import EXAMPLES, checked_spec
from agentworld_envs.interface import ConfigError


@pytest.mark.parametrize("kind", EXAMPLES)
def test_examples_can_be_checked(kind: str) -> None:
    spec = json.loads(EXAMPLES[kind])
    assert checked_spec(spec) == spec
    assert score(spec, render(spec)).correct


def test_a_question_whose_answer_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": {"kind": "list", "values": ["Lyon", "Porto"]}}))
    (row,) = load_questions(path)
    assert score(row.answer, "Porto and Lyon").correct
    assert not score(row.answer, "Porto").correct


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"kind": "lst", "values": []}, "expected the 'kind' of an answer to be text, .* got 'lst'"),
        ({"kind": ["list"]}, "expected the 'kind'"),
        ({"kind": "list"}, "'list' has no 'values'.*for example"),
        ({"kind": "list", "values": "Lyon"}, "'values' that are no list: 'Lyon'"),
        ({"kind": "list", "values": ["Lyon", 3]}, "'values.1' that cannot be: '3'"),
        ({"kind": "list", "values": ["Lyon"], "sorted": True}, "unknown field 'sorted'"),
        ({"kind": "number", "value": "many"}, "'value' that cannot be: 'many'"),
        ({"kind": "date", "value": "4 March 1953"}, "'value' that cannot be: '4 March 1953'.*1953-03-04"),
        ({"kind": "date", "value": "1953-02-31"}, "cannot be checked: no calendar has the date"),
        ({"kind": "table", "columns": [{"name": "a"}], "key": ["b"], "rows": []}, r"the key names \['b'\]"),
        ({"kind": "table", "columns": [{"nam": "a"}], "key": ["a"], "rows": []}, "has no 'columns.0.name'"),
        (
            {"kind": "table", "columns": [{"name": "a", "kind": "number"}], "key": ["a"], "rows": [["x"]]},
            "column's kind: 'x'",
        ),
    ],
)
def test_broken_specs_are_told_in_plain_words(spec: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(BadRow, match=expected) as caught:
        checked_spec(spec)
    assert "Spec" not in str(caught.value)
    assert "Input" not in str(caught.value)
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({"question": "q", "answer": spec}))
    with pytest.raises(ConfigError, match="line 1: "):
        load_questions(path)
