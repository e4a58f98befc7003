"""What holds for all answers: the right one scores 1, worse ones less, and nothing breaks the scoring."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentworld_envs.domains.search.answers import render, score
from agentworld_envs.domains.search.answers.normal import normalise

WORD = st.text("abcdefghijklmnopqrstuvwxyzéøñßйж東京", min_size=3, max_size=9)
NAME = st.lists(WORD, min_size=1, max_size=3).map(" ".join).filter(lambda name: len(normalise(name)) > 2)
FINITE = st.floats(-1e12, 1e12, allow_nan=False).map(lambda value: round(value, 3))
DATE = st.dates().filter(lambda day: day.year >= 1000).map(str)
TEXTS = st.builds(lambda value: {"kind": "text", "value": value, "aliases": []}, NAME)
NUMBERS = st.builds(lambda value: {"kind": "number", "value": value}, FINITE)
COUNTS = st.builds(lambda value: {"kind": "number", "value": value, "tolerance": 0}, st.integers(0, 10**9))
DATES = st.builds(lambda value, cut: {"kind": "date", "value": value[:cut]}, DATE, st.sampled_from([4, 7, 10]))
BOOLEANS = st.builds(lambda value: {"kind": "boolean", "value": value}, st.booleans())
SINGLES = st.one_of(TEXTS, NUMBERS, COUNTS, DATES, BOOLEANS)
NAMES = st.lists(NAME, min_size=1, max_size=6, unique_by=normalise)
LISTS = st.builds(lambda values: {"kind": "list", "values": values}, NAMES)


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    keys = draw(NAMES)
    rows = [[key, draw(st.integers(0, 10**6)), draw(DATE), draw(st.none() | NAME)] for key in keys]
    columns = [("Name", "text"), ("Inhabitants", "number"), ("Founded", "date"), ("Mayor", "text")]
    told = [{"name": name, "kind": kind} for name, kind in columns]
    return {"kind": "table", "columns": told, "key": ["Name"], "rows": rows}


ANY = st.one_of(SINGLES, LISTS, tables())


@given(ANY)
def test_the_right_answer_scores_1(spec: dict[str, Any]) -> None:
    scored = score(spec, render(spec))
    assert (scored.score, scored.correct) == (1.0, True)


@given(TEXTS)
def test_case_spaces_and_punctuation_do_not_matter(spec: dict[str, Any]) -> None:
    value = spec["value"]
    for written in (
        value.upper(),
        f"  {value}. ",
        f"the {value}",
        value.replace(" ", "  "),
        f'"{value}"',
        f"**{value}**",
    ):
        assert score(spec, written).correct, written


@given(FINITE)
def test_ways_to_write_a_number(value: float) -> None:
    spec = {"kind": "number", "value": value}
    written = [str(value), f"{value:,.3f}", f"{value:.15e}", f"about {value:,.3f}"]
    for form in written:
        assert score(spec, form).correct, form
    off = value * 1.01 if value else 1.0
    assert not score(spec, repr(off)).correct


@given(st.dates().filter(lambda day: day.year >= 1000))
def test_ways_to_write_a_date(day: Any) -> None:
    for form in ("%d %B %Y", "%B %d, %Y", "%Y/%m/%d", "%d.%m.%Y", "%A, %d %b %Y", "%d-%b-%Y"):
        for precise in (4, 7, 10):
            assert score({"kind": "date", "value": str(day)[:precise]}, day.strftime(form)).correct, form
    if str(day)[5:7] != "00":
        assert not score({"kind": "date", "value": str(day)}, str(day)[:7]).correct


@given(NAMES)
def test_ways_to_write_a_list(values: list[str]) -> None:
    spec = {"kind": "list", "values": values}
    for written in ("; ".join(values), "\n".join(f"- {value}" for value in values), json.dumps(values)):
        assert score(spec, written).correct, written


@given(NAMES, NAME)
def test_a_wrong_element_costs_and_so_does_a_missing_one(values: list[str], wrong: str) -> None:
    spec = {"kind": "list", "values": values}
    if normalise(wrong) not in map(normalise, values):
        scored = score(spec, json.dumps([*values, wrong]))
        assert 0 < scored.score < 1
        assert not scored.correct
    assert score(spec, json.dumps(values[:-1])).score < 1


@given(NAMES, st.randoms(use_true_random=False))
def test_order_matters_only_where_it_is_asked_for(values: list[str], random: Any) -> None:
    mixed = list(values)
    random.shuffle(mixed)
    assert score({"kind": "list", "values": values}, json.dumps(mixed)).correct
    assert score({"kind": "list", "values": values, "ordered": True}, json.dumps(mixed)).correct == (mixed == values)


@given(tables(), st.data())
def test_ways_to_write_a_table(spec: dict[str, Any], data: st.DataObject) -> None:
    names = [column["name"] for column in spec["columns"]]
    rows = data.draw(st.permutations(spec["rows"]))
    places = data.draw(st.permutations(range(len(names))))
    cells = [[str(row[place]) if row[place] is not None else "" for place in places] for row in rows]
    header = [names[place] for place in places]
    markdown = "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header), *cells])
    comma = "\n".join(",".join(line) for line in [header, *cells])
    for written in (markdown, comma):
        assert score(spec, written).correct, written
    worse = score(spec, markdown + "\n| " + " | ".join(["qqq"] * len(header)) + " |")
    assert 0 < worse.score < 1
    assert 0 < worse.detail["row_f1"] < 1


JUNK = st.text(st.characters(codec=None), max_size=200) | st.text(
    '[]{}|,;:"-\n0123456789eE.andor \ud800\x00', max_size=200
)


@settings(max_examples=300)
@given(ANY, JUNK)
def test_nothing_breaks_the_scoring(spec: dict[str, Any], answer: str) -> None:
    scored = score(spec, answer)
    assert 0.0 <= scored.score <= 1.0
    assert scored.correct == (scored.score == 1.0)
    json.dumps(scored.detail, allow_nan=False)
    assert score(spec, answer) == scored


BIG = 10**6
HOSTILE = {
    "letters": "x" * BIG,
    "digits": "9" * BIG,
    "brackets": "[" * BIG,
    "objects": '{"a":' * (BIG // 5),
    "commas": "1," * (BIG // 2),
    "cells": "| a " * (BIG // 4),
    "rules": "|-" * (BIG // 2),
    "surrogates": "\ud800" * BIG,
    "lines": "\n" * BIG,
    "bullets": "- a\n" * (BIG // 4),
    "ands": " and a" * (BIG // 6),
    "nulls": "\x00" * BIG,
    "rows": "a\n|" * (BIG // 3),
    "quotes": '"' * BIG,
    "names": ",".join(f"w{number}" for number in range(BIG // 6)),
    "exponents": "1e5," * (BIG // 4),
    "accents": "\u0300" * BIG,
    "fences": "```\n" * (BIG // 4),
    "leads": "answer is " * (BIG // 10),
    "spaces": "|" + " " * BIG,
    "stars": "*" * BIG,
    "gap in a row": "x|\n" + " " * BIG + "x|\nx",
    "gap in a rule": "x|\n|-" + " " * BIG + "-x|",
    "gap before and": "a" + " " * BIG + "b and c",
    "gap in a list": "a, b" + " " * BIG + "&",
    "gap in an answer": "the answer" + " " * BIG + "is",
    "pairs": "( [" * (BIG // 3),
}
BIG_LIST = {"kind": "list", "values": ["a", "b", *(f"w{number}" for number in range(300))]}
BIG_TABLE = {
    "kind": "table",
    "columns": [{"name": "a"}, {"name": "b", "kind": "number"}],
    "key": ["a"],
    "rows": [[f"w{number}", number] for number in range(200)],
}


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        (BIG_TABLE, "x|\n" + " " * 32_000 + "x|\nx"),
        (BIG_TABLE, "x|\n|- " + " " * 32_000 + "-x|\n"),
        (BIG_LIST, "a" + " " * 32_000 + "b"),
        (BIG_LIST, "a, b" + " " * 32_000 + "and"),
    ],
)
def test_gaps_take_no_time(spec: dict[str, Any], answer: str) -> None:
    started = time.process_time()
    score(spec, answer)
    assert time.process_time() - started < 1  # 10 ms on a machine with nothing else to do


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "text", "value": "x"},
        {"kind": "number", "value": 1},
        {"kind": "date", "value": "1902"},
        {"kind": "boolean", "value": True},
        BIG_LIST,
        BIG_TABLE,
    ],
    ids=lambda spec: spec["kind"],
)
def test_a_megabyte_takes_bounded_time_and_says_that_it_was_cut(spec: dict[str, Any], name: str) -> None:
    started = time.process_time()
    scored = score(spec, HOSTILE[name])
    assert time.process_time() - started < 5  # 0.6 s on a machine with nothing else to do
    assert not scored.correct
    assert scored.detail["cut"] is True
