"""Files of the public sets are recognised and read; broken rows are reported with their lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from search.datasets import samples

from agentworld_envs.domains.search.answers import render, score
from agentworld_envs.domains.search.datasets.load import load_questions, read_questions
from agentworld_envs.interface import ConfigError


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        (samples.HOTPOT, "hotpotqa"),
        (samples.HOTPOT_COLUMNS, "hotpotqa"),
        (samples.TWO_WIKI, "2wikimultihopqa"),
        (samples.MUSIQUE, "musique"),
        (samples.PLAIN, "plain"),
        (samples.LITE, "plain"),
        (samples.SEARCH_R1, "plain"),
        (samples.PAIRS, "plain"),
    ],
)
def test_recognised_by_content_as_lines_and_as_an_array(tmp_path: Path, rows: list[object], name: str) -> None:
    lines = read_questions(samples.write_lines(tmp_path / "a.txt", rows))
    array = read_questions(samples.write_json(tmp_path / "b.bin", rows))
    wrapped = read_questions(samples.write_json(tmp_path / "c", {"version": 1, "data": rows}))
    assert lines.format == array.format == wrapped.format == name
    assert [row.question for row in lines.rows] == [row.question for row in array.rows]
    assert [row.answer for row in array.rows] == [row.answer for row in wrapped.rows]
    for row in lines.rows:
        assert score(row.answer, render(row.answer)).correct


def test_hotpot_rows(tmp_path: Path) -> None:
    first, second = load_questions(samples.write_json(tmp_path / "h.json", samples.HOTPOT))
    assert (first.id, first.answer) == ("5a8b57f2", {"kind": "boolean", "value": True})
    assert first.supporting == ("Ada Quill", "Bo Marrow")
    assert first.tags == ("comparison", "hard")
    assert [context.title for context in first.contexts] == ["Ada Quill", "Bo Marrow", "Tarn"]
    assert first.contexts[0].text == "Ada Quill founded Quill. She was born in Tarn."
    assert score(second.answer, "April 14, 1912").correct


def test_musique_leaves_out_what_has_no_answer(tmp_path: Path) -> None:
    found = read_questions(samples.write_lines(tmp_path / "m.jsonl", samples.MUSIQUE))
    assert len(found.rows) == 1
    assert [(problem.line, problem.reason) for problem in found.problems] == [(2, "not answerable")]
    assert found.rows[0].supporting == ("Tarn", "Ouse")
    assert found.rows[0].tags == ("2hop",)
    assert score(found.rows[0].answer, "127 km").correct


def test_widesearch_takes_the_right_table_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "widesearch_gold").mkdir()
    (tmp_path / "widesearch_gold" / "ws_en_001.csv").write_text("\ufeff" + samples.WIDE_GOLD, encoding="utf-8")
    found = read_questions(samples.write_lines(tmp_path / "w.jsonl", samples.WIDE))
    assert found.format == "widesearch"
    spec = found.rows[0].answer
    assert [column["kind"] for column in spec["columns"]] == ["text", "date", "number"]
    assert spec["key"] == ["town"]
    assert score(spec, samples.WIDE_GOLD).correct
    assert score(
        spec, "| Town | Founded | Population |\n|---|---|---|\n| tarn | May 1912 | 1240 |\n| Barrow | 1850-03 | 3400 |"
    ).correct
    assert not score(spec, samples.WIDE_GOLD.replace("3400", "9000")).correct


def test_widesearch_without_its_table_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ws_en_001\.csv in widesearch_gold"):
        load_questions(samples.write_lines(tmp_path / "w.jsonl", samples.WIDE))


@pytest.mark.parametrize(
    "evaluation",
    [
        {"columns": ["Town", "Founded"], "key": ["Town"], "rows": [["Tarn", "1912"], ["Barrow", "1850"]]},
        {
            "columns": ["Town", {"name": "Founded", "kind": "date"}],
            "key": "Town",
            "rows": [{"Town": "Tarn", "Founded": 1912}],
        },
        {"rows": [{"Town": "Tarn", "Founded": "1912"}]},
    ],
)
def test_widesearch_style_with_rows_of_its_own(tmp_path: Path, evaluation: dict[str, object]) -> None:
    row = {"query": "Towns?", "evaluation": evaluation}
    (question,) = load_questions(samples.write_lines(tmp_path / "w.jsonl", [row]))
    assert score(question.answer, render(question.answer)).correct


def _growth(folder: Path, *cells: str, **more: object) -> tuple[dict[str, object], Callable[..., list[bool]]]:
    """The spec of a table with a column of numbers, and which cells are right in the place of its own."""
    evaluation = {
        "required": ["Country", "Growth"],
        "unique_columns": ["Country"],
        "eval_pipeline": {"Growth": {"metric": ["number_near"], **more}},
        "rows": [{"Country": f"C{place}", "Growth": cell} for place, cell in enumerate(cells)],
    }
    row = {"instance_id": "w1", "query": "Growth?", "evaluation": evaluation}
    (question,) = load_questions(samples.write_lines(folder / "w.jsonl", [row]))

    def right(*given: str) -> list[bool]:
        rest = [f"C{place};{cell}" for place, cell in enumerate(cells)][1:]
        return [score(question.answer, "\n".join(["Country;Growth", f"C0;{one}", *rest])).correct for one in given]

    return question.answer, right


def test_widesearch_keeps_units(tmp_path: Path) -> None:
    spec, right = _growth(tmp_path, "12%", "7.5%", criterion=0.01)
    assert spec["columns"][1]["unit"] == "%"
    assert score(spec, render(spec)).correct
    assert right("12%", "12 percent", "12", "0.12", "12 km") == [True, True, True, False, False]
    spec, right = _growth(tmp_path, "12 km", "7500 m", "3")
    assert [row[1] for row in spec["rows"]] == [12, 7.5, 3]
    assert right("12 km", "12 kilometres", "12000 m", "12", "12 miles", "12 apples") == [True] * 4 + [False] * 2
    assert score(spec, render(spec)).correct
    spec, right = _growth(tmp_path, "12 km", "7 kg")
    assert spec["columns"][1]["kind"] == "text"
    assert "unit" not in spec["columns"][1]
    assert right("12 km", "12 kg") == [True, False]
    spec, right = _growth(tmp_path, "10", "7")
    assert right("10", "10%", "11") == [True, True, False]


def test_plain_rows(tmp_path: Path) -> None:
    rows = load_questions(samples.write_lines(tmp_path / "p.jsonl", samples.PLAIN))
    assert [row.answer["kind"] for row in rows] == ["text", "text", "number", "list", "boolean"]
    assert [row.id for row in rows] == ["a", "row-000002", "row-000003", "row-000004", "row-000005"]
    assert score(rows[1].answer, "robert marrow").correct
    assert rows[2].answer["tolerance"] == 0
    (lite,) = load_questions(samples.write_lines(tmp_path / "l.jsonl", samples.LITE))
    assert (lite.question, lite.mask) == ("Who founded Quill?", ("https://example.org/quill",))
    pairs = load_questions(samples.write_lines(tmp_path / "q.jsonl", samples.PAIRS))
    assert [(row.id, row.mask) for row in pairs] == [
        ("row-000001-0", ("https://example.org/quill",)),
        ("row-000001-1", ("https://example.org/quill",)),
    ]


def test_broken_rows_are_counted_with_their_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "broken.jsonl"
    good = json.dumps(samples.PLAIN[0])
    lines = [
        good.encode(),
        b"{not json",
        b"",
        b'{"question": "\xff", "answer": "x"}',
        b"[1, 2]",
        b"[" * 100_000,
        b'{"question": "no answer"}',
        b'{"question": "", "answer": "x"}',
        b'{"question": "half \\ud800", "answer": "x"}',
        b'{"question": "spec", "answer": {"kind": "date", "value": "soon"}}',
        b'{"question": "nan", "answer": NaN}',
        good.encode(),
        b'{"id": "z", "question": "last?", "answer": "yes"}',
    ]
    path.write_bytes(b"\n".join(lines))
    with caplog.at_level("WARNING"):
        found = read_questions(path)
    assert [row.id for row in found.rows] == ["a", "z"]
    assert [problem.line for problem in found.problems] == [2, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    assert "10 of 12 rows are left out" in caplog.text
    assert "line 2: no JSON" in caplog.text


def test_an_array_that_ends_early_keeps_what_came_before(tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[: whole.rindex("bridge")], encoding="utf-8")
    found = read_questions(path)
    assert len(found.rows) == 1
    assert found.problems[0].line == whole[: whole.index("5a8c7595")].count("\n")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file"),
        (b"\n\n", "an empty file"),
        (b"hello", "line 1: no JSON"),
        (b"[]", "an empty file"),
        (b'{"title": "x", "text": "y"}', "its fields are 'title', 'text'"),
        (b"\x00\xff\xfe", "line 1: not UTF-8"),
        (b"[" * 200_000, "line 1: JSON that is too deep"),
    ],
)
def test_a_file_without_a_question_says_what_was_found(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "q"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=f"No question in .*Expected rows of HotpotQA.*{said}"):
        load_questions(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Cannot read the questions"):
        load_questions(tmp_path / "none.jsonl")
