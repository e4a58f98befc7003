"""The expert: answers by tools alone, also where the main page is masked; and what it does where it cannot."""

from __future__ import annotations

from collections import Counter

import pytest
from search.fiction.bench import fictional_worlds

from agentworld_envs.domains.search import answers
from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.fiction.expert import solve
from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.domains.search.pages import Hit

WORLDS = 25


def test_worlds_hold_what_the_benchmark_promises() -> None:
    count: Counter[str] = Counter()
    examples = []
    for seed in range(WORLDS):
        found, bad = fictional_worlds.check(seed, "small", 3)
        count.update(found)
        examples += bad
    asked = count["level 1/asked"] + count["level 2/asked"] + count["level 3/asked"]
    assert asked == WORLDS * 9
    assert count["real names"] == count["masked seen"] == 0
    for level in (1, 2, 3):
        for group in (f"level {level}", f"level {level} masked"):
            assert count[f"{group}/solved"] == count[f"{group}/unique"] == count[f"{group}/asked"], examples
            assert count[f"{group}/leaking"] == 0, examples
            assert count[f"{group}/guessed"] <= 0.05 * count[f"{group}/asked"], examples


def test_worlds_are_the_same_in_another_process() -> None:
    assert fictional_worlds.same_elsewhere([0, 1], "small") == 0
    assert fictional_worlds.same_elsewhere([2], "tiny") == 0


def test_tiny_and_medium_worlds() -> None:
    for size, each in (("tiny", 18), ("medium", 6)):
        count, examples = fictional_worlds.check(1, size, each)
        for level in (1, 2, 3):
            assert count[f"level {level} masked/solved"] == count[f"level {level}/solved"] == each, examples


def test_steps_end_with_the_answer_and_repeat_nothing() -> None:
    world = FictionalWorld(5)
    index = memory_index(world.pages)
    pages = {page.url: page.text for page in world.pages}
    for number in range(9):
        solution = solve(world.question(number, 3), index.search, pages.get)
        assert solution.steps[-1] == ("answer", solution.answer)
        assert len(set(solution.steps)) == len(solution.steps)
        assert {kind for kind, _ in solution.steps[:-1]} == {"search", "visit"}
    index.close()


def test_where_nothing_is_found_it_gives_up() -> None:
    world = FictionalWorld(5)
    for level in (1, 2, 3):
        for number in range(9):
            question = world.question(number, level)
            assert not solve(question, lambda query: [], lambda url: None).found
            broken = solve(question, lambda query: [Hit("https://a.example/", query, "")], lambda url: None)
            assert not broken.found
            assert broken.steps[-1] == ("answer", "")
            assert not answers.score(question.answer, broken.answer).correct


@pytest.mark.parametrize("junk", ["", "| Name |", "| Name | X |\n| --- | --- |\n|||\n| a |", "\0" * 99, "**" * 5000])
def test_pages_of_any_kind_do_no_harm(junk: str) -> None:
    world = FictionalWorld(5)
    for number in range(6):
        question = world.question(number, 2)
        assert not solve(question, lambda query: [Hit("https://a.example/", "t", "")], lambda url: junk).found


def test_it_believes_the_newest_and_above_all_what_has_no_date() -> None:
    world = FictionalWorld(5)
    question = next(
        q for q in (world.question(n, 1) for n in range(99)) if q.answer["kind"] == "text" and "born?" in q.text
    )
    name = question.program[0]["name"]
    hits = [Hit(f"https://{letter}.example/", letter, "") for letter in "abc"]
    old, new = f"As of 2041: {name} was born in Oldstow. ", f"As of 2045: {name} was born in Newstow. "

    def told(*texts: str) -> str:
        pages = dict(zip((hit.url for hit in hits), texts, strict=False))
        return solve(question, lambda query: hits, pages.get).answer

    assert told(old, new, old) == "Newstow"
    assert told(new, old) == "Newstow"
    assert told(old, new, f"{name} was born in Nowstow.") == "Nowstow"
