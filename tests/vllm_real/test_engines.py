"""What every engine promises, on real vLLM: seeds, batches, limits, deadlines, adapters."""

from __future__ import annotations

import os
import signal
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from vllm_real.support import CONTEXT, MODEL, PLAIN, Server, ask

from agentworld_envs.backends.world_model import Engine, WorldModelConfig, build_engine
from agentworld_envs.interface import ConfigError

TEXTS = [
    "I open the fridge.",
    "I go to the sink and look at all of the many dishes in it, one after the other.",
    "Dance!",
    "I take the egg from the table. " * 9,
]


def test_seeds_decide_and_identical_requests_are_made_once(engine: Engine) -> None:
    hot = {"temperature": 1.5, "top_k": 0, "top_p": 1.0}
    answers = engine.generate([ask(seed, **hot) for seed in (1, 2, 3, 1)])
    assert all(answer.failure is None for answer in answers)
    assert len({answer.text for answer in answers[:3]}) == 3
    assert answers[3].text == answers[0].text
    assert [answer.usage.cache_hits for answer in answers] == [0, 0, 0, 1]
    assert [answer.usage.completion_tokens for answer in answers] == [6, 6, 6, 0]
    assert engine.generate([ask(2, **hot)])[0].text == answers[1].text


def test_a_ragged_batch_equals_one_by_one(engine: Engine) -> None:
    requests = [ask(0, text, temperature=0.0, max_tokens=3 + place) for place, text in enumerate(TEXTS)]
    together = engine.generate(requests)
    alone = [engine.generate([request])[0] for request in requests]
    assert [answer.text for answer in together] == [answer.text for answer in alone]
    assert [answer.usage.completion_tokens for answer in together] == [3, 4, 5, 6]
    assert [answer.finish_reason for answer in together] == ["length"] * 4
    assert alone[0].usage.cached_tokens >= 64, "the rules are read once"


def test_both_engines_say_the_same(process_engine: Engine, server: Server) -> None:
    client = build_engine(server.model)
    requests = [ask(0, text, temperature=0.0) for text in TEXTS] + [ask(0, prefill="The fridge", temperature=0.0)]
    ours, theirs = process_engine.generate(requests), client.generate(requests)
    client.close()
    assert [answer.text for answer in ours] == [answer.text for answer in theirs]
    assert [a.usage.prompt_tokens for a in ours] == [a.usage.prompt_tokens for a in theirs]
    assert ours[0].usage.prompt_tokens == process_engine.count_tokens(requests[0].messages)


def test_what_goes_wrong_in_one_slot_stays_there(engine: Engine) -> None:
    started = time.monotonic()
    answers = engine.generate(
        [
            ask(0, "x " * 4000),
            ask(1),
            ask(2, max_tokens=1500, deadline_s=1.5),
            ask(1, adapter="nobody"),
            ask(3, temperature=0.0),
        ]
    )
    assert time.monotonic() - started < 30
    kinds = [answer.failure.kind if answer.failure else None for answer in answers]
    assert kinds[:3] == ["context_overflow", None, "provider_timeout"]
    assert kinds[3] in ("config", "provider_rejected")
    assert kinds[4] is None
    assert answers[0].failure is not None
    assert not answers[0].failure.retryable


def test_more_prompts_with_seeds_than_one_step_reads(engine: Engine) -> None:
    answers = engine.generate([ask(seed, f"{seed} is a number. " * 150, max_tokens=2) for seed in range(4)])
    assert [answer.failure for answer in answers] == [None] * 4
    assert sum(answer.usage.prompt_tokens - answer.usage.cached_tokens for answer in answers) > CONTEXT


def test_prefill_and_stop_strings(engine: Engine) -> None:
    [whole] = engine.generate([ask(temperature=0.0, prefill="Once upon a", max_tokens=12)])
    assert whole.failure is None
    word = whole.text.split()[3]
    [cut] = engine.generate([ask(temperature=0.0, prefill="Once upon a", max_tokens=12, stop=(word,))])
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text.partition(word)[0]


def test_an_adapter_answers_otherwise_and_the_model_stays_what_it_is(engine: Engine, untouched: list[str]) -> None:
    loud = ask(temperature=0.0, adapter="loud")
    assert engine.generate([loud])[0].text != untouched[0]
    assert engine.generate([PLAIN])[0].text == untouched[0]
    answers = engine.generate([PLAIN, loud, ask(1, temperature=0.0), ask(1, temperature=0.0, adapter="loud")])
    assert [answer.failure for answer in answers] == [None] * 4
    assert answers[0].text == answers[2].text == untouched[0], "in a batch with an adapter's requests"
    assert answers[1].text == answers[3].text != untouched[0]


