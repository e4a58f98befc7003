"""Cassettes and connections under threads, forks and odd answers."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from world_model.server import Stub, completion, serving

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv
from agentworld_envs.backends.world_model import (
    CassetteConfig,
    CassetteEngine,
    Completion,
    GenerationRequest,
    Message,
    Sampling,
    ScriptedEngine,
    build_engine,
)
from agentworld_envs.backends.world_model.cassette_store import CassetteStore
from agentworld_envs.testing import CounterDomain


async def odd(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
    """Lone surrogates and absurd counts in one slot, plain answers in the others."""
    last = body["messages"][-1]["content"]
    if "add 2" in last:
        usage = {"prompt_tokens": 10**30, "completion_tokens": 3}
        return completion("<predicted_observation>\nodd \ud83d\n</predicted_observation>", usage=usage)
    return completion("<predicted_observation>\nplain\n</predicted_observation>")


def test_an_odd_answer_is_recorded_and_costs_the_other_slots_nothing(tmp_path: Path) -> None:
    cassette = tmp_path / "c.sqlite"
    seen = []
    with serving(odd) as stub:
        for mode in ("record", "replay-or-fail"):
            kwargs: dict[str, Any] = {"model": stub.model, "cassette": f"{mode}:{cassette}"}
            with closing(AgentWorldVectorEnv(CounterDomain(), 3, backend="world_model", **kwargs)) as env:
                env.reset(seed=0)
                observations, *_, infos = env.step(["add 1", "add 2", "look"])
                assert infos["failure"].tolist() == [None] * 3
                seen.append(observations)
    assert seen[0] == seen[1] == ("plain", "odd \\ud83d", "plain")
    assert json.dumps(seen)


def test_a_fork_that_records_the_same_action_gets_the_same_answer(tmp_path: Path) -> None:
    cassette = tmp_path / "c.sqlite"

    async def counting(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        return completion(f"<predicted_observation>\nanswer {len(stub.bodies)}\n</predicted_observation>")

    with serving(counting) as stub:
        for mode in ("record", "replay-or-fail"):
            kwargs: dict[str, Any] = {"model": stub.model, "cassette": f"{mode}:{cassette}"}
            with closing(AgentWorldEnv(CounterDomain(), backend="world_model", **kwargs)) as env:
                env.reset(seed=0)
                with closing(env.fork()) as twin:
                    assert env.step("look")[0] == twin.step("look")[0] == "answer 1"
        assert len(stub.bodies) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_is_in_the_cassette(tmp_path: Path) -> None:
    store = CassetteStore(tmp_path / "c.sqlite", read_only=False)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            store.store({number.to_bytes(8, "big"): Completion("text")}, "model", replace=False)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:  # pragma: no cover - the child has no coverage
                signal.alarm(20)
                os._exit(0 if len(store) >= 0 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
        store.close()


def test_threads_that_come_first_at_the_same_time_share_one_connection() -> None:
    with serving(latency_s=0.05) as stub:
        engine = build_engine(stub.model)
        barrier = threading.Barrier(8)

        def ask() -> None:
            barrier.wait()
            request = GenerationRequest((Message("user", "same"),), Sampling(max_tokens=5), seed=1)
            assert engine.generate([request])[0].failure is None

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        engine.close()
        assert len(stub.bodies) == 1, "identical requests in flight are made once, whoever comes first"


def test_threads_that_record_the_same_question_play_the_same_answer(tmp_path: Path) -> None:
    answers = iter(range(100))
    engine = CassetteEngine(
        ScriptedEngine(lambda request: f"answer {next(answers)}"), CassetteConfig(path=tmp_path / "c", mode="record")
    )
    barrier, given = threading.Barrier(4), []

    def ask() -> None:
        barrier.wait()
        given.append(engine.generate([GenerationRequest((Message("user", "same"),), Sampling(), seed=1)])[0].text)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(given)) == 1
    assert [c.text for c in engine.store.completions(list(engine._fresh)).values()] == given[:1]
    engine.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_threads_that_fork_at_once(tmp_path: Path) -> None:
    store = CassetteStore(tmp_path / "c.sqlite", read_only=False)
    statuses = []

    def fork() -> None:
        for _ in range(20):
            child = os.fork()
            if not child:  # pragma: no cover - the child has no coverage
                os._exit(0)
            statuses.append(os.waitpid(child, 0)[1])

    threads = [threading.Thread(target=fork) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [0] * 60
    store.close()
