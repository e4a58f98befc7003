"""The interactive terminal, looked at once it is idle: never too early, and not late."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from sandbox.support import SLOW, until

from agentworld_envs.backends.sandbox import Sandbox

pytest.importorskip("pyte")
PATIENT_S = 30.0
PROMPTS = ("$", "#")


def _type(sandbox: Sandbox, keys: str, wait_s: float = PATIENT_S) -> tuple[str, float]:
    started = time.monotonic()
    shown = sandbox.screen(keys, wait_s, until_idle=True)
    return shown.rstrip("\n"), time.monotonic() - started


def test_a_quick_command_is_seen_whole_and_soon(anything: Sandbox) -> None:
    shown, _ = _type(anything, "")
    assert shown.endswith(PROMPTS)
    took = []
    for index in range(20):
        shown, seconds = _type(anything, f"clear; seq {index} {index + 20} | sort -n | tail -30\n")
        assert shown.split("\n")[:21] == [str(number) for number in range(index, index + 21)]
        assert shown.split("\n")[21].endswith(PROMPTS)
        took.append(seconds)
    assert sorted(took)[10] < 0.05 * SLOW


@pytest.fixture
def load() -> Iterator[None]:
    """More work than the machine has cores."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    yield
    for one in busy:
        one.kill()
        one.wait()


@pytest.mark.usefixtures("load")
def test_it_is_not_cut_off_on_a_loaded_machine(anything: Sandbox) -> None:
    for index in range(30):
        shown, _ = _type(anything, f"clear; sleep 0.0{index % 10}; echo a{index}; /bin/echo b{index} | cat\r")
        assert shown.split("\n")[:2] == [f"a{index}", f"b{index}"]
        assert shown.split("\n")[2].endswith(PROMPTS)


def test_a_command_that_takes_time_is_waited_for(anything: Sandbox) -> None:
    _type(anything, "")
    shown, seconds = _type(anything, "sleep 0.7; echo done$((1+1))\n")
    assert "done2" in shown
    assert seconds >= 0.7
    shown, seconds = _type(anything, "sleep 100\n", 0.5)
    assert 0.5 <= seconds < 0.5 + SLOW
    shown, _ = _type(anything, "\x03")
    assert shown.endswith(PROMPTS)
    shown, _ = _type(anything, "echo one; sleep 0.2; echo two\necho three\necho four; sleep 0.2\n")  # typed ahead
    assert shown.count("four") == 2
    assert shown.endswith(PROMPTS)


def test_keys_without_a_newline(anything: Sandbox) -> None:
    _type(anything, "")
    shown, seconds = _type(anything, "echo not ye")
    assert shown.endswith(("$ echo not ye", "# echo not ye"))
    assert seconds < SLOW
    assert "not yet" in _type(anything, "t\n")[0].split("\n")


def test_programs_that_wait_for_keys(anything: Sandbox) -> None:
    _type(anything, "")
    shown, seconds = _type(anything, "python3 -q\n")
    assert shown.endswith(">>>")
    assert seconds < 2 * SLOW
    shown, seconds = _type(anything, "6*7\n")
    assert shown.endswith("42\n>>>")
    assert seconds < SLOW
    assert _type(anything, "import time; time.sleep(0.5); print('slow' + 'ly')\n")[0].endswith("slowly\n>>>")
    assert _type(anything, "exit()\n")[0].endswith(PROMPTS)
    shown, seconds = _type(anything, "cat\n")
    assert seconds < SLOW
    assert _type(anything, "line\n")[0].count("line") == 2
    assert _type(anything, "\x04")[0].endswith(PROMPTS)
    shown, seconds = _type(anything, "read -p 'name? ' name\n")
    assert shown.endswith("name?")
    assert seconds < SLOW
    assert "hello me" in _type(anything, "me\necho hello $name\n")[0]


def test_the_shell_ends_and_another_comes(anything: Sandbox) -> None:
    _type(anything, "x=1")
    _, seconds = _type(anything, "\x15exit\n")
    assert seconds < SLOW
    assert _type(anything, "echo new$x\n")[0].split("\n")[-2] == "new"


def test_a_background_job_does_not_count(anything: Sandbox) -> None:
    _type(anything, "")
    shown, seconds = _type(anything, "sleep 100 &\n")
    assert shown.endswith(PROMPTS)
    assert seconds < SLOW
    until(lambda: [process.args for process in anything.processes()] == [("sleep", "100")], SLOW)
