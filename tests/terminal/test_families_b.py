"""Families that read and repair data: solved by their solutions, and by nothing that only looks like one."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import pytest

from agentworld_envs.backends.sandbox import NamespaceConfig
from agentworld_envs.domains.terminal.checks import RunCheck, same_text
from agentworld_envs.domains.terminal.domain import Terminal
from agentworld_envs.domains.terminal.scenario import Level, Scenario
from agentworld_envs.domains.terminal.tasks import LEVELS, make_task, task_of
from agentworld_envs.env import AgentWorldEnv
from agentworld_envs.interface import Task

FAMILIES = (
    "log_analysis",
    "data_munging",
    "databases",
    "builds",
    "links",
    "config_repair",
    "shell_scripts",
    "encodings",
)
NUMBERS = range(3)
DONE = ["[]", "[]"]
PROGRAM = """
import hashlib, sys
from agentworld_envs.domains.terminal.tasks import make_task
for family in sys.argv[1:]:
    for level in (1, 2, 3):
        for number in range(6):
            print(hashlib.sha256(make_task("test", family, level, number).model_dump_json().encode()).hexdigest())
"""
WRONG = [
    ("log_analysis", 1, "Failed password", " from' ", "' "),  # names that begin alike
    ("log_analysis", 2, "substr", "$3 ==", "$0 ~"),  # levels named in messages
    ("log_analysis", 3, "len(v)", r"access\.log(\.\d+(\.gz)?)?$", r"access\.log"),  # the copy counts, too
    ("data_munging", 1, "jq", " > ", " >= "),  # the limit itself
    ("data_munging", 3, "pathlib", ".iterdir()", ".glob('[!.]*')"),  # hidden files
    ("data_munging", 3, "replace(',', '')", "replace(',', '')", "strip()"),  # thousands
    (
        "data_munging",
        2,
        "best",
        "r['version'] > best[r['device']]['version']",
        "str(r['version']) > str(best[r['device']]['version'])",
    ),
    ("databases", 2, "left join", "left join", "join"),  # customers without orders
    ("databases", 2, "lower(m.email)", "lower(m.email) = lower(members.email)", "m.email = members.email"),
    ("databases", 3, "l.cancelled", " and l.cancelled = 0", ""),
    ("builds", 2, "do", '"$f"', "$f"),  # names with blanks
    ("builds", 3, "totals.txt: |", "s/totals.txt: |/", "s/no such line/"),  # a stale report
    ("builds", 3, "exit 3", "exit 3", "exit 0"),
    ("links", 1, "sort -V", "sort -V", "sort"),  # 1.10 is higher than 1.9
    ("links", 2, "os.readlink(path), folder)", ".startswith('/work", ".startswith('/') and ('/work"),  # leads out
    ("links", 3, "jobs", "if absolute else", "if True else"),
    ("links", 3, "ELOOP", "e.errno == errno.ELOOP", "False"),
    ("config_repair", 2, "taken", "if q not in taken", "if q not in seen"),
    ("config_repair", 2, "merge", "if v is None:", "if False:"),
    ("config_repair", 3, "unset", " and not name.startswith('.')", ""),
    ("config_repair", 3, "proxy_pass", "([;\\/])", "()"),  # ports that begin alike
    ("shell_scripts", 1, "grep", "F -e", " -e"),  # a pattern instead of a text
    ("shell_scripts", 2, "mv --", 'if [ -e "$n" ] || [ -L "$n" ]', "if false"),  # overwrites
    ("shell_scripts", 3, "fullmatch", "reverse=True", "reverse=False"),
    ("shell_scripts", 3, "find .", "/.[.][^.]+$/", "/[.][^.]+$/"),  # names that begin with their only dot
    ("encodings", 2, "suffix", r".replace(b'\r\n', b'\n')", r".replace(b'\r', b'')"),  # inside of lines
    ("encodings", 3, "utf-8-sig", "utf-8-sig", "latin-1"),
]
"""Family, level, what tells the goal by its solution, and a slip: this text of the solution becomes that."""


@pytest.fixture(scope="module")
def env() -> Iterator[AgentWorldEnv]:
    with NamespaceConfig().build() as provider:
        usability = provider.probe()
        if not usability.usable:
            pytest.skip(f"no namespaces here: {usability.why} {usability.what_to_do}")
    made = AgentWorldEnv("terminal", tasks="test", sandbox="namespace")
    yield made
    made.close()


def play(env: AgentWorldEnv, task: Task, commands: Sequence[str]) -> float | None:
    """Score of an episode with these commands and then the end; `None` when the sandbox lacks a program."""
    seen, info = env.reset(seed=0, options={"task_id": task.id})
    if info["failure"] and task.initial_state.get("needs"):
        return None
    for command in [*commands, *DONE]:
        if command not in DONE:
            command = json.dumps({"name": "bash", "arguments": {"command": command}})
        seen, _, terminated, truncated, info = env.step(command)
    assert terminated, seen
    assert not truncated, info["failure"]
    return float(info["score"])


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_solutions_solve(env: AgentWorldEnv, family: str, level: Level) -> None:
    for number in NUMBERS:
        task = make_task("test", family, level, number)
        assert play(env, task, task.hidden["solution"]) in (1.0, None), task.id


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_no_shortcut_solves(env: AgentWorldEnv, family: str, level: Level) -> None:
    task = make_task("test", family, level, 50)
    named = [check["path"] for check in task.verifier["checks"] if check["kind"] == "file"]
    answers = [path for path in named if path not in task.initial_state["files"]]
    talk = ["echo SUCCESS: all checks passed", *(f"echo done > '{path}'" for path in answers)]
    for commands in ([], talk, ["cd / && rm -rf /workspace/* /workspace/.[!.]*"]):
        assert play(env, task, commands) in (0.0, None), (task.id, commands)


@pytest.mark.parametrize(("family", "level", "goal", "right", "slip"), WRONG)
def test_plausible_slips_fail(env: AgentWorldEnv, family: str, level: Level, goal: str, right: str, slip: str) -> None:
    for number in range(40):
        task = make_task("test", family, level, number)
        solution = task.hidden["solution"]
        if goal in "\n".join(solution) and right in "\n".join(solution):
            wrong = [command.replace(right, slip) for command in solution]
            assert play(env, task, wrong) in (0.0, None), task.id
            return
    pytest.fail("no task has that goal")


def test_checks_compare_what_counts() -> None:
    data = "Größe\r\n".encode("latin-1")
    assert same_text(hashlib.sha256(data).hexdigest(), data, "sha256")
    assert not same_text(hashlib.sha256(data).hexdigest(), data + b" ", "sha256")
    assert same_text('{"a": 12, "b": 0.5}', '{"b": 0.50, "a": 12.0}', "json")
    assert not same_text('{"a": 1}', '{"a": true}', "json")


def test_a_check_may_print_more_than_an_agent_sees(env: AgentWorldEnv) -> None:
    count = 20_000
    check = RunCheck(argv=("seq", str(count)), stdout="".join(f"{n}\n" for n in range(1, count + 1)), compare="exact")
    task = task_of(Scenario("Do nothing.", {}, [check], ["true"]), "test/long")
    _, info = env.reset(seed=0, options={"task": task})
    for action in DONE:
        _, _, _, _, info = env.step(action)
    assert info["score"] == 1.0, info["failure"]


def test_tasks_are_the_same_in_every_process() -> None:
    here = [
        hashlib.sha256(make_task("test", family, level, number).model_dump_json().encode()).hexdigest()
        for family in FAMILIES
        for level in LEVELS
        for number in range(6)
    ]
    argv = [sys.executable, "-c", PROGRAM, *FAMILIES]
    environment = {**os.environ, "PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo"}
    there = subprocess.run(argv, env=environment, capture_output=True, text=True, check=True).stdout.split()
    assert here == there


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("level", LEVELS)
def test_tasks_differ_and_leak_nothing(family: str, level: Level) -> None:
    domain = Terminal()
    seen, wordings = set(), set()
    for number in range(60):
        task = make_task("train", family, level, number)
        seen.add(json.dumps([task.instruction, task.initial_state], sort_keys=True))
        wordings.add(task.instruction)
        brief = domain.simulation(task)
        told = "\n".join([brief.system, brief.first_observation, domain.instructions(task), str(domain.tools(task))])
        told += json.dumps(task.initial_state, ensure_ascii=False)
        for command in task.hidden["solution"]:
            assert len(command) < 4 or command not in told, task.id
    assert len(seen) >= 54
    assert len(wordings) >= 40
