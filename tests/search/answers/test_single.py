"""One value: texts, numbers, dates, yes and no."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_envs.domains.search.answers import Scored, read_spec, score
from agentworld_envs.interface import TaskError


def text(value: str, *aliases: str) -> dict[str, Any]:
    return {"kind": "text", "value": value, "aliases": list(aliases)}


def number(value: float, tolerance: float = 0.005, unit: str | None = None) -> dict[str, Any]:
    return {"kind": "number", "value": value, "tolerance": tolerance, "unit": unit}


def date(value: str) -> dict[str, Any]:
    return {"kind": "date", "value": value}


def boolean(value: bool) -> dict[str, Any]:
    return {"kind": "boolean", "value": value}


RIGHT = [
    (text("The Eiffel Tower"), "eiffel tower."),
    (text("São Paulo"), "Sao Paulo"),
    (text("Łódź"), "Lodz"),
    (text("Straße"), "STRASSE"),
    (text("Ångström"), "angstrom"),
    (text("U.S."), "US"),
    (text("New-York"), "new york"),
    (text("O'Neill"), "O\u2019Neill"),
    (text("Simon & Garfunkel"), "Simon and Garfunkel"),
    (text("3,677"), "3677"),
    (text("14 April 1912"), "April 14, 1912"),
    (text("two"), "2"),
    (text("The The"), "the the"),
    (text("A"), "a"),
    (text("!!!"), "!!!"),
    (text("Москва"), "москва"),
    (text("東京"), "「東京」"),
    (text("ガ"), "\u30ab\u3099"),
    (text("\uff21\uff22\uff23"), "abc"),
    (text("\u0627\u0644\u0631\u064a\u0627\u0636"), "\u200f\u0627\u0644\u0631\u064a\u0627\u0636"),
    (text("Paris", "City of Light"), "city of light"),
    (text("Paris"), "The answer is **Paris**."),
    (text("Paris"), "Final Answer: Paris"),
    (text("Paris"), "```\nParis\n```"),
    (text("Paris"), "\\boxed{Paris}"),
    (text("Paris"), '"Paris"'),
    (text("Tom or Jerry"), "Tom or Jerry"),
    (text("Paris"), "[Paris](https://example.org/wiki/Paris_(city))"),
    (text("https://example.org/a"), "[here](https://example.org/a)"),
    (number(5, 0), "[5](https://example.org/five)"),
    (number(1_200_000), "1.2 million"),
    (number(1_200_000), "$1,200,000"),
    (number(1_200_000), "1.2M"),
    (number(1_200_000), "about 1 200 000"),
    (number(1_200_000), "1.200.000"),
    (number(1234567), "12,34,567"),
    (number(1234.5), "1.234,5"),
    (number(1234.5), "1,234.5"),
    (number(1234), "1'234"),
    (number(1.5), "1,5"),
    (number(0.123), "0,123"),
    (number(0.123), ".123"),
    (number(5, 0), "five"),
    (number(5, 0), "5."),
    (number(5, 0), "5.0"),
    (number(5, 0), "5 bridges"),
    (number(5, 0), "\u0665"),
    (number(5, 0), "\uff15"),
    (number(23, 0), "twenty-three"),
    (number(100, 0), "a hundred"),
    (number(123_000, 0), "one hundred and twenty-three thousand"),
    (number(2_000_005, 0), "two million and five"),
    (number(24, 0), "2 dozen"),
    (number(1, 0), "1st"),
    (number(-5), "-5"),
    (number(-5), "\u22125"),
    (number(-5), "minus five"),
    (number(0.5), "1/2"),
    (number(0.5), "½"),
    (number(2.5), "2½"),
    (number(2.5), "2 1/2"),
    (number(-2.5), "-2 1/2"),
    (number(3e8), "3\u00d710⁸"),
    (number(1e6), "10^6"),
    (number(1e6), "10⁶"),
    (number(5, 0), "5 (five)"),
    (number(12, unit="km"), "12 km (7.5 mi)"),
    (number(1_200_000), "1.2 million (1,200,000)"),
    (number(5, unit="EUR"), "5 €"),
    (number(20, unit="°C"), "20 °C"),
    (number(3e8), "3e8"),
    (number(3e8), "3 x 10^8"),
    (number(0, 0), "zero"),
    (number(12, unit="%"), "12%"),
    (number(12, unit="%"), "12 percent"),
    (number(12, unit="%"), "12"),
    (number(0.12), "12 %"),
    (number(5, unit="km"), "5,000 m"),
    (number(5, unit="km"), "5 kilometres"),
    (number(5, unit="m"), "5 m"),
    (number(3, unit="hours"), "180 minutes"),
    (number(7, unit="square kilometres"), "7 km²"),
    (number(300, unit="crowns"), "300 crowns"),
    (number(300, unit="crowns"), "1 crown".replace("1", "300")),
    (number(12, 0, "USD"), "US$12"),
    (date("1902"), "1902"),
    (date("1902"), "AD 1902"),
    (date("1902"), "in 1902"),
    (date("1902"), "4 March 1902"),
    (date("1902"), "3/4/1902"),
    (date("1902-03"), "March 1902"),
    (date("1902-03"), "March, 1902"),
    (date("1902-03"), "03/1902"),
    (date("1902-03"), "1902-03-04"),
    (date("1902-03-04"), "March 4th, 1902"),
    (date("1902-03-04"), "the 4th of March 1902"),
    (date("1902-03-04"), "Tuesday, 4 Mar. 1902"),
    (date("1902-03-04"), "4-Mar-1902"),
    (date("1902-03-04"), "04.03.1902"),
    (date("1902-03-04"), "1902/03/04"),
    (date("1902-03-04"), "19020304"),
    (date("1902-03-04"), "1902-03-04T10:00:00Z"),
    (date("1902-03-04"), "1902年3月4日"),
    (date("1902"), "(1902)"),
    (date("1902-03-04"), "4 de marzo de 1902"),
    (date("1902-03-04"), "4. März 1902"),
    (date("1902-03-25"), "3/25/1902"),
    (date("1902-03-03"), "3/3/1902"),
    (boolean(True), "Yes."),
    (boolean(True), "TRUE"),
    (boolean(True), "Yes, because both are towns."),
    (boolean(False), "no"),
    (boolean(False), "No, both are not"),
]
WRONG = [
    (text("Paris"), "Paris or London"),
    (text("Paris"), "Paris, London"),
    (text("Paris"), "Paris\nLondon"),
    (text("Paris"), "not Paris"),
    (text("Paris"), "[Paris](https://example.org) [London](https://example.org)"),
    (text("C++"), "C"),
    (text("C#"), "C"),
    (text("3.5"), "35"),
    (text("two"), "3"),
    (text("1912"), "1913"),
    (text("5 km"), "5 kg"),
    (text("कि"), "क"),
    (number(5), "NaN"),
    (number(5), "nan"),
    (number(5), "inf"),
    (number(5), "-Infinity"),
    (number(5), "1e999"),
    (number(5), "5 or 6"),
    (number(5), "5 6"),
    (number(5), "5, 6"),
    (number(5), "5-6"),
    (number(5), "4 to 5"),
    (number(5), "between 4 and 6"),
    (number(5), "five six"),
    (number(5), "not 5"),
    (number(5), "5 million"),
    (number(5), "5 (six)"),
    (number(5), "5 (or so)"),
    (number(5), "5+"),
    (number(5), "> 5"),
    (number(5), "5?"),
    (number(12, unit="km"), "12 km (9 mi)"),
    (number(10.5), "2½"),
    (number(5), "5 not 6"),
    (number(5), "1/0"),
    (number(5), "-5"),
    (number(5), ""),
    (number(5, 0), "5.1"),
    (number(1234), "1.234"),
    (number(5, unit="km"), "5 m"),
    (number(5, unit="km"), "5 kg"),
    (number(300, unit="crowns"), "300 marks"),
    (number(12, 0), "12%"),
    (number(0, 0), "none"),
    (date("1902-03-04"), "1902"),
    (date("1902-03-04"), "March 1902"),
    (date("1902-03-04"), "3/4/1902"),
    (date("1902-03"), "1902"),
    (date("1902-03"), "1902\u201303"),
    (date("1902"), "1902 BC"),
    (date("1902"), "1902 or 1903"),
    (date("1902"), "1902-1905"),
    (date("1902"), "02"),
    (date("1902-02"), "1902-02-30"),
    (date("1902"), "13/13/1902"),
    (boolean(True), "Yes. No."),
    (boolean(True), "yes or no"),
    (boolean(True), "yes, or maybe not"),
    (boolean(True), "No"),
    (boolean(True), "Perhaps"),
    (boolean(True), ""),
]


RIGHT += [
    (number(29_955, 0), "The expedition had 29,955 visitors."),
    (number(29_955, 0), "In all, 29 955 people visited the museum that was built by Oda Brisk."),
    (number(1_200_000, 0), "The population of Velm is 1.2 million people."),
    (number(1_200_000, 0), "Velm has 1.2M inhabitants"),
    (number(-5, 0), "It was -5 there."),
    (number(300, 0, "crowns"), "The prize is 300 crowns each year."),
    (number(5, 0, "km"), "The road has a length of 5,000 metres in all."),
    (number(12, 0, "USD"), "It costs $12 there."),
    (number(0.12), "The share is 12 percent."),
    (date("1969-01-02"), "born on 2 January 1969"),
    (date("1969-01-02"), "She was born on January 2nd, 1969, in Velm."),
    (date("1969-01-02"), "The day was 1969-01-02."),
    (date("1969"), "Velm was founded in 1969."),
    (date("1969"), "Velm was founded in 1969 by Oda Brisk."),
    (date("1969"), "It opened on Tuesday, 4 Mar. 1969 in Velm"),
    ({"kind": "number", "value": 29_955}, "29955"),
    ({"kind": "number", "value": 0.5}, "0.501"),
]
WRONG += [
    (number(5, 0), sentence)
    for sentence in (
        "The town does not have 5 bridges.",
        "The town doesn't have 5 bridges.",
        "It has 5 bridges and 6 towers.",
        "It has 5 bridges and six towers.",
        "It has five bridges, or 5 towers.",
        "It has more than 5 bridges.",
        "There are at least 5 bridges.",
        "There are up to 5 bridges.",
        "Does it have 5 bridges?",
        "It has 5 million bridges.",
        "It has 5k bridges.",
        "It has 5 % of them.",
        "It has 5-6 bridges.",
        "It was the 5th bridge.",
        "It grew by 5 bridges.",
        "It opened on 5 May.",
        "Perhaps it has 5 bridges.",
        "Room B5 is it.",
        "It has 5, 6 bridges.",
        "There are 5 " + "x " * 200,
    )
]
WRONG += [
    (number(300, 0, "crowns"), "The prize is 300 marks each year."),
    (number(5, 0, "km"), "The road has 5 lanes."),
    (number(5, 0, "km"), "The road has a length of 5 m."),
    ({"kind": "number", "value": 10_000}, "10,001"),
    (date("1969-01-02"), "She was born in January 1969."),
    (date("1969-01-02"), "born on 2 January 1969 or 3 January 1969"),
    (date("1969-01-02"), "not born on 2 January 1969"),
    (date("1969-01-02"), "born before 2 January 1969"),
    (date("1969-01-02"), "born by 2 January 1969"),
    (date("1969-01-02"), "born on 1/2/1969"),
    (date("1969"), "It had 1969 visitors that year."),
    (date("1969"), "founded in 1969 BC"),
    (date("1969"), "built from 1969 to 1972"),
    (text("Paris"), "It is Paris."),
]


@pytest.mark.parametrize(("spec", "answer"), RIGHT, ids=lambda value: str(value)[:40])
def test_right(spec: dict[str, Any], answer: str) -> None:
    assert score(spec, answer) == Scored(1.0, True, {"kind": spec["kind"]})


@pytest.mark.parametrize(("spec", "answer"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong(spec: dict[str, Any], answer: str) -> None:
    assert score(spec, answer) == Scored(0.0, False, {"kind": spec["kind"]})


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "kind"),
        ({"kind": "essay"}, "kind"),
        ({"kind": "text"}, "value"),
        ({"kind": "text", "value": ""}, "nothing can be compared"),
        ({"kind": "text", "value": "\u200b"}, "nothing can be compared"),
        ({"kind": "number", "value": float("nan")}, "value"),
        ({"kind": "number", "value": "many"}, "value"),
        ({"kind": "number", "value": 1, "tolerance": -1}, "tolerance"),
        ({"kind": "date", "value": "March"}, "value"),
        ({"kind": "date", "value": "1902-02-30"}, "calendar"),
        ({"kind": "text", "value": "x", "alias": ["y"]}, "alias"),
        ({"kind": "list", "values": [{"kind": "list", "values": []}]}, "values"),
        ({"kind": "table", "columns": [], "key": ["a"], "rows": []}, "columns"),
        ({"kind": "table", "columns": [{"name": "a"}], "key": ["b"], "rows": []}, "key"),
        ({"kind": "table", "columns": [{"name": "a"}, {"name": "a"}], "key": ["a"], "rows": []}, "same name"),
        ({"kind": "table", "columns": [{"name": "a"}], "key": ["a"], "rows": [[1, 2]]}, "row 0 has 2 cells"),
        ({"kind": "table", "columns": [{"name": "a", "kind": "number"}], "key": ["a"], "rows": [["x"]]}, "value"),
    ],
)
def test_a_broken_spec_is_an_error_of_the_task(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(TaskError, match=said):
        read_spec(spec)
    with pytest.raises(TaskError, match=said):
        score(spec, "x")
