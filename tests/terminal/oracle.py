"""A real shell as the oracle of the tracker: random sequences of commands, and what is believed wrongly after them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from agentworld_envs.backends.sandbox import SharedMachines
from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.checks import TreeCheck
from agentworld_envs.domains.terminal.entries import file, folder, link
from agentworld_envs.domains.terminal.evidence import gather
from agentworld_envs.domains.terminal.keystrokes import Stroke
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
    "/workspace/a.txt",
    "~/h",
)
FORMS: list[str] = [json.loads(line) for line in (Path(__file__).with_name("forms.jsonl")).read_text().splitlines()]
"""Shell text: common forms, unusual ones, and what looks like either. `{0}` and `{1}` are places for two names."""
STRAYS = ("C-c", "C-d", "echo 3 > /workspace/a.txt", "x", "Enter", "\t", "\x1b[A", "Up", "echo\t\n", "")
"""Keystrokes that are no whole line."""


def is_followed(form: str) -> bool:
    """Whether a form can be followed with any two of the names."""
    for name in NAMES:
        belief = Belief.at_start(START)
        belief.run(form.format(name, "new"), "")
        if belief.certain:
            return True
    return False


FOLLOWED = [form for form in FORMS if is_followed(form)]


def some_forms(seed: int, number: int, rng: np.random.Generator) -> list[str]:
    """Forms of which one after the other comes up with the seed, among others that are mostly followed."""
    chosen = [FORMS[seed * 211 % len(FORMS)]]
    chosen += [str(form) for form in rng.choice(FOLLOWED, size=number - 1)]
    return [chosen[int(index)] for index in rng.permutation(number)]


def fill(form: str, rng: np.random.Generator) -> str:
    """A form with two names."""
    first, second = (str(name) for name in rng.choice(NAMES, size=2))
    return form.format(first, second)


def shell_sequence(machines: SharedMachines, forms: list[str], rng: np.random.Generator) -> tuple[str | None, int]:
    """Run some commands. Gives what was believed wrongly, `None` if nothing was, and how many were followed."""
    belief, trail, followed, cwd = Belief.at_start(START), [], 0, START.cwd
    with machines.take() as sandbox:
        prepare(sandbox, START)
        for form in forms:
            command = fill(form, rng)
            trail.append(command)
            result = sandbox.run(command, 2.0, merge_stderr=True)
            belief.run(command, wording.turn(cwd, command, result.stdout, result.cwd or cwd))
            cwd = result.cwd or cwd
            if belief.cwd not in (None, cwd):
                return f"{trail}: the folder is {cwd} and not {belief.cwd}", followed
            if not belief.certain:
                break  # what comes now is not believed anyway
            followed += 1
        wrong = difference(belief, real(sandbox))
    return (None if wrong is None else f"{trail}: {wrong}"), followed


def typed_sequence(machines: SharedMachines, forms: list[str], rng: np.random.Generator) -> tuple[str | None, int]:
    """The same for keystrokes, with strange ones among them."""
    belief, trail, followed = Belief.at_start(START), [], 0
    with machines.take() as sandbox:
        prepare(sandbox, START)
        sandbox.screen("", 10.0, until_idle=True)
        for form in ["cd /workspace", *forms]:
            text = fill(form, rng) + "\n"
            strokes = [Stroke(text, 0.5)]
            if rng.random() < 0.25:
                strokes.insert(int(rng.integers(2)), Stroke(str(rng.choice(STRAYS)), 0.3))
            trail.append([stroke.keys for stroke in strokes])
            for stroke in strokes:
                sandbox.screen(stroke.typed, stroke.seconds, until_idle=True)
            belief.type(strokes)
            if not belief.certain:
                break
            followed += 1
        wrong = difference(belief, real(sandbox))
    return (None if wrong is None else f"{trail}: {wrong}"), followed


def real(sandbox: Sandbox) -> dict[str, Any]:
    """Facts of all paths there are."""
    facts = gather(sandbox, [TreeCheck(path="/workspace", files={}), TreeCheck(path="/home/agent", files={})])
    return dict(facts["paths"])


def difference(belief: Belief, actual: dict[str, Any]) -> str | None:
    """What is believed and not so."""
    paths = {*actual, *(path for path in belief.files if path.startswith(("/workspace/", "/home/agent/")))}
    for path in sorted(paths):
        known, believed = belief.look(path)
        found = actual.get(path)
        if path in belief.blurred:
            blurred = belief.blurred[path]
            known, believed = True, {"type": "file", "mode": f"{blurred.mode:o}"}
            if found is not None and blurred.lines and found.get("data") and not found["data"].endswith(b"\n"):
                return f"{path} has no line break at its end"
        if not known:
            continue
        if believed is None or found is None:
            if believed != found:
                return f"{path}: {believed} is really {found}"
        elif any(found.get(key) != value for key, value in believed.items()):
            return f"{path}: {believed} is really {found}"
    return None