def test_an_unknown_adapter_is_an_early_error(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="'loud'"):
        WorldModelConfig.of(model=f"vllm:{MODEL}", engine_options=options, sampling={"adapter": "lout"}).build()
    for wrong, words in (
        ({"adapters": {"a": "/nowhere"}}, "adapter_config.json"),
        ({"adapter": "a"}, "not one of adapters"),
        ({"adaptors": {}}, "'adapters'"),
    ):
        with pytest.raises(ConfigError, match=words):
            WorldModelConfig.of(model=f"vllm:{MODEL}", engine_options=wrong).build()


def test_a_default_adapter(process_engine: Engine, options: dict[str, Any]) -> None:
    other = build_engine(f"vllm:{MODEL}", options={**options, "adapter": "loud"})
    [loud] = other.generate([ask(temperature=0.0)])
    other.close()
    [named] = process_engine.generate([ask(temperature=0.0, adapter="loud")])
    assert loud.text == named.text
    assert other.revision != process_engine.revision


def test_an_interrupted_wave_is_aborted(kind: str, engine: Engine, process_engine: Engine, server: Server) -> None:
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.generate([ask(seed, max_tokens=1500) for seed in range(3)])
    timer.join()
    end = time.monotonic() + 20
    while _running(kind, process_engine, server) and time.monotonic() < end:
        time.sleep(0.1)
    assert _running(kind, process_engine, server) == 0


def _running(kind: str, process_engine: Any, server: Server) -> int:
    if kind == "process":
        return int(process_engine._model().driver().engine.get_num_unfinished_requests())
    url = server.model.removeprefix("openai:").partition("/v1")[0]
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    counts = [line for line in lines if line.startswith(("vllm:num_requests_running", "vllm:num_requests_waiting{"))]
    return int(sum(float(line.rpartition(" ")[2]) for line in counts))


def test_threads_share_the_batch(engine: Engine) -> None:
    expected = [answer.text for answer in engine.generate([ask(seed) for seed in range(6)])]
    found: dict[int, str] = {}

    def go(seed: int) -> None:
        found[seed] = engine.generate([ask(seed)])[0].text

    threads = [threading.Thread(target=go, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(6)] == expected


def test_a_hung_model_does_not_hang_the_step(process_engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = process_engine._model().driver()
    step, resume = driver.engine.step, threading.Event()

    def hang() -> Any:
        resume.wait(20)
        return step()

    monkeypatch.setattr(driver.engine, "step", hang)
    started = time.monotonic()
    answers = process_engine.generate([ask(seed, deadline_s=1.0) for seed in range(3)])
    assert time.monotonic() - started < 5
    assert [answer.failure and answer.failure.kind for answer in answers] == ["provider_timeout"] * 3
    monkeypatch.undo()
    resume.set()
    assert process_engine.generate([ask()])[0].failure is None


def test_the_model_is_in_this_process_alone_and_shared(process_engine: Any, options: dict[str, Any]) -> None:
    server_side = {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in server_side]
    assert all(b"serve-model" in command for command in commands), "killed, this process would leave others behind"
    other = build_engine(f"vllm:{MODEL}", options=options)
    assert other._model() is process_engine._model()  # type: ignore[attr-defined]
    other.close()
    assert process_engine.generate([ask()])[0].failure is None, "the last user frees it, not the first"


def test_a_forked_child_is_told(process_engine: Engine) -> None:
    read, write = os.pipe()
    pid = os.fork()
    if not pid:  # pragma: no cover - the child has no coverage
        failure = process_engine.generate([ask()])[0].failure
        os.write(write, (failure.kind + failure.message).encode() if failure else b"answered")
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    assert said.startswith("config")
    assert "forked" in said


def test_one_generate_for_a_whole_vector_step(config: Callable[..., WorldModelConfig]) -> None:
    with closing(gym.make_vec("AgentWorld/TextWorld-v0", num_envs=4, backend=config(max_retries=0))) as env:
        env.reset(seed=0)
        *_, infos = env.step(["look", "inventory", "look", "go to bed 1"])
        assert [failure and failure.kind for failure in infos["failure"]] == [None] * 4
        assert env.unwrapped.ledgers[0].total("simulator").prompt_tokens > 100
