"""Questions about fictional worlds: varied, with one right answer, which the database gives."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from agentworld_envs.domains.search import answers
from agentworld_envs.domains.search.fiction.audit import audit
from agentworld_envs.domains.search.fiction.questions import Question
from agentworld_envs.domains.search.fiction.relations import relations
from agentworld_envs.domains.search.fiction.world import FictionalWorld

KINDS = {
    1: {"attribute", "relation"},
    2: {"chain", "comparison", "described", "count", "alias"},
    3: {"chain", "sum", "temporal", "table", "list", "extreme"},
}


@pytest.fixture(scope="module")
def world() -> FictionalWorld:
    return FictionalWorld(21)


def _questions(world: FictionalWorld, level: int, count: int = 36) -> list[Question]:
    return [world.question(number, level) for number in range(count)]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_all_kinds_take_turns(world: FictionalWorld, level: int) -> None:
    found = Counter(question.kind for question in _questions(world, level))
    assert set(found) == KINDS[level]
    assert {question.level for question in _questions(world, level, 3)} == {level}


def test_hops_go_up_with_the_level(world: FictionalWorld) -> None:
    hops = {
        (q.level, q.hops) for level in (1, 2, 3) for q in _questions(world, level) if q.kind in ("chain", "relation")
    }
    assert hops == {(1, 1), (2, 2), (2, 3), (3, 4), (3, 5)}


def test_one_question_of_many_worlds_is_of_all_kinds_too() -> None:
    for level, kinds in KINDS.items():
        assert {FictionalWorld(seed, "tiny").question(0, level).kind for seed in range(60)} == kinds


@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_question_does_not_hold_its_answer(world: FictionalWorld, level: int) -> None:
    for question in _questions(world, level):
        right = answers.render(question.answer)
        assert answers.score(question.answer, right).correct
        assert not answers.score(question.answer, question.text).correct
        if question.answer["kind"] in ("text", "date"):
            assert question.answer["value"].casefold() not in question.text.casefold()
            # Nor does the program.
            assert question.answer["value"] not in json.dumps(question.program)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_database_has_the_answer(world: FictionalWorld, level: int) -> None:
    connection = world.connect()
    for question in _questions(world, level):
        rows = connection.execute(question.sql).fetchall()
        if question.kind in ("list", "table"):
            assert len({row[0] for row in rows}) == len(rows) >= 2
            heads = [column["name"] for column in question.answer.get("columns", ())]
            lines = [heads, ["---"] * 3, *rows] if question.kind == "table" else rows
            told = "\n".join(f"| {' | '.join(map(str, line))} |" if len(line) > 1 else line[0] for line in lines)
        else:
            assert len(rows) == 1
            told = "\n".join(map(str, rows[0]))
        assert answers.score(question.answer, told).correct, question
    connection.close()


RELATED = ("region", "town", "event", "person", "organisation", "work", "product")
OTHER_UNITS = (
    "miles",
    "hours",
    "apples",
    "thousandths",
    "negative",
    "wrong",
    "below",
    "%",
    "kg per m",
    "crowns a year",
)


def _numbers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (spec, *spec.get("values", ())) if one["kind"] == "number"]


def test_every_number_has_its_unit_and_every_rendered_answer_is_right() -> None:
    """500 questions of all levels."""
    units: set[str] = set()
    for seed in range(42):
        world = FictionalWorld(seed, "tiny")
        for level in (1, 2, 3):
            for number in range(4):
                spec = world.question(number, level).answer
                right = answers.render(spec)
                assert answers.score(spec, right).correct, spec
                for one in _numbers(spec):
                    units.add(one["unit"])
                    value = f"{one['value']:,.0f}"
                    assert answers.score(one, value).correct
                    assert answers.score(one, f"{value} {one['unit']}").correct
                    for other in OTHER_UNITS:
                        assert not answers.score(one, f"{value} {other}").correct, (one, other)
    written = {r.unit for kind in RELATED for r in relations(kind).values() if r.type == "number"}
    assert "" not in written
    assert units >= {"km²", "m", "g", "crowns", "years"}
    assert units <= written | {"years", "people", "works", "products", "towns"}


def test_the_ways_to_write_the_units() -> None:
    for unit, ways in {
        "km²": ("km2", "sq km", "square kilometres", "square kilometers"),
        "m": ("metres", "meters", "metre", "m above sea level", "metres above the sea"),
        "g": ("grams", "gram", "gr"),
        "inhabitants": ("people", "residents", "inhabitants in total"),
        "visitors": ("people", "guests"),
        "people": ("employees", "staff", "staff members", "different people"),
        "letters": ("letters kept", "letter"),
        "pages": ("pp.", "pp", "page"),
        "crowns": ("kr", "crown"),
        "years": ("yrs", "year"),
        "works": ("different works", "books"),
        "products": ("product", "different products"),
        "towns": ("town", "different towns in all"),
    }.items():
        spec = {"kind": "number", "value": 1234.0, "tolerance": 0.0, "unit": unit}
        assert all(answers.score(spec, f"1,234 {way}").correct for way in (unit, *ways)), unit


def test_other_names_are_right_in_tables() -> None:
    replaced = 0
    for seed in range(12):
        world = FictionalWorld(seed)
        for number in range(18):
            question = world.question(number, 3)
            if question.kind != "table":
                continue
            rows = json.loads(answers.render(question.answer))
            for row, cells in zip(rows, question.answer["rows"], strict=True):
                for name, cell in zip(list(row), cells, strict=True):
                    if isinstance(cell, list):
                        row[name] = cell[1]
                        replaced += 1
            assert answers.score(question.answer, json.dumps(rows)).correct
    assert replaced > 10


def test_specs_and_programs_are_plain_json(world: FictionalWorld) -> None:
    for level in (1, 2, 3):
        for question in _questions(world, level):
            assert json.loads(json.dumps(question.answer)) == question.answer
            assert json.loads(json.dumps(question.program)) == list(question.program)


def test_sources_are_pages_that_a_mask_can_hide(world: FictionalWorld) -> None:
    urls = {page.url for page in world.pages}
    for level in (1, 2, 3):
        for question in _questions(world, level):
            assert question.sources
            assert set(question.sources) <= urls


def test_groups_are_of_five_at_least(world: FictionalWorld) -> None:
    connection = world.connect()
    for question in _questions(world, 3):
        if question.kind == "table":
            assert len(question.answer["rows"]) >= 5
        if question.kind == "sum":
            assert connection.execute(re.sub(r"SUM\(", "COUNT(", question.sql)).fetchone()[0] >= 5
    connection.close()


def test_tiny_worlds_have_questions_of_every_level() -> None:
    for seed in range(25):
        world = FictionalWorld(seed, "tiny")
        for level in (1, 2, 3):
            assert all(world.question(number, level).text.isprintable() for number in range(12))


def test_no_answer_is_so_common_that_one_would_guess_it() -> None:
    given: dict[str, Counter[str]] = {}
    for seed in range(12):
        for level in (1, 2, 3):
            for question in _questions(FictionalWorld(seed), level, 18):
                given.setdefault(question.kind, Counter())[json.dumps(question.answer)] += 1
    for kind, counted in given.items():
        assert counted.most_common(1)[0][1] <= max(3, 0.08 * counted.total()), (kind, counted.most_common(1))


def test_audit_sees_what_leaks() -> None:
    """The checks of the benchmark do find what they look for."""
    from dataclasses import replace

    from agentworld_envs.domains.search.engine import memory_index

    world = FictionalWorld(2)
    question = next(q for q in _questions(world, 1) if q.kind == "relation")
    pages = [replace(page, withheld=()) if page.url in question.sources else page for page in world.pages]
    index = memory_index(pages)
    found = audit(world, index, question)
    index.close()
    assert found.solved
    assert found.leaks
