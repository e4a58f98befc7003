"""Worlds are built once, kept within bounds, and shared."""

from __future__ import annotations

import gc
import multiprocessing
import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest
from search.support import PAGES

from agentworld_envs.domains.search import places as module
from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.places import LIBRARY, Library, Place
from agentworld_envs.interface import ConfigError
from agentworld_envs.vector import AgentWorldVectorEnv


def build_counted(monkeypatch: pytest.MonkeyPatch, slow_s: float = 0.0, pages: int = 5) -> list[tuple[int, str]]:
    """Put something quick in the place of real worlds; the list gets what was built."""
    built: list[tuple[int, str]] = []

    def make(seed: int, size: str) -> Place:
        time.sleep(slow_s)
        built.append((seed, size))
        return Place(memory_index(PAGES), pages=pages)

    monkeypatch.setattr(module, "_build", make)
    return built


def in_threads(count: int, job: Callable[[int], object]) -> list[object]:
    found: list[object] = [None] * count
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        found[number] = job(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_32_slots_build_one_world_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_counted(monkeypatch, slow_s=0.05)
    library = Library()
    places = in_threads(32, lambda number: library.fiction(7, "small"))
    assert built == [(7, "small")]
    assert len({id(place) for place in places}) == 1


def test_different_worlds_do_not_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_counted(monkeypatch, slow_s=0.2)
    library = Library()
    started = time.monotonic()
    in_threads(8, lambda number: library.fiction(number % 4, "small"))
    assert sorted(built) == [(seed, "small") for seed in range(4)]
    assert time.monotonic() - started < 0.7, "four builds of 0.2 s, side by side"


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    built = build_counted(monkeypatch)
    library = Library(most=3)
    for seed in (0, 1, 2, 0, 3, 0, 1):
        library.fiction(seed, "tiny")
    assert [seed for seed, _ in built] == [0, 1, 2, 3, 1], "the one that was not asked for longest went first"
    assert len(library) == 3
    heavy = Library(most=100, most_pages=12)
    for seed in range(5):
        heavy.fiction(seed, "tiny")
    assert len(heavy) == 2
    one = Library(most=100, most_pages=1)
    assert one.fiction(0, "tiny") is one.fiction(0, "tiny"), "the latest is kept, however large"


def test_a_world_that_cannot_be_built_is_tried_again() -> None:
    library = Library()
    for _ in range(2):
        with pytest.raises(ConfigError, match="huge"):
            library.fiction(0, "huge")


def test_whoever_holds_a_place_can_go_on() -> None:
    library = Library(most=1)
    held = library.fiction(0, "tiny")
    library.fiction(1, "tiny")
    assert library.fiction(0, "tiny") is not held
    library.clear()
    gc.collect()
    assert held.index.search("a", 3) is not None


def test_files_are_closed_with_the_last_holder(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []

    def make(seed: int, size: str) -> Place:
        index = memory_index(PAGES)
        monkeypatch.setattr(index, "close", lambda: closed.append(seed))
        return Place(index)

    monkeypatch.setattr(module, "_build", make)
    library = Library(most=1)
    held = library.fiction(0, "tiny")
    library.fiction(1, "tiny")
    gc.collect()
    assert closed == []
    del held
    gc.collect()
    assert closed == [0]


def _answer(queue: multiprocessing.Queue[object]) -> None:
    place = LIBRARY.fiction(11, "tiny")
    queue.put([(hit.url, hit.snippet) for hit in place.index.search("the town", 5)])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork")
def test_a_forked_process_opens_its_own() -> None:
    place = LIBRARY.fiction(11, "tiny")
    expected = [(hit.url, hit.snippet) for hit in place.index.search("the town", 5)]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with module.LIBRARY._lock:  # as if another thread were just building something
        process = context.Process(target=_answer, args=(queue,))
        process.start()
    assert queue.get(timeout=60) == expected
    process.join(60)
    assert process.exitcode == 0


def test_a_vector_of_32_builds_one_world(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[tuple[int, str]] = []
    real = module._build

    def count(seed: int, size: str) -> Place:
        built.append((seed, size))
        return real(seed, size)

    monkeypatch.setattr(module, "_build", count)
    LIBRARY.clear()
    with closing(AgentWorldVectorEnv("search", 32, tasks="train:tiny+worlds=1")) as env:
        observations, _ = env.reset(seed=0)
        env.step(["the town"] * 32)
    assert built == [(0, "tiny")]
    assert len(set(observations)) > 10
