"""The driver of the vllm engine with a stand-in for vLLM's engine: who waits, who leaves, and what breaks."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentworld_envs.backends.world_model.engines.vllm_driver import Driver, Flight
from agentworld_envs.interface import ProviderError


class Steps:
    """Speaks the part of `LLMEngine` that the driver uses. A prompt `[n]` is answered after n steps."""

    def __init__(self) -> None:
        self.model_config = SimpleNamespace(max_model_len=100)
        self.engine_core = SimpleNamespace(shutdown=self._shutdown)
        self.left: dict[str, int] = {}
        self.batches: list[int] = []
        self.aborted: list[str] = []
        self.on_step: Callable[[], None] = lambda: time.sleep(0.01)
        self.closed = 0

    def _shutdown(self) -> None:
        self.closed += 1

    def add_request(self, name: str, prompt: dict[str, list[int]], params: Any, lora_request: Any) -> None:
        if prompt["prompt_token_ids"][0] < 0:
            raise ValueError("cannot be started")
        self.left[name] = prompt["prompt_token_ids"][0]

    def abort_request(self, names: list[str]) -> None:
        self.aborted += names
        for name in names:
            del self.left[name]

    def step(self) -> list[Any]:
        self.on_step()
        self.batches.append(len(self.left))
        for name in self.left:
            self.left[name] -= 1
        done = [name for name, left in self.left.items() if left <= 0]
        for name in done:
            del self.left[name]
        return [SimpleNamespace(finished=True, request_id=name) for name in done]


@pytest.fixture
def engine() -> Steps:
    return Steps()


@pytest.fixture
def driver(engine: Steps) -> Iterator[Driver]:
    driver = Driver(lambda: engine, "stand-in")
    yield driver
    driver.close()
    driver.close()
    assert engine.closed == 1


def flight(steps: int, key: bytes = b"") -> Flight:
    return Flight(key or str(steps).encode(), [steps], None)


def test_a_wave_is_one_batch_from_the_first_step_on(driver: Driver, engine: Steps) -> None:
    taken = driver.submit([flight(n) for n in range(1, 33)])
    assert all(one.done.wait(10) for one, _ in taken)
    assert engine.batches == list(range(32, 0, -1))
    assert driver.context_tokens == 100
    for one, joined in taken:
        assert one.output is not None
        assert not joined
        driver.leave(one)
    assert engine.aborted == []


def test_identical_ones_are_made_once(driver: Driver, engine: Steps) -> None:
    same = flight(5)
    taken = driver.submit([same, same, flight(5)])
    assert [joined for _, joined in taken] == [False, True, True]
    assert {id(one) for one, _ in taken} == {id(same)}
    assert same.done.wait(10)
    assert set(engine.batches) == {1}
    assert [joined for _, joined in driver.submit([flight(5)])] == [False], "what has landed is made again"


def test_what_nobody_waits_for_is_aborted_and_nobody_joins_it(driver: Driver, engine: Steps) -> None:
    [(endless, _)] = driver.submit([flight(10_000)])
    [(joined, _)] = driver.submit([flight(10_000)])
    driver.leave(endless)
    time.sleep(0.1)
    assert engine.aborted == [], "one still waits"
    driver.leave(joined)
    [(fresh, again)] = driver.submit([flight(10_000)])
    assert not again
    assert fresh is not endless
    [(quick, _)] = driver.submit([flight(1)])
    assert quick.done.wait(10)
    assert len(engine.aborted) == 1
    driver.leave(fresh)


def test_one_that_leaves_before_it_has_started(driver: Driver, engine: Steps) -> None:
    resume = threading.Event()
    engine.on_step = lambda: resume.wait(10) and None
    [(first, _)] = driver.submit([flight(1)])
    time.sleep(0.05)
    [(late, _)] = driver.submit([flight(10_000)])
    driver.leave(late)
    resume.set()
    assert first.done.wait(10)
    [(next_one, _)] = driver.submit([flight(2)])
    assert next_one.done.wait(10)
    assert not engine.left


def test_what_cannot_be_started_fails_alone(driver: Driver) -> None:
    bad, good = (one for one, _ in driver.submit([flight(-1), flight(2)]))
    assert good.done.wait(10)
    assert isinstance(bad.error, ValueError)
    assert good.error is None


def test_a_broken_engine_fails_those_who_wait_and_takes_no_more(engine: Steps) -> None:
    driver = Driver(lambda: engine, "stand-in")

    def broken() -> None:
        raise RuntimeError("out of memory")

    engine.on_step = broken
    taken = driver.submit([flight(1), flight(2)])
    assert all(one.done.wait(10) for one, _ in taken)
    assert all("out of memory" in str(one.error) for one, _ in taken)
    driver._thread.join(10)
    assert not driver.usable
    assert engine.closed == 1
    with pytest.raises(ProviderError):
        driver.submit([flight(1)])


def test_closing_sends_everybody_home(engine: Steps) -> None:
    driver = Driver(lambda: engine, "stand-in")
    [(endless, _)] = driver.submit([flight(10_000)])
    driver.close()
    assert endless.done.is_set()
    assert isinstance(endless.error, ProviderError)
    driver.leave(endless)
    assert engine.closed == 1
    assert not driver._thread.is_alive()


def test_an_engine_that_cannot_be_loaded() -> None:
    def load() -> Any:
        raise ValueError("no such model")

    with pytest.raises(ValueError, match="no such model"):
        Driver(load, "stand-in")


def test_many_threads_share_the_batch(driver: Driver, engine: Steps) -> None:
    barrier = threading.Barrier(16)
    done: list[int] = []

    def go(number: int) -> None:
        barrier.wait()
        [(one, _)] = driver.submit([flight(20, str(number).encode())])
        assert one.done.wait(20)
        driver.leave(one)
        done.append(number)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(done) == 16
    assert max(engine.batches) > 8
