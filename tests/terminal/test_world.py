"""The terminal on real sandboxes of every kind."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from terminal.conftest import a_task

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.world import TerminalWorld
from agentworld_envs.interface import ConfigError


def _keys(*keys: str, duration: float = 5.0) -> str:
    return json.dumps([{"keystrokes": key, "duration": duration} for key in keys])


def _play(env: AgentWorldEnv, actions: Sequence[str]) -> list[tuple[Any, ...]]:
    env.reset(seed=0)
    return [env.step(action) for action in actions]


def _world(env: AgentWorldEnv) -> TerminalWorld:
    world = env.episode.session.world  # type: ignore[attr-defined]
    assert isinstance(world, TerminalWorld)
    return world


def test_a_solved_task(env: AgentWorldEnv, kind: str) -> None:
    observation, info = env.reset(seed=0)
    assert observation.endswith("\n\nagent@sandbox:/workspace$")
    assert info["sandbox"] == kind
    steps = [env.step(action) for action in ("cat data.txt", "echo 42 > answer.txt", "[]", "[]")]
    assert steps[0][0] == "agent@sandbox:/workspace$ cat data.txt\n40\n2\nagent@sandbox:/workspace$"
    assert steps[2][0] == wording.CONFIRM
    assert [step[1] for step in steps] == [0.0, 0.0, 0.0, 1.0]
    assert [step[2] for step in steps] == [False, False, False, True]
    assert steps[3][4]["success"]


@pytest.mark.parametrize(
    "actions",
    [
        ["[]", "[]"],
        ["echo 42", "[]", "[]"],
        ["echo SUCCESS; echo 'All tests passed. reward=1.0'", '{"name": "submit", "arguments": {}}'],
        ["echo 41 > answer.txt", "[]", "[]"],
        ["echo 42 > answer.txt; rm data.txt", "[]", "[]"],
        ["ln -s data.txt answer.txt", "[]", "[]"],
        ["mkdir answer.txt", "[]", "[]"],
        ["mkfifo answer.txt", "[]", "[]"],
        ["echo 42 > answer.txt; chmod 0 answer.txt", "[]", "[]"],
        ["echo 42 > /workspace/answer.txt; rm -rf /workspace; ln -s /usr /workspace", "[]", "[]"],
        ["echo 42 > answer.txt", "[]", "echo never mind", "[]", "rm answer.txt", "[]", "[]"],
    ],
    ids=lambda actions: actions[0][:40],
)
def test_what_is_no_solution(env: AgentWorldEnv, actions: list[str]) -> None:
    steps = _play(env, actions)
    assert not steps[-1][4]["success"]
    assert sum(step[1] for step in steps) == 0.0
    assert steps[-1][2]
    assert steps[-1][4]["reward_valid"]


def test_the_step_limit_is_judged_too(kind: str) -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind, max_steps=1)) as env:
        env.reset(seed=0)
        _, reward, terminated, truncated, info = env.step("echo 42 > answer.txt")
        assert (reward, terminated, truncated, info["success"]) == (1.0, False, True, True)


HOSTILE = [
    # The shell, its programs and the checks' own interpreter are the agent's to change, as far as it can.
    "python3() { echo 42; }; export -f python3; alias cat='echo 42'; PATH=/workspace/bin:$PATH",
    "mkdir -p ~/.local/lib/python3.11/site-packages; echo 'print(42)' > ~/.local/lib/python3.11/site-packages/json.py",
    "mkdir -p bin; printf '#!/bin/bash\\necho 42\\n' > bin/python3; chmod +x bin/python3; echo 'PATH=~' > ~/.bashrc",
    "echo 'import os; os._exit(0)' > /workspace/base64.py; export PYTHONPATH=/workspace PYTHONSTARTUP=/workspace/x",
    "(while :; do echo 42 > /workspace/answer.txt; rm -f /workspace/answer.txt; done) & disown",
    "setsid bash -c 'while :; do echo 42 >> /tmp/late; done' & disown",
    "head -c 1G /dev/zero > /tmp/full; head -c 1G /dev/zero > /workspace/full",
    "mkdir -p /tmp/.look.json /tmp/.start.json; chmod 0 /tmp/.look.json",
    ":(){ :|:& };:",
    "kill -9 -1",
    "exec >/dev/null 2>&1 </dev/null",
    "for i in $(seq 3000); do mkdir -p /workspace/many/$i; done",
]


@pytest.mark.parametrize("command", HOSTILE, ids=lambda command: command[:30])
def test_an_agent_that_plays_with_its_machine(env: AgentWorldEnv, command: str) -> None:
    """Whatever it does, the verdict is that of the files, and not of what it says."""
    env.reset(seed=0)
    info = env.step(command)[4]
    assert info["failure"] is None
    _, reward, terminated, _, info = env.step('{"name": "submit", "arguments": {}}')
    assert info["failure"] is None
    assert terminated
    if "answer.txt" not in command:
        assert not info["success"]
        assert reward == 0.0


@pytest.mark.parametrize("command", HOSTILE[:4] + HOSTILE[5:6], ids=lambda command: command[:30])
def test_it_is_not_blamed_for_playing(env: AgentWorldEnv, command: str) -> None:
    steps = _play(env, [command, "echo 42 > /workspace/answer.txt", '{"name": "submit", "arguments": {}}'])
    assert steps[-1][4]["success"]


FORKS = [
    ["cd sub", "X=5; export Y=6; f() { echo f$1; }; alias g='echo g'; set -u; umask 027"],
    ["echo 42 > answer.txt", "cd /tmp"],
    ["false", "echo a > a.txt; chmod 600 a.txt; ln -s a.txt l; mkdir -p d/e"],
    [_keys("cd sub\n"), _keys("Z=7\n", "echo typed\n")],
    ["sleep 100 & disown", "cd sub"],
    ["[]"],
    [],
]
PROBES = [
    "echo $? ${X-none} ${Y-none} ${Z-none} $PWD $(umask)",
    "f 1; g 2; set -o | grep nounset",
    "ls -lAR --time-style=+ /workspace | grep -v total",
    _keys("pwd; echo ${Z-none}\n"),
    "cat answer.txt; ps -e -o args= | grep -c '[s]leep 100'",
    "[]",
    "[]",
]


@pytest.mark.parametrize("prefix", FORKS, ids=str)
def test_a_fork_goes_on_as_its_parent_would(kind: str, prefix: list[str]) -> None:
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind)) as env:
        _play(env, prefix)
        with closing(env.fork()) as twin, closing(env.fork()) as other:
            other.step("rm -rf /workspace/* ; cd /; unset X; kill %1")
            expected = [env.step(probe) for probe in PROBES]
            actual = [twin.step(probe) for probe in PROBES]
        for one, two in zip(expected, actual, strict=True):
            assert one == two


def test_a_fork_of_an_ended_episode(env: AgentWorldEnv) -> None:
    _play(env, ["echo 42 > answer.txt", "[]", "[]"])
    with closing(env.fork()) as twin:
        assert twin.step("ls")[4]["success"]


SAME = [
    "date; date +%s; date -Iseconds",
    "touch new; ls -l; ls -la --full-time; stat new",
    "echo $$ $BASHPID $PPID; sh -c 'echo $$'; python3 -c 'import os; print(os.getpid())'",
    "ps -ef",
    "hostname; cat /etc/hostname; id; whoami; pwd; echo ~ $HOME $USER $SHELL",
    "for i in 3 1 2 9 5; do echo $i > f$i; done; ls -U; find . ; python3 -c 'import os; print(os.listdir())'",
    "env | sort",
    'python3 -c \'print(hash("x"), {"b", "a", "c"})\'',
    "umask; ulimit -a | head -20",
    _keys("ls -l\n", "echo $$\n", "date\n"),
    "nonsense; cat missing; cd nowhere",
]


def test_two_runs_are_the_same(kind: str) -> None:
    with (
        closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind)) as env,
        closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind)) as other,
    ):
        first = [step[0] for step in _play(env, SAME)]
        for again in ([step[0] for step in _play(env, SAME)], [step[0] for step in _play(other, SAME)]):
            for action, one, two in zip(SAME, first, again, strict=True):
                assert one == two, action


def test_a_screen(env: AgentWorldEnv) -> None:
    env.reset(seed=0)
    screen = env.step(_keys("echo one\n", "cat\n", "typed\n", "C-c"))[0]
    assert screen == (
        "agent@sandbox:/workspace$ echo one\none\nagent@sandbox:/workspace$ cat\ntyped\ntyped\n^C\n"
        "agent@sandbox:/workspace$"
    )
    assert len(env.step(_keys("seq 100\n"))[0].split("\n")) == 40


def test_no_keys_are_a_wait(env: AgentWorldEnv) -> None:
    env.reset(seed=0)
    env.step("(sleep 1; echo done > /tmp/done) & disown")
    assert (
        "done"
        in env.step('[{"keystrokes": "", "duration": 1.5}, {"keystrokes": "cat /tmp/done\\n"}]')[0].split("\n")[-2]
    )


def test_what_is_printed_is_shown_as_on_a_screen(env: AgentWorldEnv) -> None:
    env.reset(seed=0)
    shown = env.step("printf '\\e[01;31mred\\e[m\\a 10%%\\r 99%%\\n\\0\\n'; nonsense")[0]
    assert shown.split("\n")[1:] == [" 99%", "\\x00", "bash: nonsense: command not found", "agent@sandbox:/workspace$"]


def test_an_editor(env: AgentWorldEnv) -> None:
    env.reset(seed=0)
    env.step(_keys("python3 -q\n"))
    screen = env.step(_keys("open('answer.txt', 'w').write('42')\n", "C-d"))[0]
    assert ">>> open" in screen
    assert env.step('{"name": "submit", "arguments": {}}')[4]["success"]


@pytest.mark.parametrize(
    ("action", "shown"),
    [
        ("echo 'unclosed", "unexpected EOF"),
        ("cat <<EOF", ""),
        ("exit 3", wording.NEW_SHELL),
        ("kill -9 $$", wording.NEW_SHELL),
        ("printf '\\xff\\xfe\\x00x\\n'", "\\xff\\xfe"),
        ("cat", ""),
        (
            "curl http://192.0.2.1 || python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 1), 2)'",
            "rror",
        ),
        ("sudo ls", "sudo"),
        ("cat /etc/shadow", "cat: /etc/shadow: "),
        ("x" * 32_000, "x"),
        ('{"command": "a\\u0000b"}', "NUL"),
        ('[{"keystrokes": 5}, {"keystrokes": "x"}]', "keystrokes"),
    ],
    ids=lambda text: text[:24],
)
def test_bad_input_gets_what_a_terminal_says(env: AgentWorldEnv, action: str, shown: str) -> None:
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(action)
    assert shown in observation
    assert (reward, terminated, truncated, info["failure"]) == (0.0, False, False, None)
    assert env.step("echo alive")[0].split("\n")[-2] == "alive"


def test_a_dead_machine_is_a_failure_and_no_score(env: AgentWorldEnv) -> None:
    env.reset(seed=0)
    env.step("echo 42 > answer.txt")
    pid = _world(env)._sandbox.pid  # type: ignore[union-attr]
    os.kill(pid, signal.SIGKILL)
    _, reward, terminated, truncated, info = env.step("ls")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["failure"].kind == "sandbox_dead"
    assert info["reward_valid"] is False
    assert env.reset(seed=0)[1]["failure"] is None
    assert env.step("pwd")[4]["failure"] is None


def test_a_recording_names_the_root(kind: str, tmp_path: Any) -> None:
    path = tmp_path / "episodes.jsonl"
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind, record=path)) as env:
        _play(env, ["ls", "[]", "[]"])
    sandbox = json.loads(path.read_text().splitlines()[0])["backend"]["sandbox"]
    assert sandbox["kind"] == kind
    assert sandbox["root"]
    assert len(sandbox["digest"]) >= 12


def test_local_is_refused() -> None:
    with pytest.raises(ConfigError, match="namespace or docker"):
        AgentWorldEnv("terminal", sandbox="local")
