"""Contradictions with the tracked state: never with a real shell, and always where a screen is certainly wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from terminal.conftest import a_task, need
from terminal.oracle import FOLLOWED, START, fill, some_forms
from terminal.trial import task

from agentworld_envs.backends.sandbox import SharedMachines
from agentworld_envs.domains.terminal import Terminal, wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.consistency import contradictions
from agentworld_envs.domains.terminal.entries import file
from agentworld_envs.domains.terminal.families import FAMILIES
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.start import prepare
from agentworld_envs.interface import Action

LOOKS = (
    "cat {0}",
    "ls",
    "ls -a {0}",
    "ls -la",
    "pwd",
    "head -n 2 {0}",
    "wc -l {0}",
    "cat {0} {1}",
    "stat {0}",
    "cd {0}",
)
"""Commands whose answers are compared with what is known."""


@pytest.fixture(scope="module")
def machines() -> Iterator[SharedMachines]:
    need("namespace")
    shared = SharedMachines("namespace")
    yield shared
    shared.close()


def is_found(belief: Belief, command: str, output: str, cwd: str) -> bool:
    """Whether another output would have been found wrong."""
    return bool(contradictions(belief, command, wording.turn("/workspace", command, output, cwd)))


def run_forms(machines: SharedMachines, seed: int, *, followed: bool = False) -> int:
    """Run some forms, each followed by looks, in a real shell. Gives how many answers were compared."""
    rng = np.random.default_rng([9, seed])
    belief, cwd, compared, trail = Belief.at_start(START), START.cwd, 0, []
    with machines.take() as sandbox:
        prepare(sandbox, START)
        for form in [str(form) for form in rng.choice(FOLLOWED, size=6)] if followed else some_forms(seed, 6, rng):
            for each in (form, *(str(look) for look in rng.choice(LOOKS, size=3, replace=False))):
                command = fill(each, rng)
                trail.append(command)
                result = sandbox.run(command, 2.0, merge_stderr=True)
                screen = wording.turn(cwd, command, wording.plain(result.stdout), result.cwd or cwd)
                cwd = result.cwd or cwd
                found = contradictions(belief, command, screen)
                assert found == [], f"{trail}: {found}\n{screen}"
                output = wording.plain(result.stdout)
                if is_found(belief, command, "something else\n", cwd):
                    compared += 1
                    complains = "cat: " in output
                    if not complains and each in ("pwd", "cat {0}", "cat {0} {1}"):
                        assert is_found(belief, command, f"{output}one line more\n", cwd), f"{trail}: {output}"
                        assert not output or is_found(belief, command, "", cwd), f"{trail}: {output}"
                belief.run(command, screen)
            if not belief.certain:
                break
    return compared


@pytest.mark.parametrize("seed", range(24))
def test_a_real_shell_never_contradicts(machines: SharedMachines, seed: int) -> None:
    run_forms(machines, seed)


def test_and_many_of_its_answers_are_compared(machines: SharedMachines) -> None:
    assert sum(run_forms(machines, seed, followed=True) for seed in range(100, 106)) > 15


def run_expert(machines: SharedMachines, family: str, level: int) -> None:
    """Play a family's solution on a real machine, looking around after each command."""
    domain = Terminal()
    domain.machines = machines
    played = task(family, level, 0)
    tracker = domain.tracker(played)
    files = sorted(played.initial_state.get("files", {}))[:4]
    looks = ["ls -la", *(f"cat {shlex.quote(path)}" for path in files)]
    with closing(domain.world(played)) as world:
        world.reset()
        for command in [*looks, *(c for step in played.hidden["solution"] for c in (step, "ls", *looks[:3]))]:
            action = Action("bash", {"command": command}, command)
            screen = world.act(action)
            found = tracker.contradictions(action, screen)
            assert found == [], f"{command}: {found}\n{screen}"
            assert len(tracker.recall(action, 1500)) <= 1500
            tracker.observe(action, screen)


@pytest.mark.parametrize("family", FAMILIES)
def test_experts_never_contradict(machines: SharedMachines, family: str) -> None:
    for level in (1, 2, 3):
        run_expert(machines, family, level)


def screen_of(command: str, output: str, after: str = "/workspace") -> str:
    return wording.turn("/workspace", command, output, after)


