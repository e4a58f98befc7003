"""Families about files, text and history: each task can be solved, and only by doing what it asks."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from terminal.trial import SPLIT, first, score, solution, success_texts, task, told

from agentworld_envs.backends.sandbox import NamespaceConfig
from agentworld_envs.env import AgentWorldEnv

FAMILIES = (
    "find_files",
    "text_processing",
    "permissions",
    "archives",
    "git_history",
    "processes",
    "scheduling",
)
CELLS = [(family, level) for family in FAMILIES for level in (1, 2, 3)]
SOLVED = 2
"""Tasks of each family and level that are solved here."""


@pytest.fixture(scope="module")
def env() -> Iterator[AgentWorldEnv]:
    provider = NamespaceConfig().build()
    with provider:
        usability = provider.probe()
    if not usability.usable:
        pytest.skip(f"no namespaces here: {usability.why} {usability.what_to_do}")
    made = AgentWorldEnv("terminal", tasks=SPLIT, sandbox="namespace")
    yield made
    made.close()


@pytest.mark.parametrize(("family", "level"), CELLS)
def test_solutions_solve(env: AgentWorldEnv, family: str, level: int) -> None:
    for number in range(SOLVED):
        played = task(family, level, number)
        assert score(env, played, solution(played)) == 1.0, played.id


@pytest.mark.parametrize(("family", "level"), CELLS)
def test_neither_nothing_nor_words_solve(env: AgentWorldEnv, family: str, level: int) -> None:
    played = task(family, level, 3 + level)
    assert score(env, played, []) == 0.0
    assert score(env, played, success_texts(played)) == 0.0


def _swap(old: str, new: str) -> Callable[[list[str]], list[str]]:
    return lambda commands: [command.replace(old, new) for command in commands]


def _killed(commands: list[str]) -> list[str]:
    return [commands[0], commands[1].replace("-TERM", "-KILL"), "sleep 0.2"]


def _worker_only(commands: list[str]) -> list[str]:
    """Ends the workers, which their keepers then start again."""
    return [
        commands[0],
        *(re.sub(r"keepe\[r\]", "worke[r]", c.partition("; while")[0]) for c in commands[1:]),
        "sleep 0.6",
    ]


WRONG = [
    ("find_files", 3, "mv -- ", _swap("${b// /", "${b/ /")),  # only the first blank
    (
        "find_files",
        3,
        "sha256sum",
        _swap('$(sha256sum < "./$f" | cut -c 1-64)', '$(wc -c < "./$f")'),
    ),  # as long is as good
    ("find_files", 2, "-delete", lambda commands: [commands[0], f"rm -r {commands[0].split()[1]}/*"]),
    (
        "text_processing",
        3,
        "csv.reader",
        _swap("csv.reader(open(name, newline=''))", "x.split(',') for x in open(name)"),
    ),
    ("text_processing", 3, "conf.d", _swap("conf.d/*.conf", "conf.d/*")),
    ("text_processing", 3, "/^$/ s/", lambda commands: [re.sub(r"'/.*/\^\$/ ", "'", commands[0])]),
    ("permissions", 2, "g+rX", _swap("g+rX", "g+rx")),
    ("permissions", 3, "head -n 1", _swap("-type f", "! -type d")),  # follows the link
    ("permissions", 2, "chmod", lambda commands: ["chmod -R 755 /workspace/*"]),
    ("archives", 3, "&& break", lambda commands: [re.sub(r"\[\[.*?&& break; ", "", commands[0])]),
    ("archives", 3, "/tmp/in", lambda commands: commands[:2]),
    ("archives", 3, "--owner=0", _swap(" --owner=0 --group=0", "")),
    ("git_history", 3, "filter-branch", _swap("-- --branches --tags", "-- HEAD")),
    ("git_history", 3, "--no-commit", lambda c: [c[0].replace("--no-commit", "--no-edit -X ours")]),
    (
        "git_history",
        2,
        "cherry-pick",
        lambda c: [re.sub(r"cherry-pick.*\$\(git log (\S+).*", r"merge -q --no-edit \1", c[0])],
    ),
    ("processes", 1, "kill -TERM", _killed),
    ("processes", 3, "keepe[r]", _worker_only),
    ("processes", 1, "HUP", lambda commands: [commands[0], commands[1].partition(" && ")[0]]),
    ("scheduling", 3, "month.txt", _swap("d or w if fs[2] != '*' and fs[4] != '*' else d and w", "d and w")),
    ("scheduling", 1, "s/^/#/", _swap("s/^/#/", "d")),
    ("scheduling", 3, "while (t in s)", _swap("while (t in s)", "if (t in s)")),
]


@pytest.mark.parametrize(("family", "level", "mark", "spoil"), WRONG, ids=[f"{w[0]}-{w[2]}" for w in WRONG])
def test_what_looks_right_is_wrong(
    env: AgentWorldEnv, family: str, level: int, mark: str, spoil: Callable[[list[str]], list[str]]
) -> None:
    played = first(family, level, lambda text: mark in text)
    spoilt = spoil(solution(played))
    assert spoilt != solution(played)
    assert score(env, played, spoilt) == 0.0, played.id


@pytest.mark.parametrize(("family", "level"), CELLS)
def test_nothing_gives_the_solution_away(family: str, level: int) -> None:
    for number in range(12):
        played = task(family, level, number)
        text = told(played)
        for command in solution(played):
            assert len(command) < 4 or command not in text, (played.id, command)


@pytest.mark.parametrize(("family", "level"), CELLS)
def test_tasks_differ(family: str, level: int) -> None:
    found = [task(family, level, number) for number in range(60)]
    assert len({(played.instruction, repr(played.initial_state)) for played in found}) >= 54


def _digest() -> str:
    tasks = [task(family, level, number) for family, level in CELLS for number in range(4)]
    return hashlib.sha256("\n".join(played.model_dump_json() for played in tasks).encode()).hexdigest()


def test_tasks_are_the_same_in_every_process() -> None:
    program = "from terminal.test_families_a import _digest; print(_digest())"
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == _digest() == _digest()
