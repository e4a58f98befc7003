"""The tracked state in words: what is in it, what is never in it, and that it keeps its limit."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminal.conftest import a_task
from terminal.trial import task, told

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.world_model import GenerationRequest, ScriptedEngine, WorldModelBackend, WorldModelConfig
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.domains.terminal import Terminal, wording
from agentworld_envs.domains.terminal.entries import file
from agentworld_envs.domains.terminal.families import FAMILIES
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.tracker import TerminalTracker
from agentworld_envs.interface import Action


def act(command: str) -> Action:
    return Action("bash", {"command": command}, command)


def tracker_of(**files: str) -> TerminalTracker:
    start = InitialState(
        files={f"/workspace/{name}": file(text) for name, text in files.items()}, env={"LANG": "C.UTF-8"}
    )
    return TerminalTracker(start, ())


def do(tracker: TerminalTracker, *commands: str, output: str = "", cwd: str = "/workspace") -> None:
    for command in commands:
        tracker.observe(act(command), wording.turn(cwd, command, output, cwd))


def test_what_is_in_it() -> None:
    tracker = tracker_of(a="alpha\n", b="beta\n", c="gamma\n")
    do(tracker, "X=1; export Y='a b' Z=$X", "echo new > out", "rm c", "sort a > s", "mkdir -p d/e", "chmod 600 b")
    text = tracker.recall(act("cat a"), 4000)
    assert text.splitlines() == [
        "Folder: /workspace",
        "Variables: LANG=C.UTF-8, X=1, Y='a b', Z=(not known)",
        "The command names:",
        "644 6 /workspace/a",
        "Their contents:",
        "--- /workspace/a",
        "alpha",
        "In its folders:",
        "600 5 /workspace/b",
        "755 /workspace/d/",
        "644 4 /workspace/out",
        "644 /workspace/s (contents not known)",
        "Changed since the start:",
        "/workspace/c (not there)",
        "755 /workspace/d/e/",
        "Contents:",
        "--- /workspace/b",
        "beta",
        "--- /workspace/out",
        "new",
        "agent@sandbox:/workspace$",
    ]


def test_what_the_command_names_comes_first() -> None:
    tracker = tracker_of(**{f"f{number:02}": f"text {number}\n" * 40 for number in range(30)})
    text = tracker.recall(act("cat f17 nope.txt f29"), 1500)
    listed = [line.split()[-1] for line in text.splitlines() if line.startswith("644")]
    assert listed[:2] == ["/workspace/f17", "/workspace/f29"]
    assert "/workspace/nope.txt (not there)" in text
    assert "--- /workspace/f17\n" in text
    assert len(text) <= 1500


def test_contents_are_cut_so_that_each_has_its_share() -> None:
    tracker = tracker_of(long="x" * 9000, short="all of it\n", other="y" * 9000)
    text = tracker.recall(act("cat long short other"), 2000)
    assert "all of it" in text
    assert abs(text.count("x") - text.count("y")) < 60
    assert text.count("x") > 500
    assert "characters left out" in text
    assert len(text) <= 2000


def test_a_pattern_names_files() -> None:
    tracker = tracker_of(one="1\n", two="2\n")
    do(tracker, "mkdir d", "echo in > d/a.log", "echo in > d/b.txt")
    first = tracker.recall(act("cat d/*.log"), 4000).partition("Their contents:")[0].splitlines()
    assert first[first.index("The command names:") + 1].endswith("/workspace/d/a.log")


def test_after_what_cannot_be_followed_it_says_since_when_and_what_was_known() -> None:
    tracker = tracker_of(a="alpha\n")
    do(tracker, "echo new > out", "python3 x.py")
    do(tracker, "cat notes", output="remember\n")
    do(tracker, "cat <<'E' > lines\nl1\nl2\nE")
    text = tracker.recall(act("cat lines"), 4000)
    assert "Not certain: anything that may have been changed in or after turn 2" in text
    assert "Before that, changed since the start:\n644 4 /workspace/out" in text
    assert "--- /workspace/lines (written in turn 4)\nl1\nl2\n--- /workspace/notes (shown in turn 3)\nremember" in text
    assert "--- /workspace/out (before that)\nnew" in text
    do(tracker, "sed -i s/l/L/ lines", "cat lines > notes")
    left = tracker.recall(act("ls"), 4000)
    assert "/workspace/lines" not in left, "it may have been changed"
    assert "/workspace/notes" not in left


def test_a_machine_that_was_set_up_is_not_certain() -> None:
    tracker = TerminalTracker(InitialState(files={"/workspace/a": file("alpha")}, setup=("git init",)), ())
    text = tracker.recall(act("cat a"), 4000)
    assert "by the setup of the machine" in text
    assert "alpha" not in text


def test_keystrokes_have_a_shell_of_their_own() -> None:
    tracker = tracker_of(a="alpha\n")
    do(tracker, "X=1")
    text = tracker.recall(Action("keystrokes", {"keys": [{"keystrokes": "cat a\n"}]}, ""), 4000)
    assert "Folder: not known" in text
    assert "X=1" not in text
    assert "LANG" not in text


def test_variables_of_the_terminal_are_not_those_of_the_shell() -> None:
    tracker = tracker_of()
    tracker.observe(Action("keystrokes", {"keys": [{"keystrokes": "T=2\n"}]}, ""), "")
    assert "T=2" not in tracker.recall(act("ls"), 4000)
    twin = tracker.fork()
    do(twin, "U=3")
    assert "U=3" in twin.recall(act("ls"), 4000)
    assert "U=3" not in tracker.recall(act("ls"), 4000)


@given(st.integers(1, 400), st.text(max_size=60), st.booleans())
def test_the_limit_is_kept(limit: int, text: str, lost: bool) -> None:
    tracker = tracker_of(a="alpha\n" * 50, b="beta")
    do(tracker, "X=1", *(["python3 x"] if lost else []))
    assert len(tracker.recall(act("cat a " + text.replace("\0", "")), limit)) <= limit


@pytest.mark.parametrize("family", FAMILIES)
def test_neither_checks_nor_solutions_are_told(family: str) -> None:
    for level in (1, 2, 3):
        played = task(family, level, 1)
        tracker = Terminal().tracker(played)
        given_away = tracker.recall(act("ls -la; cat *"), 20_000)
        start = told(played)
        for command in played.hidden["solution"]:
            assert command in start or command not in given_away
        for check in played.verifier["checks"]:
            wanted = str(check.get("text") or "")
            assert len(wanted) < 12 or wanted in start or wanted not in given_away


def test_only_the_last_user_message_has_it() -> None:
    requests: list[GenerationRequest] = []

    def script(request: GenerationRequest) -> str:
        requests.append(request)
        return wrap("agent@sandbox:/workspace$ x\nagent@sandbox:/workspace$")

    config = WorldModelConfig(model="scripted:oracle", tracked_state=True, state_characters=600)
    with closing(
        AgentWorldEnv("terminal", tasks=[a_task()], backend=WorldModelBackend(ScriptedEngine(script), config))
    ) as env:
        env.reset(seed=0)
        for command in ("echo hello > out.txt", "cat out.txt", "ls"):
            env.step(command)
    for number, request in enumerate(requests, 1):
        *earlier, last = request.messages
        assert "Folder: /workspace" in last.content
        assert last.content.startswith(f"### Turn {number}\n**Current State:**\n")
        assert all("Folder:" not in message.content for message in earlier)
    assert "--- /workspace/out.txt\nhello" in requests[1].messages[-1].content
    assert requests[2].messages[1].content.startswith("### Turn 1\n**Current State:**\nagent@sandbox:/workspace$\n")
