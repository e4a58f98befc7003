"""The cassette: what is recorded comes back byte for byte, with no model, also after a crash."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from world_model.server import serving
from world_model.toy import ToyDomain, act, make_task

from agentworld_envs.backends.world_model import (
    CassetteConfig,
    CassetteEngine,
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    ScriptedEngine,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.backends.world_model.engines.keys import request_key
from agentworld_envs.interface import ConfigError, Failure, Usage


class Random(Engine):
    """An engine whose answers cannot be guessed, and that counts."""

    def __init__(self, model: str = "random", revision: str = "") -> None:
        self.model, self.revision, self.asked = model, revision, 0

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        self.asked += len(requests)
        return [Completion(wrap(os.urandom(8).hex()), "thought", "stop", Usage(7, 5, 3, 0.5)) for _ in requests]

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        self.asked += 1
        return sum(len(m.content) for m in messages) // 3


class Absent(Random):
    """The same model, which may not even be looked at."""

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        raise AssertionError("the model was asked")

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        raise AssertionError("the model was asked")

    def check(self) -> None:
        raise AssertionError("the model was asked")


def ask(seed: int = 0, text: str = "hi") -> GenerationRequest:
    return GenerationRequest((Message("user", text),), Sampling(), seed, prompt_version="v1")


def cassette(engine: Engine, path: Path, mode: str = "replay") -> CassetteEngine:
    return CassetteEngine(engine, CassetteConfig.model_validate({"path": path, "mode": mode}))


@pytest.mark.parametrize("mode", ["replay", "replay-or-fail"])
def test_a_replay_needs_no_model_and_is_identical(tmp_path: Path, mode: str) -> None:
    recorder = cassette(Random(), tmp_path / "new" / "tape.db", "record")
    first = recorder.generate([ask(i) for i in range(700)])
    recorder.close()
    assert os.listdir(tmp_path / "new") == ["tape.db"], "one file that can be copied"
    player = cassette(Absent(), tmp_path / "new" / "tape.db", mode)
    second = player.generate([ask(i) for i in range(700)])
    assert [(c.text, c.reasoning, c.finish_reason) for c in first] == [
        (c.text, c.reasoning, c.finish_reason) for c in second
    ]
    assert second[0].usage == Usage(cache_hits=1)
    assert second[0].recorded == Usage(7, 5, 3, 0.5)
    player.close()
    player.close()
    assert os.listdir(tmp_path / "new") == ["tape.db"]


def test_whole_episodes_with_the_server_gone(tmp_path: Path) -> None:
    path, commands = tmp_path / "tape.db", ("add 1", "dance", "add 2")

    def episodes(model: str, mode: str) -> list[list[object]]:
        backend = WorldModelConfig.of(model=model, cassette=f"{mode}:{path}").build()
        sessions = backend.open(ToyDomain(), [make_task()] * 4, [3, 1, 4, 1])
        steps = [backend.step(sessions, [act(command)] * 4) for command in commands]
        backend.shutdown()
        return [[(t.observation, t.terminated, t.failure) for t in step] for step in steps], steps

    with serving() as stub:
        recorded, _ = episodes(stub.model, "record")
        assert len(stub.bodies) == 9, "equal seeds make equal requests, which are made once"
    replayed, steps = episodes("openai:http://127.0.0.1:9/v1#stub-model", "replay-or-fail")
    assert replayed == recorded
    assert steps[0][0].usage == Usage(cache_hits=1)
    assert steps[0][0].flags["recorded_completion_tokens"] == 20
    with pytest.raises(AssertionError):
        assert episodes("openai:http://127.0.0.1:9/v1#other-model", "replay-or-fail")[0] == recorded


def test_modes(tmp_path: Path) -> None:
    path = tmp_path / "tape.db"
    engine = Random()
    replay = cassette(engine, path)
    first = replay.generate([ask(1), ask(2)])
    assert [c.usage.cache_hits for c in first] == [0, 0]
    again = replay.generate([ask(2), ask(3), ask(1), ask(1)])
    assert engine.asked == 3
    assert [c.usage.cache_hits for c in again] == [1, 0, 1, 1]
    assert (again[0].text, again[2].text, again[3].text) == (first[1].text, first[0].text, first[0].text)
    strict = cassette(Absent(), path, "replay-or-fail")
    hit, miss = strict.generate([ask(3), ask(4)])
    assert hit.text == again[1].text
    assert miss.failure is not None
    assert (miss.failure.kind, miss.failure.retryable) == ("cassette_miss", False)
    record = cassette(engine, path, "record")
    (fresh,) = record.generate([ask(1)])
    assert fresh.text != first[0].text
    assert replay.generate([ask(1)])[0].text == fresh.text
    for tape in (replay, strict, record):
        tape.close()


def test_failures_are_not_recorded(tmp_path: Path) -> None:
    answers: list[Completion | Failure] = [Failure("provider", "down", True), Completion("good")]
    tape = cassette(ScriptedEngine(lambda request: answers.pop(0)), tmp_path / "tape.db", "replay")
    assert tape.generate([ask()])[0].failure is not None
    assert tape.generate([ask()])[0].text == "good"
    assert tape.generate([ask()])[0].text == "good"
    tape.close()


def test_the_key_is_what_determines_an_answer() -> None:
    base = ask()
    keys = [
        request_key("m", "r", base),
        request_key("m2", "r", base),
        request_key("m", "r2", base),
        request_key("m", "r", ask(1)),
        request_key("m", "r", ask(text="ho")),
        request_key("m", "r", GenerationRequest(base.messages, Sampling(), 0, prompt_version="v2")),
        request_key("m", "r", GenerationRequest(base.messages, Sampling(prefill="x"), 0, prompt_version="v1")),
        request_key("m", "r", GenerationRequest((Message("system", "hi"),), Sampling(), 0, prompt_version="v1")),
    ]
    assert len(set(keys)) == len(keys)
    assert request_key("m", "r", GenerationRequest(base.messages, Sampling(), 0, 1.0, "v1")) == keys[0]
    assert keys[0].hex() == "8f4d756f1ae4a35122cb5b7d655ccf81bd4fb9cef501f2646f069f96a8be8ef1", (
        "recordings of earlier versions stay valid"
    )


def test_token_counts_are_remembered(tmp_path: Path) -> None:
    path, messages = tmp_path / "tape.db", [Message("user", "x" * 30)]
    tape = cassette(Random(), path)
    assert tape.count_tokens(messages) == 10
    tape.close()
    tape = cassette(Absent(), path, "replay-or-fail")
    assert tape.count_tokens(messages) == 10
    assert tape.count_tokens([Message("user", "y")]) is None
    tape.close()


@pytest.mark.parametrize("mode", ["record", "replay", "replay-or-fail"])
@pytest.mark.parametrize("kind", ["text", "foreign", "newer", "folder"])
def test_files_that_are_no_cassettes(tmp_path: Path, mode: str, kind: str) -> None:
    path = tmp_path / "tape.db"
    if kind == "text":
        path.write_text("not a database, " * 100)
    elif kind == "folder":
        path.mkdir()
    else:
        if kind == "newer":
            cassette(Random(), path).close()
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99" if kind == "newer" else "CREATE TABLE mine (x)")
        connection.close()
    before = None if kind == "folder" else path.read_bytes()
    with pytest.raises(ConfigError) as caught:
        cassette(Random(), path, mode)
    assert str(path) in str(caught.value)
    assert "record:FILE" in str(caught.value)
    assert kind == "folder" or path.read_bytes() == before, "a foreign file is left as it is"


def test_damage_found_later_is_a_failure_of_the_wave(tmp_path: Path) -> None:
    path = tmp_path / "tape.db"
    tape = cassette(Random(), path)
    tape.generate([ask(i) for i in range(500)])
    tape.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(os.urandom(size - 8192))
    tape = cassette(Random(), path)
    answers = tape.generate([ask(i) for i in range(500)])
    assert {a.failure.kind if a.failure else None for a in answers} == {"config"}
    tape.close()


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Record it first"):
        cassette(Random(), tmp_path / "none.db", "replay-or-fail")
    assert not list(tmp_path.iterdir())


def test_a_disk_on_which_no_lock_files_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "tape.db"
    tape = cassette(Random(), path)
    (first,) = tape.generate([ask()])
    tape.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    # Permissions do not stop root, a folder in the way does.
    (tmp_path / "tape.db-shm").mkdir()
    tape = cassette(Absent(), path, "replay-or-fail")
    assert tape.generate([ask()])[0].text == first.text
    tape.close()


def test_threads(tmp_path: Path) -> None:
    tape = cassette(Random(), tmp_path / "tape.db")
    results: list[list[str]] = []

    def go() -> None:
        results.append([tape.generate([ask(i)])[0].text for i in range(50)])

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results), "the first record of a key is everyone's answer"
    tape.close()


def _worker(path: Path, queue: multiprocessing.Queue[list[str]]) -> None:
    tape = cassette(Random(), path)
    queue.put([tape.generate([ask(i)])[0].text for i in range(50)])
    tape.close()


def test_processes(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn" if sys.platform == "darwin" else "fork")
    queue: multiprocessing.Queue[list[str]] = context.Queue()
    workers = [context.Process(target=_worker, args=(tmp_path / "tape.db", queue)) for _ in range(4)]
    for worker in workers:
        worker.start()
    results = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert all(result == results[0] for result in results)
    queue.close()
    queue.join_thread()


def test_a_forked_child_opens_its_own_connection(tmp_path: Path) -> None:
    tape = cassette(Random(), tmp_path / "tape.db")
    (first,) = tape.generate([ask()])
    pid = os.fork()
    if not pid:
        code = 1
        try:
            code = 0 if tape.generate([ask()])[0].text == first.text and tape.generate([ask(2)]) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert tape.generate([ask(2)])[0].usage.cache_hits == 1
    tape.close()


def test_kill_9_while_recording(tmp_path: Path) -> None:
    path = tmp_path / "tape.db"
    script = textwrap.dedent(
        """
        import sys
        from agentworld_envs.backends.world_model import *
        engine = ScriptedEngine(lambda request: Completion(f"answer {request.seed}"), "killed")
        tape = CassetteEngine(engine, CassetteConfig.parse("record:" + sys.argv[1]))
        for wave in range(10**6):
            requests = [GenerationRequest((Message("user", "hi"),), seed=wave * 8 + i) for i in range(8)]
            tape.generate(requests)
            print(wave, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 20:
            break
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    said = [int(line) for line in process.stdout.read().splitlines() if line.isdigit()]
    process.wait()
    process.stdout.close()
    waves = max([20, *said]) + 1
    tape = cassette(Absent("scripted:killed"), path, "replay-or-fail")
    requests = [GenerationRequest((Message("user", "hi"),), seed=seed) for seed in range(waves * 8)]
    answers = tape.generate(requests)
    assert [a.text for a in answers] == [f"answer {seed}" for seed in range(waves * 8)], "all that was acknowledged"
    assert len(tape.store) % 8 == 0, "a wave is there as a whole or not at all"
    tape.close()


@pytest.mark.parametrize(
    ("text", "path", "mode"),
    [
        ("a.db", "a.db", "replay"),
        ("record:a.db", "a.db", "record"),
        ("replay:a.db", "a.db", "replay"),
        ("replay-or-fail:/x/a:b.db", "/x/a:b.db", "replay-or-fail"),
        ("C:a.db", "C:a.db", "replay"),
    ],
)
def test_parse(text: str, path: str, mode: str) -> None:
    assert CassetteConfig.parse(text) == CassetteConfig(path=Path(path), mode=mode)  # type: ignore[arg-type]
