"""Ways to be paid without having done the task, and ways to turn a bad result into an invalid one. None works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import pytest
from terminal.conftest import a_task

from agentworld_envs import AgentWorldEnv
from agentworld_envs.interface import Task

SUBMIT = '{"name": "submit", "arguments": {}}'
REWARD = "/logs/verifier/reward.txt"


def _with(*checks: dict[str, Any]) -> Task:
    return a_task(verifier={"checks": list(checks)})


def _play(kind: str, task: Task, actions: Sequence[str]) -> tuple[float, dict[str, Any]]:
    with closing(AgentWorldEnv("terminal", tasks=[task], sandbox=kind)) as env:
        env.reset(seed=0)
        total = 0.0
        for action in (*actions, SUBMIT):
            _, reward, _, _, info = env.step(action)
            total += float(reward)
        assert info["failure"] is None
        return total, info


def _script(text: str, name: str = "test.sh") -> dict[str, Any]:
    return {
        "kind": "run",
        "argv": ["bash", f"/tests/{name}"],
        "files": {f"/tests/{name}": text},
        "isolated": True,
        "timeout_s": 3.0,
    }


GRADED = _script(
    f"mkdir -p /logs/verifier; grep -qx 42 /workspace/answer.txt && echo 1 > {REWARD} || echo 0 > {REWARD}\n"
    "bash /workspace/prog.sh\n"
) | {"reward_file": REWARD}


@pytest.mark.parametrize(
    "action",
    [
        f"mkdir -p /logs/verifier; echo 1 > {REWARD}; chmod 444 {REWARD}; chmod 555 /logs/verifier",
        f"mkdir -p /logs/verifier; echo 1 > {REWARD}; echo 'sleep 100' > prog.sh",
        f"echo '(sleep 0.3; echo 1 > {REWARD}) & disown; exit 0' > prog.sh",
        f"ln -s /tmp /logs/verifier; echo 1 > /tmp/reward.txt; mkdir /tmp/x; ln -s {REWARD} /tmp/y",
        f"mkdir -p {REWARD}/deep",
        "mkdir -p /tests/test.sh; touch /tests/test.sh/x; chmod 0 /tests/test.sh /tests",
        "rmdir /logs; ln -s /workspace /logs/verifier",
    ],
)
def test_a_reward_file_of_ones_own(kind: str, action: str) -> None:
    total, info = _play(kind, _with(GRADED), [action])
    assert total == 0.0
    assert not info["success"]


def test_the_reward_file_of_the_test_counts(kind: str) -> None:
    total, info = _play(kind, _with(GRADED), ["echo 42 > answer.txt; echo : > prog.sh"])
    assert total == 1.0
    assert info["success"]


PYTHON = _script("python3 /tests/t.py") | {
    "files": {"/tests/test.sh": "python3 /tests/t.py", "/tests/t.py": "import json\nassert 0\n"}
}


@pytest.mark.parametrize(
    "action",
    [
        "echo 'import os; os._exit(0)' > /tests/json.py",
        "for v in 9 10 11 12 13; do d=~/.local/lib/python3.$v/site-packages; mkdir -p $d; "
        "echo 'import os; os._exit(0)' > $d/usercustomize.py; done",
        "echo 'import os; os._exit(0)' > json.py; cp json.py sitecustomize.py; export PYTHONPATH=/workspace",
    ],
)
def test_modules_of_ones_own(kind: str, action: str) -> None:
    assert _play(kind, _with(PYTHON), [action])[0] == 0.0


TREE = {"kind": "tree", "path": "/workspace", "files": {"data.txt": None, "sub/x.sh": None}}


@pytest.mark.parametrize(
    "action",
    [
        "mkdir .git; echo junk > .git/junk",
        "mkdir d; echo junk > d/junk; chmod 0 d",
        "p=$(printf 'x%.0s' $(seq 200)); for i in $(seq 25); do mkdir $p; cd $p; done; echo junk > junk",
        "mkfifo pipe",
        "ln -s /proc p",
        "touch $'new\\nline' $'\\xff\\xfe'",
    ],
)
def test_what_is_too_much_in_a_tree(kind: str, action: str) -> None:
    assert _play(kind, _with(TREE), [])[0] == 1.0
    assert _play(kind, _with(TREE), [action])[0] == 0.0


def test_what_an_earlier_check_started_does_not_see_a_later_one(kind: str) -> None:
    first = {"kind": "run", "argv": ["bash", "s.sh"], "stdout": "hi"}
    second = {"kind": "run", "argv": ["bash", "-c", "sleep 0.6; cat x"], "stdout": "evil"}
    script = 'echo "echo hi; (setsid bash -c \\"sleep 0.2; echo evil > /workspace/x\\" >/dev/null 2>&1) &" > s.sh'
    assert _play(kind, _with(first, second), [script])[0] == 0.0


@pytest.mark.parametrize(
    ("task", "action"),
    [
        (a_task(), "for fd in /proc/$$/fd/*; do echo x > $fd; done 2>/dev/null"),
        (a_task(), "echo x >&11; echo x >&200; echo x >&201; echo x >&202"),
        (a_task(), "echo \ud800"),
        (a_task(), json.dumps([{"keystrokes": "\ud800"}, {"keystrokes": "x"}])),
        (_with({"kind": "tree", "path": "/workspace/p", "files": {}}), "ln -s /proc p"),
        (_with(TREE), 'python3 -c \'import os; [open(b"\\xff" * 240 + str(i).encode(), "w") for i in range(8000)]\''),
        (a_task(), "rm -rf /workspace ~ /tmp/*; ulimit -f 0; kill -9 -1"),
        (a_task(), "mkdir -p /tests/a /logs/b; chmod -R 0 /tests /logs /workspace /home/agent /tmp"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_no_mess_makes_a_bad_result_invalid(kind: str, task: Task, action: str) -> None:
    total, info = _play(kind, task, [action])
    assert total == 0.0
    assert info["reward_valid"]
    assert not info["success"]
