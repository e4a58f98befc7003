"""The openai engine against a real HTTP server on localhost."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from aiohttp import web
from world_model.server import Stub, completion, error, friendly, serving
from world_model.toy import ToyDomain, act, make_task

from agentworld_envs.backends.world_model import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    WorldModelConfig,
    build_engine,
)
from agentworld_envs.interface import Usage

FAST = {"backoff_s": 0.01, "retries": 3}


def ask(seed: int = 0, text: str = "hi", deadline_s: float = 20.0, **sampling: Any) -> GenerationRequest:
    return GenerationRequest((Message("user", text),), Sampling(**sampling), seed, deadline_s)


@pytest.fixture
def build() -> Iterator[Callable[..., Engine]]:
    engines: list[Engine] = []

    def make(model: str, **options: Any) -> Engine:
        engines.append(build_engine(model, options={**FAST, **options}))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()
        engine.close()


def test_64_sessions_step_as_fast_as_one() -> None:
    with serving(latency_s=0.2) as stub:
        backend = WorldModelConfig.of(model=stub.model).build()
        sessions = backend.open(ToyDomain(), [make_task()] * 64, list(range(64)))
        backend.step(sessions, [act("add 1")] * 64)  # opens the connections
        started = time.monotonic()
        transitions = backend.step(sessions, [act("add 1")] * 64)
        wall = time.monotonic() - started
        backend.shutdown()
        assert all(t.failure is None for t in transitions)
        assert [t.observation for t in transitions] == [f"seed {body['seed']}" for body in _by_slot(stub, transitions)]
        assert stub.most_in_flight == 64
        assert len(stub.peers) <= 70, "connections are reused"
        assert wall < 64 * 0.2 / 4


def _by_slot(stub: Stub, transitions: list[Any]) -> list[dict[str, Any]]:
    by_seed = {f"seed {body['seed']}": body for body in stub.bodies}
    return [by_seed[t.observation] for t in transitions]


def test_one_hung_slot_is_cut_and_63_come_back() -> None:
    async def handler(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        if "\nhang\n" in body["messages"][-1]["content"]:
            await asyncio.sleep(30)
        return await friendly(stub, body)

    with serving(handler) as stub:
        backend = WorldModelConfig.of(model=stub.model, deadline_s=2.0).build()
        sessions = backend.open(ToyDomain(), [make_task()] * 64, list(range(64)))
        commands = ["add 1"] * 64
        commands[17] = "hang"
        started = time.monotonic()
        transitions = backend.step(sessions, [act(command) for command in commands])
        wall = time.monotonic() - started
        backend.shutdown()
    failures = {i: t.failure.kind for i, t in enumerate(transitions) if t.failure}
    assert failures == {17: "provider_timeout"}
    assert 2.0 <= wall < 10


def test_what_is_sent(build: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with serving() as stub:
        engine = build(stub.model, extra_body={"chat_template_kwargs": {"enable_thinking": False}})
        request = ask(5, temperature=0.5, top_p=0.9, top_k=7, max_tokens=99, stop=("END",), prefill="<x>")
        engine.generate([request])
        plain = build(stub.model, extensions=False, max_tokens_field="max_completion_tokens")
        plain.generate([ask(6, top_k=0)])
    assert stub.bodies[0] == {
        "model": "stub-model",
        "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "<x>"}],
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 7,
        "max_tokens": 99,
        "seed": 5,
        "stop": ["END"],
        "continue_final_message": True,
        "add_generation_prompt": False,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert stub.headers[0]["Authorization"] == "Bearer sk-secret"
    assert "top_k" not in stub.bodies[1]
    assert stub.bodies[1]["max_completion_tokens"] == 16384
    assert "enable_thinking" in engine.revision
    assert "127.0.0.1" not in engine.model


@pytest.mark.parametrize("spelling", ["reasoning_content", "reasoning"])
def test_reasoning_channel_and_usage(build: Callable[..., Engine], spelling: str) -> None:
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 30,
        "completion_tokens_details": {"reasoning_tokens": 25},
        "cost": 0.002,
        "prompt_tokens_details": {"cached_tokens": 8},
    }

    async def handler(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        return completion("answer", usage=usage, **{spelling: "thought"})

    with serving(handler) as stub:
        (answer,) = build(stub.model).generate([ask()])
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("answer", "thought", "stop")
    assert answer.usage.seconds > 0
    answer.usage.seconds = 0
    assert answer.usage == Usage(10, 30, 25, 0.002, cached_tokens=8)


def test_a_prefilled_answer_that_a_reasoning_parser_took_for_thinking(build: Callable[..., Engine]) -> None:
    async def handler(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        return completion("", reasoning="You see nothing.")

    with serving(handler) as stub:
        begun, free = build(stub.model).generate([ask(prefill="<predicted_observation>"), ask()])
    assert (begun.text, begun.reasoning) == ("You see nothing.", "")
    assert (free.text, free.reasoning) == ("", "You see nothing.")


def test_an_adapter_is_a_model_of_the_server(build: Callable[..., Engine]) -> None:
    with serving() as stub:
        build(stub.model).generate([ask(1), ask(1, adapter="mine")])
    assert sorted(body["model"] for body in stub.bodies) == ["mine", "stub-model"], "and not the same request"


def test_more_stop_strings_than_servers_take(build: Callable[..., Engine]) -> None:
    async def handler(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        return completion("one two three", finish_reason="length")

    with serving(handler) as stub:
        [answer] = build(stub.model).generate([ask(stop=("a1", "b2", "c3", "d4", " three", " two"))])
    assert stub.bodies[0]["stop"] == ["a1", "b2", "c3", "d4"]
    assert (answer.text, answer.finish_reason) == ("one", "stop")


def test_an_aborted_answer_is_asked_for_again(build: Callable[..., Engine]) -> None:
    with serving(sequence(lambda: completion("You o", finish_reason="abort"), lambda: completion("good"))) as stub:
        [answer] = build(stub.model).generate([ask()])
    assert answer.text == "good"
    assert answer.usage.retries == 1


def test_pauses_depend_on_the_request_alone() -> None:
    engine: Any = build_engine("openai:http://127.0.0.1:1/v1#m", options={"backoff_s": 1.0, "max_backoff_s": 4.0})
    again = type("Again", (), {"retry_after": None})()
    keys = [bytes([value] * 32) for value in (0, 128, 255)]
    pauses = [[engine._pause(again, key, retries) for retries in range(5)] for key in keys]
    assert pauses[0] == [0.5, 1.0, 2.0, 2.0, 2.0]
    assert pauses[2] == [1.0, 2.0, 4.0, 4.0, 4.0]
    assert pauses[0] < pauses[1] < pauses[2]


def test_a_thousand_in_flight_reuse_their_connections(build: Callable[..., Engine]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 4_096:
        pytest.skip("client and server need 2,000 sockets in this process")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4_096), hard))
    with serving(latency_s=1.0) as stub:
        engine = build(stub.model, concurrency=2_000)
        for wave in range(2):
            answers = engine.generate([ask(wave * 1_000 + seed, deadline_s=60.0) for seed in range(1_000)])
            assert all(answer.failure is None for answer in answers)
            assert sum(answer.usage.retries for answer in answers) == 0
        assert stub.most_in_flight > 500
        assert len(stub.peers) <= 1_000


def sequence(*answers: Callable[[], web.Response]) -> Callable[[Stub, dict[str, Any]], Awaitable[web.Response]]:
    async def handler(stub: Stub, body: dict[str, Any]) -> web.Response:
        return answers[min(len(stub.bodies), len(answers)) - 1]()

    return handler


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
def test_passing_troubles_are_retried(build: Callable[..., Engine], status: int) -> None:
    with serving(sequence(lambda: error(status), lambda: completion("good"))) as stub:
        (answer,) = build(stub.model).generate([ask()])
    assert answer.failure is None
    assert answer.text == "good"
    assert answer.usage.retries == 1


def test_retry_after_is_honoured(build: Callable[..., Engine]) -> None:
    with serving(sequence(lambda: error(429, Retry_After="0.7"), lambda: completion("good"))) as stub:
        started = time.monotonic()
        (answer,) = build(stub.model).generate([ask()])
        assert time.monotonic() - started >= 0.7
    assert answer.text == "good"


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(build: Callable[..., Engine]) -> None:
    with serving(sequence(lambda: error(429, Retry_After="3600"))) as stub:
        started = time.monotonic()
        (answer,) = build(stub.model).generate([ask()])
        assert time.monotonic() - started < 10
    assert answer.failure is not None
    assert answer.failure.kind == "provider_overloaded"


REFUSALS = [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
    "'max_tokens' is too large: 16384. This model's maximum context length is 8192 tokens",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "the request exceeds the available context size, try increasing it",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
]


@pytest.mark.parametrize(
    ("response", "kind", "retryable", "calls"),
    [
        (lambda: error(500), "provider_overloaded", True, 4),
        (lambda: error(401, {"error": {"message": "bad key sk-secret"}}), "provider_rejected", False, 1),
        (lambda: error(404), "provider_rejected", False, 1),
        (lambda: error(400, "not json"), "provider_rejected", False, 1),
        (lambda: error(302, Location="http://127.0.0.1:1/"), "provider_rejected", False, 1),
        (lambda: error(200, "<html>hello</html>"), "provider", True, 4),
        (lambda: error(200, '{"choices": []}'), "provider", True, 4),
        (lambda: error(200, '{"choices": [{"message": {"content": 5}}]}'), "provider", True, 4),
        (lambda: error(200, '{"choices": 5}'), "provider", True, 4),
        (lambda: error(200, "[" * 100000), "provider", True, 4),
        (lambda: error(200, "\x00\xff"), "provider", True, 4),
        *((lambda text=t: error(400, {"error": {"message": text}}), "context_overflow", False, 1) for t in REFUSALS),
        (lambda: error(400, {"object": "error", "code": "context_length_exceeded"}), "context_overflow", False, 1),
    ],
)  # fmt: skip
def test_every_refusal_has_its_type(
    build: Callable[..., Engine],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    response: Callable[[], web.Response],
    kind: str,
    retryable: bool,
    calls: int,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    caplog.set_level(logging.DEBUG)
    with serving(sequence(response)) as stub:
        (answer,) = build(stub.model).generate([ask()])
    assert answer.failure is not None
    assert (answer.failure.kind, answer.failure.retryable) == (kind, retryable)
    assert len(stub.bodies) == calls
    assert "sk-secret" not in answer.failure.message + caplog.text


def test_nobody_listens(build: Callable[..., Engine]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (answer,) = build(f"openai:http://user:password@127.0.0.1:{port}/v1#m").generate([ask()])
    assert answer.failure is not None
    assert answer.failure.kind == "provider"
    assert answer.failure.retryable
    assert str(port) in answer.failure.message
    assert "password" not in answer.failure.message
    assert answer.usage.retries == 3


def test_a_dropped_connection_is_retried(build: Callable[..., Engine]) -> None:
    async def handler(stub: Stub, body: dict[str, Any]) -> web.StreamResponse:
        if len(stub.bodies) == 1:
            raise ConnectionResetError
        return completion("good")

    with serving(handler) as stub:
        (answer,) = build(stub.model).generate([ask()])
    assert answer.text == "good"


def test_identical_requests_in_flight_are_made_once(build: Callable[..., Engine]) -> None:
    with serving(latency_s=0.2) as stub:
        engine = build(stub.model)
        answers = engine.generate([ask(1), ask(1), ask(1), ask(2)])
        assert len(stub.bodies) == 2
        later = engine.generate([ask(1)])
        assert len(stub.bodies) == 3, "what has landed is asked again: remembering is the cassette's task"
    assert [a.text for a in answers[:3]] == [later[0].text] * 3
    assert [a.usage.cache_hits for a in answers] == [0, 1, 1, 0]
    assert [a.usage.completion_tokens for a in answers] == [20, 0, 0, 20]


def test_threads_join_each_other_and_keep_their_own_deadlines(build: Callable[..., Engine]) -> None:
    with serving(latency_s=1.0) as stub:
        engine = build(stub.model)
        answers: dict[str, Completion] = {}

        def go(name: str, deadline_s: float) -> None:
            answers[name] = engine.generate([ask(1, deadline_s=deadline_s)])[0]

        impatient = threading.Thread(target=go, args=("impatient", 0.5))
        patient = threading.Thread(target=go, args=("patient", 20.0))
        impatient.start()
        time.sleep(0.1)
        patient.start()
        impatient.join()
        patient.join()
        assert len(stub.bodies) == 1
    assert answers["impatient"].failure is not None
    assert answers["patient"].failure is None


def test_concurrency_is_bounded(build: Callable[..., Engine]) -> None:
    with serving(latency_s=0.05) as stub:
        answers = build(stub.model, concurrency=4).generate([ask(i) for i in range(16)])
        assert stub.most_in_flight == 4
    assert all(a.failure is None for a in answers)


def test_works_inside_a_running_loop_after_close_and_after_a_fork(build: Callable[..., Engine]) -> None:
    with serving() as stub:
        engine = build(stub.model)

        async def notebook() -> list[Completion]:
            return engine.generate([ask(1)])

        assert asyncio.run(notebook())[0].failure is None
        engine.close()
        assert engine.generate([ask(2)])[0].failure is None
        pid = os.fork()
        if not pid:
            code = 1
            try:
                code = 0 if engine.generate([ask(3)])[0].failure is None else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert engine.generate([ask(4)])[0].failure is None, "the parent's connections still work"


def test_no_requests(build: Callable[..., Engine]) -> None:
    assert build("openai:http://127.0.0.1:1/v1#m").generate([]) == []


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match=r"concurrency"):
        build_engine("openai:http://h/v1#m", options={"concurency": 5})


def test_an_engine_that_is_never_closed_ends_quietly() -> None:
    code = (
        "import sys; from agentworld_envs.backends.world_model import GenerationRequest, Message, build_engine;"
        "engine = build_engine(sys.argv[1]); request = GenerationRequest((Message('user', 'hi'),), seed=1);"
        "print(engine.generate([request])[0].failure)"
    )
    with serving() as stub:
        for after in ("", ";del engine"):
            command = [sys.executable, "-W", "error", "-c", code + after, stub.model]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")