@pytest.mark.parametrize(
    ("command", "right", "wrong", "says"),
    [
        ("cat a.txt", "one\ntwo\n", "one\nthree\n", "prints 'two' in line 2; the answer has 'three'"),
        ("cat a.txt", "one\ntwo\n", "one\n", "the answer has nothing"),
        ("cat a.txt", "one\ntwo\n", "", "the answer has nothing"),
        ("cat a.txt", "one\ntwo\n", "cat: a.txt: No such file or directory\n", "prints 'one'"),
        ("cat a.txt b.txt", "one\ntwo\nthree\n", "three\none\ntwo\n", "prints 'one'"),
        ("cat ./d/../a.txt", "one\ntwo\n", "one\n", "the answer has nothing"),
        ("head -n 1 a.txt", "one\n", "head: cannot open 'a.txt' for reading: No such file or directory\n", "is there"),
        ("wc -l a.txt", "2 a.txt\n", "wc: a.txt: No such file or directory\n", "/workspace/a.txt is there"),
        ("cat nope", "cat: nope: No such file or directory\n", "hello\n", "/workspace/nope is not there"),
        ("cat nope", "cat: nope: No such file or directory\n", "", "/workspace/nope is not there"),
        (
            "ls d/nope",
            "ls: cannot access 'd/nope': No such file or directory\n",
            "x\n",
            "/workspace/d/nope is not there",
        ),
        ("cd nope", "bash: cd: nope: No such file or directory\n", "", "/workspace/nope is not there"),
        ("cd d/e", "", "bash: cd: d/e: No such file or directory\n", "/workspace/d/e is there"),
        (
            "ls",
            "a.txt\nb.txt\nd\nempty\nl\n",
            "a.txt\nd\nempty\nl\n",
            "/workspace/b.txt is there; the listing lacks it",
        ),
        ("ls", "a.txt  b.txt  d  empty  l\n", "a.txt\nb.txt\nd\nempty\nl\nzoo\n", "/workspace/zoo is not there"),
        ("ls -a d", ".\n..\nc.txt\ne\n", ".\n..\n", "/workspace/d/c.txt is there"),
        (
            "ls -l d",
            "total 4\n-rw-r--r-- 1 agent agent 5 Jan  5 09:00 c.txt\ndrwxr-xr-x 2 agent agent 60 Jan  5 09:00 e\n",
            "total 4\n-rw-r--r-- 1 agent agent 5 Jan  5 09:00 x.txt\ndrwxr-xr-x 2 agent agent 60 Jan  5 09:00 e\n",
            "/workspace/d/x.txt is not there",
        ),
        ("pwd", "/workspace\n", "/home/agent\n", "prints '/workspace'"),
        ("echo 'a  b' c", "a  b c\n", "a b c\n", "prints 'a  b c'"),
        ("printf 'x\\ny'", "x\ny", "xy\n", "prints 'x'"),
    ],
)
def test_what_is_certainly_wrong_is_found(command: str, right: str, wrong: str, says: str) -> None:
    belief = Belief.at_start(START)
    after = "/workspace/d/e" if command == "cd d/e" else "/workspace"
    assert contradictions(belief, command, screen_of(command, right, after)) == []
    found = contradictions(belief, command, screen_of(command, wrong, after))
    assert any(says in line for line in found), found


def test_a_wrong_folder_is_found() -> None:
    belief = Belief.at_start(START)
    assert contradictions(belief, "cd d", screen_of("cd d", "", "/workspace/d")) == []
    [line] = contradictions(belief, "cd d", screen_of("cd d", ""))
    assert line == "The prompt shows the folder /workspace; the shell is in /workspace/d."
    assert contradictions(belief, "mkdir x && cd x", screen_of("mkdir x && cd x", ""))
    assert contradictions(belief, "true", screen_of("true", "", "/tmp"))


@pytest.mark.parametrize(
    "command",
    ["cat x; cat y", "cat a.txt | sort", "cat a.txt > new", "cat *.txt", "cat $X", "ls | wc", "ls -R", "cat < a.txt"],
)
def test_what_takes_a_shell_to_know_is_not_judged(command: str) -> None:
    belief = Belief.at_start(START)
    assert contradictions(belief, command, screen_of(command, "anything\n")) == []


@pytest.mark.parametrize(
    "screen",
    ["", "one", "no prompt at all\n", "agent@sandbox:/workspace$", "bash: fork: Resource temporarily unavailable"],
)
def test_what_is_no_screen_is_not_judged(screen: str) -> None:
    assert contradictions(Belief.at_start(START), "cat a.txt", screen) == []


def test_what_was_changed_is_compared_as_changed() -> None:
    belief = Belief.at_start(START)
    for command in ("echo new > a.txt", "rm b.txt", "mkdir -p p/q", "sort d/c.txt > s.txt"):
        belief.run(command, "")
    assert contradictions(belief, "cat a.txt", screen_of("cat a.txt", "new\n")) == []
    assert contradictions(belief, "cat a.txt", screen_of("cat a.txt", "one\ntwo\n"))
    assert contradictions(belief, "cat b.txt", screen_of("cat b.txt", "three\n"))
    assert contradictions(belief, "ls", screen_of("ls", "a.txt\nb.txt\nd\nempty\nl\np\ns.txt\n"))
    assert contradictions(belief, "cat s.txt", screen_of("cat s.txt", "whatever\n")) == [], "its contents are not known"


def test_after_what_cannot_be_followed_nothing_is_judged() -> None:
    belief = Belief.at_start(START)
    belief.run("python3 x.py", screen_of("python3 x.py", ""))
    for command in ("cat a.txt", "ls", "pwd", "cd d"):
        assert contradictions(belief, command, screen_of(command, "whatever\n")) == []


def test_moments_in_files_are_not_compared() -> None:
    start = InitialState(files={"/workspace/log": file("2026-01-05 09:00:00 up\n1767603600 down\n")})
    belief = Belief.at_start(start)
    assert contradictions(belief, "cat log", screen_of("cat log", "2025-12-12 10:10:10 up\n1767603999 down\n")) == []
    assert contradictions(belief, "cat log", screen_of("cat log", "2026-01-05 09:00:00 up\n1767603600 up\n"))


def test_asking_changes_nothing() -> None:
    tracker = Terminal().tracker(a_task())
    action = Action("bash", {"command": "cd sub"}, "cd sub")
    before = (dict(tracker.belief.files), tracker.belief.cwd)
    assert tracker.contradictions(action, screen_of("cd sub", ""))
    assert tracker.recall(action, 4000)
    assert (tracker.belief.files, tracker.belief.cwd) == before
