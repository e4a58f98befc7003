"""The five checks of a virtual web that forces a search (LiteResearcher), small; `benchmarks/search_checks.py` has the
numbers."""

from __future__ import annotations

import pytest
from search.checks import determinism, masking, passk
from search.checks.success import main_addresses
from search.checks.tasksets import DOMAIN, play, success, tasks

from agentworld_envs.agents import Searcher
from agentworld_envs.agents.searcher_question import Question

QUESTIONS = 64


def test_the_same_queries_have_the_same_bytes_in_every_process() -> None:
    first = determinism.transcript(60, "small")
    assert determinism.transcript(60, "small").digest == first.digest
    assert determinism.elsewhere(60, "small") == first.digest
    assert first.median_s < 0.05


def test_a_masked_page_is_nowhere() -> None:
    leaks = masking.look(12)
    assert leaks.outputs > 500
    assert leaks.found == []


def test_the_check_of_masks_finds_a_leak() -> None:
    leaks = masking.Leaks()
    [task] = tasks(1, 1, masked=False)
    name = Question.read(task.instruction).start
    page = DOMAIN.world(task).place.index.page(main_addresses([task])[name])
    assert page is not None
    masking.attack(task, page, leaks)
    searched = [how for how in leaks.found if "search" in how]
    opened = [how for how in leaks.found if "opened" in how]
    assert searched
    assert len(opened) >= len(masking.variants(page.url))


@pytest.mark.parametrize("level", [1, 2, 3])
def test_masked_tasks_are_the_same_questions(level: int) -> None:
    plain, hidden = tasks(level, 4, masked=False), tasks(level, 4, masked=True)
    assert [task.instruction for task in plain] == [task.instruction for task in hidden]
    assert all(task.initial_state["mask"] for task in hidden)
    assert not any(task.initial_state["mask"] for task in plain)


def test_masks_force_a_search() -> None:
    plain, hidden = tasks(1, QUESTIONS, masked=False), tasks(1, QUESTIONS, masked=True)
    direct = Searcher(1, addresses=main_addresses(plain))
    assert success(direct, plain) >= 0.95
    assert success(direct, hidden) <= 0.1
    assert success(Searcher(1), plain) >= 0.95
    assert success(Searcher(8), hidden) >= 0.7


def test_slots_change_nothing_of_what_is_played() -> None:
    played = tasks(2, 12, masked=True)
    agents = [Searcher(3, temperature=1.0, seed=5) for _ in range(2)]
    one, many = (play(agent, played, seed=4, slots=slots) for agent, slots in zip(agents, (1, 12), strict=True))
    assert [(e.task_id, e.steps, e.score) for e in one.episodes] == [
        (e.task_id, e.steps, e.score) for e in many.episodes
    ]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_snippets_do_not_tell(level: int, masked: bool) -> None:
    assert success(Searcher(0), tasks(level, QUESTIONS, masked=masked)) <= 0.05


def test_the_filter_keeps_what_is_solved_sometimes() -> None:
    split = passk.run(40)
    assert split.total == 40
    assert split.kept
    assert split.never + split.always
    assert all(1 <= count <= 7 for count in split.kept)
    assert all(deviation > 0 for deviation in split.deviations)
