"""The command line as its own process: entry points, exit codes, plain output, a real terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODULE = [sys.executable, "-m", "agentworld_envs.cli"]


def run(*arguments: object, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [*MODULE, *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False)


def test_output_in_a_pipe_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for arguments in (["list"], ["rollout", "TextWorld", "-n", "20", "--record", path], ["replay", path, "--show"]):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
        assert not any(character in done.stdout + done.stderr for character in "\x1b\r\x08")
    assert str(path) in run("rollout", "TextWorld", "-n", "1", "--record", path).stdout


def test_a_user_error_is_one_message_on_stderr() -> None:
    done = run("rollout", "TextWrld")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: Unknown environment id 'TextWrld'.")
    assert done.stderr.count("\n") == 1


def test_play_by_pipe() -> None:
    done = run("play", "text_world", stdin="look\n:quit\n")
    assert done.returncode == 0
    assert "Left after 1 steps" in done.stdout


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_there_is_one_clear_line(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from agentworld_envs.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == f"The agentworld command needs {missing}: pip install 'agentworld-envs[cli]'\n"


def test_importing_the_package_or_its_agents_loads_nothing_heavy() -> None:
    heavy = ("typer", "rich", "torch", "transformers", "aiohttp")
    code = f"import sys, agentworld_envs, agentworld_envs.agents; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")
def test_ctrl_c_prints_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    command = [*MODULE, "rollout", "TextWorld", "--agent", "random", "-n", "100000", "--record", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (path.exists() and path.stat().st_size > 100_000) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "of 100000, interrupted" in out
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")
@pytest.mark.parametrize("columns", [80, 120])
def test_in_a_terminal_nothing_is_wider_than_it(columns: int) -> None:
    import pty

    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"}
    for arguments in (["list"], ["doctor"], ["rollout", "TextWorld", "-n", "3"], ["rollout", "--help"]):
        parent, child = pty.openpty()
        process = subprocess.Popen([*MODULE, *arguments], stdout=child, stderr=subprocess.DEVNULL, env=environment)
        os.close(child)
        output = b""
        while True:
            try:
                part = os.read(parent, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
            if not part:
                break
            output += part
        os.close(parent)
        assert process.wait(timeout=60) == 0
        lines = re.sub(r"\x1b\[[0-9;]*m", "", output.decode()).replace("\r", "").splitlines()
        assert lines
        assert max(len(line.rstrip()) for line in lines) <= columns, arguments
