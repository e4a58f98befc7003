"""Lists and tables."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_envs.domains.search.answers import render, score
from agentworld_envs.interface import TaskError


def listed(*values: Any, ordered: bool = False) -> dict[str, Any]:
    return {"kind": "list", "values": list(values), "ordered": ordered}


@pytest.mark.parametrize(
    "answer",
    [
        "Ara, Bel, Cor",
        "Cor, Ara and Bel.",
        "Ara, Bel, and Cor",
        "Ara; Bel; Cor",
        "- Ara\n- Bel\n- Cor",
        "1. Ara\n2. Bel\n3. Cor",
        "1) Ara\n2) Bel\n3) Cor",
        "The towns are:\n* Ara\n* Bel\n* Cor",
        "Ara\nBel\nCor",
        "Ara,\nBel,\nCor",
        '["Ara", "Bel", "Cor"]',
        '```json\n["ara", "bel", "cor"]\n```',
        '{"towns": ["Ara", "Bel", "Cor"]}',
        "['Ara', 'Bel', 'Cor']",
        "(Ara, Bel, Cor)",
        "The answer is: Ara, Bel & Cor",
        "Ara, Bel, Cor, Ara",
    ],
)
def test_ways_to_write_a_list(answer: str) -> None:
    scored = score(listed("Ara", "Bel", "Cor"), answer)
    assert (scored.score, scored.correct) == (1.0, True)


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        (("Trinidad and Tobago", "Cuba"), "Cuba, Trinidad and Tobago"),
        (("Trinidad and Tobago", "Cuba"), "Trinidad and Tobago; Cuba"),
        (("Trinidad and Tobago", "Cuba", "Haiti"), "Trinidad and Tobago, Cuba and Haiti"),
        (("Washington, D.C.", "Rome"), "Washington, D.C.; Rome"),
        (("Washington, D.C.", "Rome"), '"Washington, D.C.", Rome'),
        (("Bel (town, upper)", "Rome"), "Bel (town, upper), Rome"),
        (("1,000", "2,000"), "1,000, 2,000"),
        (("Washington, D.C.",), "Washington, D.C."),
        (("J. R. R. Tolkien",), "J. R. R. Tolkien"),
        (("J. K. Rowling", "C. S. Lewis"), "J. K. Rowling\nC. S. Lewis"),
        (("J. K. Rowling", "C. S. Lewis"), "J. K. Rowling, C. S. Lewis"),
        (("J. K. Rowling", "C. S. Lewis"), "- J. K. Rowling\n- C. S. Lewis"),
        (("J. K. Rowling", "C. S. Lewis"), "1. J. K. Rowling\n2. C. S. Lewis"),
        (("A. A. Milne", "B. Potter"), "A. A. Milne\nB. Potter"),
        (("1. FC Köln",), "1. FC Köln"),
        (("1. FC Köln", "2. Bundesliga"), "1. FC Köln\n2. Bundesliga"),
        (("None", "Ara"), "None, Ara"),
        (("None",), "None"),
        (("a;b",), "a;b"),
        (("Ara", "Bel"), "a) Ara\nb) Bel"),
        (("Ara", "Bel"), "In order:\n(A) Ara\n(B) Bel"),
        (("Ara", "Bel"), "1. Ara\n   a town\n2. Bel\n   a village"),
        (("Ara", "Bel"), "Ara" + " " * 30_000 + "and Bel"),
    ],
)
def test_names_with_separators_in_them(values: tuple[str, ...], answer: str) -> None:
    assert score(listed(*values), answer).correct


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        (("Tolkien", "Rowling"), "J. Tolkien\nK. Rowling"),
        (("Tolkien", "Rowling"), "B. Tolkien\nC. Rowling"),
        (("Tolkien",), "B. Tolkien"),
        (("Ara", "Bel"), "7. Ara\n9. Bel"),
    ],
)
def test_initials_and_numbers_out_of_order_are_no_bullets(values: tuple[str, ...], answer: str) -> None:
    assert score(listed(*values), answer).score == 0.0


def test_elements_of_all_kinds() -> None:
    values = [{"kind": "number", "value": 1200}, {"kind": "date", "value": "1902-03"}, {"kind": "text", "value": "Ara"}]
    assert score(listed(*values), "Ara; 4 March 1902; 1.2 thousand").correct


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Ara, Bel", 0.8),
        ("Ara, Bel, Cor, Dor", 6 / 7),
        ("Ara, Dor", 0.4),
        ("Dor", 0.0),
        ("", 0.0),
        ("Ara or Bel or Cor", 0.0),
    ],
)
def test_f1(answer: str, expected: float) -> None:
    scored = score(listed("Ara", "Bel", "Cor"), answer)
    assert scored.score == pytest.approx(expected)
    assert not scored.correct


def test_a_best_matching_is_found() -> None:
    values = [{"kind": "number", "value": 100, "tolerance": 0.1}, {"kind": "number", "value": 105, "tolerance": 0.1}]
    assert score(listed(*values), "94; 109").correct
    assert score(listed(*values), "109; 94").correct


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("Ara, Bel, Cor", 1.0), ("Bel, Ara, Cor", 2 / 3), ("Cor, Bel, Ara", 1 / 3), ("Ara, Cor", 0.8)],
)
def test_order(answer: str, expected: float) -> None:
    assert score(listed("Ara", "Bel", "Cor", ordered=True), answer).score == pytest.approx(expected)


TABLE = {
    "kind": "table",
    "columns": [
        {"name": "City", "kind": "text", "aliases": ["Town"]},
        {"name": "Founded", "kind": "date"},
        {"name": "Population", "kind": "number", "tolerance": 0.02},
    ],
    "key": ["City"],
    "rows": [["Ara", "1902", 1200], [["Bel", "Belle"], "1850-03", None]],
}


@pytest.mark.parametrize(
    "answer",
    [
        "| City | Founded (year) | population |\n|---|---|---|\n| Ara | 1902 | 1,200 |\n| Bel | March 1850 | n/a |",
        "Here:\n\n| Population | Town | Founded |\n|:--|:-:|--:|\n| | belle | 1850-03 |\n| 1210 | ARA | 1902 |\n\nDone",
        "City | Founded | Population\n--- | --- | ---\nAra | 1902 | 1200\nBel | 1850-03-09 | -",
        'City,Founded,Population\nAra,1902,"1,200"\nBel,1850-03-01,\n',
        "City;Founded;Population\nAra;1902;1200\nBel;1850-03;unknown",
        "City\tFounded\tPopulation\nAra\t1902\t1200\nBel\t1850-03\t",
        '[{"city": "Ara", "founded": 1902, "population": 1200.0}, {"city": "Bel", "founded": "1850-03"}]',
        '{"rows": [{"cities": "Ara", "FOUNDED": "1902", "population": 1200}, {"cities": "Bel", "FOUNDED": "1850-03"}]}',
        '{"columns": ["City", "Founded", "Population"], "rows": [["Ara", 1902, 1200], ["Bel", "1850-03", null]]}',
        '[["City", "Founded", "Population"], ["Ara", 1902, 1200], ["Bel", "1850-03", null]]',
        '[["Ara", "1902", 1200], ["Bel", "1850-03", null]]',
        '{"city": "Ara", "founded": 1902, "population": 1200}\n{"city": "Bel", "founded": "1850-03"}',
        "```csv\nCity,Founded,Population\nAra,1902,1200\nBel,1850-03,\n```",
        "| City | Founded | Population | Notes |\n|-|-|-|-|\n| Ara | 1902 | 1200 | x |\n| Bel | 1850-03 | | y |",
    ],
)
def test_ways_to_write_a_table(answer: str) -> None:
    scored = score(TABLE, answer)
    assert (scored.score, scored.correct) == (1.0, True), scored.detail
    assert scored.detail["row_f1"] == 1.0


def test_wrong_cells_rows_and_columns() -> None:
    header = "| City | Founded | Population |\n|---|---|---|\n"
    cell = score(TABLE, header + "| Ara | 1903 | 1200 |\n| Bel | 1850-03 | |")
    assert cell.detail["row_f1"] == pytest.approx(0.5)
    assert cell.score == pytest.approx(5 / 6)
    more = score(TABLE, header + "| Ara | 1902 | 1200 |\n| Bel | 1850-03 | |\n| Cor | 1 | 2 |")
    assert more.detail["row_precision"] == pytest.approx(2 / 3)
    assert more.detail["item_precision"] == pytest.approx(2 / 3)
    assert not more.correct
    fewer = score(TABLE, header + "| Ara | 1902 | 1200 |")
    assert (fewer.detail["row_precision"], fewer.detail["row_recall"]) == (1.0, 0.5)
    column = score(TABLE, "| City | Founded |\n|---|---|\n| Ara | 1902 |\n| Bel | 1850-03 |")
    assert column.detail["columns_missing"] == ["Population"]
    assert (column.detail["item_precision"], column.detail["item_recall"]) == (1.0, pytest.approx(4 / 6))
    assert score(TABLE, "no table").score == 0.0
    assert score(TABLE, "").score == 0.0


def test_the_right_table_scores_1() -> None:
    assert score(TABLE, render(TABLE)).correct


def test_what_nobody_could_fail_is_no_answer() -> None:
    with pytest.raises(TaskError, match="at least 1"):
        score({**TABLE, "rows": []}, "I do not know")
    with pytest.raises(TaskError, match="at least 1"):
        score(listed(), "none")


def test_units_of_columns() -> None:
    spec = {**TABLE, "rows": [["Ara", "1902", 1200]]}
    spec["columns"] = [*TABLE["columns"][:2], {"name": "Length", "kind": "number", "unit": "km"}]
    head = "City,Founded,Length\nAra,1902,"
    assert [score(spec, head + cell).correct for cell in ("1200", "1200 km", "1200 miles", "1200 apples")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("rule", ["|---|:-:|--:|", "--- | --- | ---", "| - | :- | -: |", "   |---|---|---|  "])
def test_rules_below_the_header(rule: str) -> None:
    assert score(TABLE, f"City | Founded | Population\n{rule}\nAra | 1902 | 1200\nBel | 1850-03 | -").correct
