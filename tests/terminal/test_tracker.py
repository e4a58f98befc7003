"""What the tracker believes, against what a real shell does: wherever it claims to know, it has to be right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from agentworld_envs.backends.sandbox import SharedMachines
from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.checks import TreeCheck
from agentworld_envs.domains.terminal.entries import Entry, file, folder, link
from agentworld_envs.domains.terminal.evidence import gather
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.start import prepare
from agentworld_envs.interface.sandbox import Sandbox

START = InitialState(
    files={
        "/workspace/a.txt": file("one\ntwo\n"),
        "/workspace/b.txt": file("three\n", mode="600"),
        "/workspace/d/c.txt": file("four\n"),
        "/workspace/d/e/f.txt": file("five\n"),
        "/workspace/empty": folder(),
        "/workspace/l": link("d"),
    }
)
NAMES = (
    "a.txt",
    "b.txt",
    "d",
    "d/c.txt",
    "d/e",
    "d/e/f.txt",
    "empty",
    "l",
    "l/c.txt",
    "new",
    "new/x",
    "../workspace/y",
    "'sp ace'",
)
FORMS = (
    "cat {0}",
    "cd {0}",
    "cd ..",
    "cd",
    "cd /workspace",
    "mkdir {0}",
    "mkdir -p {0}",
    "touch {0}",
    "rm {0}",
    "rm -rf {0}",
    "rm -f {0} {1}",
    "cp {0} {1}",
    "mv {0} {1}",
    "chmod 640 {0}",
    "ln -s {0} {1}",
    "echo hello > {0}",
    "echo 'two words' >> {0}",
    "echo -n x > {0}",
    "echo $HOME > {0}",
    "printf 'a\\nb\\n' > {0}",
    "cat {0} | sort > {1}",
    "grep -c e {0} > {1}",
    "cat > {0} <<'EOF'\nline $x\nEOF",
    "mkdir -p {0} && echo done > {0}/done.txt",
    "rm {0}; echo next > {1}",
    "rm {0} && echo after > {1}",
    "sed -i s/o/0/ {0}",
    "for f in *; do echo $f; done",
    "ls -la {0} | head -2",
    "awk '{{print > \"{0}\"}}' {1}",
    "X=1",
    "test -f {0} && rm {0}",
    "false && rm {0}",
    "cat {0} || rm {1}",
    "rm {0} & wait",
    "echo hi > {0} 2>&1",
    "(cd {0}; touch inner)",
    "touch *.txt",
    "find . -name c.txt -delete",
    "sort -o {0} {1}",
    "tee {0} < {1}",
)


@pytest.fixture(scope="module")
def machines() -> Iterator[SharedMachines]:
    shared = SharedMachines()
    yield shared
    shared.close()


def _real(sandbox: Sandbox) -> dict[str, Entry]:
    facts = gather(sandbox, [TreeCheck(path="/workspace", files={}), TreeCheck(path="/home/agent", files={})])
    return facts["paths"]


@pytest.mark.parametrize("seed", range(40))
def test_what_it_knows_is_true(machines: SharedMachines, seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    belief = Belief.at_start(START)
    with machines.take() as sandbox:
        prepare(sandbox, START)
        cwd = "/workspace"
        for _ in range(6):
            first, second = (str(name) for name in rng.choice(NAMES, size=2))
            command = str(rng.choice(FORMS)).format(first, second)
            result = sandbox.run(command, merge_stderr=True)
            belief.run(command, wording.turn(cwd, command, result.stdout, result.cwd))
            cwd = result.cwd
            assert belief.cwd in (None, cwd), command
            _compare(belief, _real(sandbox), command)


def _compare(belief: Belief, real: dict[str, Entry], command: str) -> None:
    paths = {*real, *(path for path in belief.files if path.startswith(("/workspace/", "/home/agent/")))}
    for path in sorted(paths):
        known, believed = belief.look(path)
        if not known:
            continue
        actual = real.get(path)
        if believed is None or actual is None:
            assert believed == actual, f"{path} after {command!r}: {believed} is really {actual}"
            continue
        for key, value in believed.items():
            if key != "mode" or believed["type"] == "file":
                assert actual.get(key) == value, f"{path} after {command!r}: {believed} is really {actual}"


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
    assert belief.look("/workspace/s.txt") == (True, {"type": "file", "data": b"one\ntwo\n"})


def test_keystrokes_are_followed_line_by_line() -> None:
    belief = Belief.at_start(START)
    belief.type(["echo 1 > /workspace/k.txt\n", "ls\n"])
    assert belief.look("/workspace/k.txt")[1] is not None
    belief.type(["vim a.txt\n"])
    assert not belief.look("/workspace/a.txt")[0]
