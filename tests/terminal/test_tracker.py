"""What the tracker believes, against what a real shell does: wherever it claims to know, it has to be right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from terminal.oracle import FOLLOWED, FORMS, START, shell_sequence, some_forms, typed_sequence

from agentworld_envs.backends.sandbox import SharedMachines
from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.entries import file, link
from agentworld_envs.domains.terminal.keystrokes import Stroke
from agentworld_envs.domains.terminal.scenario import InitialState


@pytest.fixture(scope="module")
def machines() -> Iterator[SharedMachines]:
    shared = SharedMachines()
    yield shared
    shared.close()


@pytest.mark.parametrize("seed", range(30))
def test_what_it_knows_is_true(machines: SharedMachines, seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    wrong, _ = shell_sequence(machines, some_forms(seed, 6, rng), rng)
    assert wrong is None


@pytest.mark.parametrize("seed", range(12))
def test_what_it_knows_of_keystrokes_is_true(machines: SharedMachines, seed: int) -> None:
    rng = np.random.default_rng([8, seed])
    forms = [form for form in some_forms(seed, 4, rng) if "\n" not in form]
    wrong, _ = typed_sequence(machines, forms, rng)
    assert wrong is None


# Each of these was once believed to do what it does not do.
SLIPS = (
    "echo 'a'b > a.txt",
    "cat > 'b.txt' <<'EOF'\na\nEOF",
    "echo x > nope/../a.txt",
    "touch nope/../a2",
    "printf '-x' > a.txt",
    "printf -v PATH x; touch new",
    "HOME=/tmp; cd",
    "export CDPATH=/workspace/d; cd e",
    "PATH=/nope; touch new",
    "cd --",
    "cd //workspace",
    "sort a.txt --o=new",
    "sort -uo new a.txt",
    "file -C",
    "touch new/",
    "ln -s '' new",
    "chmod 000 a.txt; cp a.txt new",
    "chmod 444 a.txt; echo x > a.txt",
    "chmod 777 a.txt; cp a.txt new",
    "rm -rf d; mkdir -p d/e",
    "cat a.txt; sleep 40; touch new",
    "echo() { :; }; echo x > new",
    "alias touch=rm; touch a.txt",
    "umask 077; touch new",
    "echo x > l/c.txt",
    "cd ~; rm -rf /workspace",
    "printf '%n' PATH; touch new",
    "test -v 'a[$(touch new)]'",
    "mkdir -p 'sp ace'/x/y",
)


@pytest.mark.parametrize("command", SLIPS)
def test_it_slips_no_more(machines: SharedMachines, command: str) -> None:
    rng = np.random.default_rng(0)
    wrong, _ = shell_sequence(machines, [command.replace("{", "{{").replace("}", "}}"), "touch later"], rng)
    assert wrong is None


def test_it_follows_what_is_common() -> None:
    assert len(FOLLOWED) > 0.4 * len(FORMS)
    for command in (
        "mkdir -p out && cp a.txt out/ && cd out",
        "grep -rn 'one' . | sort -k2 -t: | head -n 3 > hits.txt",
        "printf '%s\\n' a 'b c' > list.txt; chmod +x list.txt",
        "cat > s.sh <<'EOF'\n#!/bin/sh\necho $1\nEOF\nchmod 755 s.sh  # done",
        "ls -la 2>/dev/null; [ -f a.txt ] && echo yes",
        "awk -F, '{s += $2} END {print s}' a.txt > sum.txt",
        "wc -l < a.txt > n.txt; mv n.txt d",
        "X=1; export Y='a b'; echo \"$X\" > x.txt",
    ):
        belief = Belief.at_start(START)
        belief.run(command, "")
        assert belief.certain, command


def test_it_follows_more_than_it_gives_up() -> None:
    belief = Belief.at_start(START)
    for command in ("mkdir -p out", "cp a.txt out/", "cd out", "echo 42 > answer.txt", "chmod 600 answer.txt", "cd .."):
        belief.run(command, "")
    facts = belief.facts(["/workspace/out/answer.txt"], ["/workspace/out"])
    assert facts["paths"]["/workspace/out/answer.txt"] == {"type": "file", "mode": "600", "data": b"42\n"}
    assert facts["trees"]["/workspace/out"] == ["/workspace/out/a.txt", "/workspace/out/answer.txt"]


def test_a_file_that_was_shown_is_known_again() -> None:
    belief = Belief.at_start(START)
    belief.run("sort a.txt > s.txt", "")
    assert not belief.look("/workspace/s.txt")[0]
    assert belief.look("/workspace/a.txt")[0]
    belief.run("cat s.txt", wording.turn("/workspace", "cat s.txt", "one\ntwo\n", "/workspace"))
    assert belief.look("/workspace/s.txt") == (True, {"type": "file", "mode": "644", "data": b"one\ntwo\n"})


@pytest.mark.parametrize("command", ["printf a | tr a b > s.txt", "head -c 3 a.txt > s.txt"])
def test_a_last_line_without_a_break_is_shown_with_one(command: str) -> None:
    belief = Belief.at_start(START)
    belief.run(command, "")
    belief.run("cat s.txt", wording.turn("/workspace", "cat s.txt", "b", "/workspace"))
    assert belief.certain
    assert not belief.look("/workspace/s.txt")[0]


@pytest.mark.parametrize(
    "command", ["f() { :; }", "alias echo=:", "source a.txt", "python3 x.py", "set -C", "exec 3>&1"]
)
def test_after_what_it_cannot_follow_commands_may_mean_anything(command: str) -> None:
    belief = Belief.at_start(START)
    belief.run(command, "agent@sandbox:/workspace$")
    belief.run("cd /workspace\nmkdir -p q\necho 3 > /workspace/q/out.txt", "agent@sandbox:/home/agent$")
    assert belief.facts(["/workspace/q/out.txt", "/workspace/a.txt"], ["/workspace"]) == {
        "paths": {},
        "trees": {},
        "runs": {},
    }
    assert belief.cwd == "/home/agent"


def _type(belief: Belief, *keys: str, seconds: float = 1.0) -> None:
    belief.type([Stroke(key, seconds) for key in keys])


def test_keystrokes_are_followed_line_by_line() -> None:
    belief = Belief.at_start(START)
    _type(belief, "echo 1 > /workspace/k.txt\n", "ls\n", "", "cd /workspace\necho 2 > j.txt\n")
    assert belief.look("/workspace/k.txt")[1] is not None
    assert belief.look("/workspace/j.txt")[1] is not None
    assert belief.cwd == "/workspace"
    _type(belief, "vim a.txt\n")
    assert not belief.look("/workspace/a.txt")[0]


@pytest.mark.parametrize(
    "keys",
    [
        ["echo 3 > /workspace/out.txt"],
        ["cat\n", "echo 3 > /workspace/out.txt\n"],
        ["sort\n", "echo 3 > /workspace/out.txt\n"],
        ["grep x\n", "echo 3 > /workspace/out.txt\n"],
        ["grep -e x\n", "echo 3 > /workspace/out.txt\n"],
        ["cat -\n", "echo 3 > /workspace/out.txt\n"],
        ["cat /dev/tty\n", "echo 3 > /workspace/out.txt\n"],
        ["sleep 20\n", "echo 3 > /workspace/out.txt\n"],
        ["echo 3 > /workspace/out.txt", "C-c"],
        ["C-c", "echo 3 > /workspace/out.txt\n"],
        ["Up", "echo 3 > /workspace/out.txt\n"],
        ["echo 3 > /workspace/out.txt\r"],
        ["echo 3 >\t/workspace/out.txt\n"],
        ["echo 3 > /workspace/out.txt", "\n"],
        ["less /workspace/a.txt\n", "echo 3 > /workspace/out.txt\n"],
        ["echo 'a\n", "echo 3 > /workspace/out.txt\n"],
        ["cat > /workspace/x <<'E'\n", "echo 3 > /workspace/out.txt\n"],
        ["true &&\n", "echo 3 > /workspace/out.txt\n"],
        ["echo 3 > /workspace/out.txt # a!b\n"],
        ["#" * 5000 + "\n", "echo 3 > /workspace/out.txt\n"],
    ],
    ids=lambda keys: repr(keys[0])[:30],
)
def test_keystrokes_that_may_go_elsewhere_are_not_followed(keys: list[str]) -> None:
    belief = Belief.at_start(START)
    _type(belief, *keys)
    _type(belief, "echo 4 > /workspace/out.txt\n")
    belief.run("echo 5 > /workspace/out.txt", "")
    assert not belief.look("/workspace/out.txt")[0]
    assert not belief.look("/workspace/a.txt")[0]
    assert belief.processes is None


def test_nothing_is_certain_right_after_typing() -> None:
    belief = Belief.at_start(START)
    _type(belief, "echo 1 > /workspace/k.txt\n", seconds=0)
    assert not belief.certain


@pytest.mark.parametrize("name", ["PATH", "HOME", "CDPATH", "BASH_ENV", "LD_PRELOAD", "POSIXLY_CORRECT"])
def test_variables_that_change_what_commands_mean(name: str) -> None:
    belief = Belief.at_start(InitialState(env={name: "/x"}))
    assert belief.processes is None
    belief = Belief.at_start(START)
    belief.run(f"export {name}=/x", "")
    assert not belief.certain


def test_paths_behind_links_and_outside_are_not_claimed() -> None:
    start = InitialState(
        files={"/workspace/d/x": file("1"), "/workspace/l": link("d"), "/workspace/no": file("2", mode="000")}
    )
    facts = Belief.at_start(start).facts(
        ["/workspace/l/x", "/etc/passwd", "/workspace/no", "/workspace/d/../d/x", "/workspace/none"], ["/workspace/l"]
    )
    assert facts["paths"] == {"/workspace/no": {"type": "file", "mode": "0"}, "/workspace/none": None}
    assert facts["trees"] == {}


def test_what_services_do_is_never_known() -> None:
    belief = Belief.at_start(InitialState(services=("python3 srv.py",)))
    belief.run("ls", "agent@sandbox:/workspace$")
    assert belief.processes == ("python3 srv.py",)
    belief.run("echo 1 > out.txt", "agent@sandbox:/workspace$")
    assert belief.processes is None
    assert not belief.look("/workspace/out.txt")[0]
