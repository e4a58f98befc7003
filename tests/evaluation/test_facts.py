"""What observations assert, as the domains' code reads them."""

from __future__ import annotations

import string
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.command import Command, Kind
from agentworld_envs.domains.terminal.facts import facts_of as terminal_facts
from agentworld_envs.domains.text_world.facts import facts_of
from agentworld_envs.testing.play import play

HOME = "agent@sandbox:/workspace$"


@pytest.mark.parametrize(
    ("observation", "facts"),
    [
        ("Nothing happens.", {"nothing happens": True}),
        (
            "You arrive at desk 1. On the desk 1, you see a mug 1, and a pen 2.",
            {"arrived at": "desk 1", "listed on desk 1": 2, "mug 1 on desk 1": True, "pen 2 on desk 1": True},
        ),
        ("You arrive at fridge 1. The fridge 1 is closed.", {"arrived at": "fridge 1", "fridge 1": "closed"}),
        (
            "You open the fridge 1. The fridge 1 is open. In it, you see nothing.",
            {"opened": "fridge 1", "fridge 1": "open", "listed on fridge 1": 0},
        ),
        ("You close the fridge 1.", {"closed": "fridge 1"}),
        ("You pick up the mug 1 from the desk 1.", {"picked up": "mug 1", "from": "desk 1"}),
        ("You move the mug 1 to the desk 1.", {"put": "mug 1", "with or at": "desk 1"}),
        ("You put the mug 1 in/on the desk 1.", {"put": "mug 1", "with or at": "desk 1"}),
        ("You heat the mug 1 using the microwave 1.", {"heated": "mug 1", "with or at": "microwave 1"}),
        ("You sliced the apple 1 with the knife 1.", {"sliced": "apple 1", "with or at": "knife 1"}),
        ("You turn on the desklamp 1.", {"turned on": "desklamp 1"}),
        ("You are carrying: a mug 1.", {"holding": "mug 1"}),
        ("You are not carrying anything.", {"holding": None}),
        ("This is a hot and clean mug 1.", {"state of mug 1": "hot and clean"}),
        ("There's nothing special about mug 1.", {"state of mug 1": "nothing special"}),
        ("This desklamp 1 is on.", {"state of desklamp 1": "on"}),
        (
            "You are facing the desk 1, and drawer 2. Next to it, you see nothing.",
            {"listed faced": 2, "desk 1 faced": True, "drawer 2 faced": True, "listed on the floor": 0},
        ),
        ("You won! The task is complete. reward: 1", {}),
        ("You arrive at the kitchen, where you see a mug.", {}),
        ("On the desk 1, you see many things.", {}),
        ("", {}),
    ],
)
def test_the_text_world(observation: str, facts: dict[str, object]) -> None:
    assert facts_of(observation) == facts


def test_every_answer_of_the_game_asserts_something() -> None:
    """But `help`, whose text is always the same, and what the parser answers."""
    with closing(AgentWorldEnv("text_world")) as env:
        for seed in range(15):
            for result in play(env, seed=seed, steps=25)[1:]:
                if result.info["action_valid"] and result.info["command"] != "help":
                    assert facts_of(result.observation), result.observation


def run(command: str, output: str, after: str = "/workspace") -> dict[str, object]:
    """Facts of a command in /workspace."""
    return terminal_facts(Command(Kind.RUN, command), wording.turn("/workspace", command, output, after))


@pytest.mark.parametrize(
    ("command", "output", "after", "facts"),
    [
        ("ls", "a\nb\n", "/workspace", {"lines": 2}),
        ("true", "", "/workspace", {"lines": 0}),
        ("printf x", "x", "/workspace", {"lines": 1}),
        ("cd /tmp", "", "/tmp", {"folder": "/tmp", "lines": 0}),
        ("cd", "", "/home/agent", {"folder": "~", "lines": 0}),
        ("for i in 1 2\ndo echo $i\ndone", "1\n2\n", "/workspace", {"lines": 2}),
        ("foo", "bash: foo: command not found\n", "/workspace", {"lines": 1, "error: command not found": 1}),
        (
            "cat a b",
            "cat: a: No such file or directory\ncat: b: No such file or directory\n",
            "/workspace",
            {"lines": 2, "error: no such file": 2},
        ),
        (
            "cat x; ls y",
            "cat: x: Permission denied\nls: cannot access 'y': No such file or directory\n",
            "/workspace",
            {"lines": 2, "error: permission denied": 1, "error: no such file": 1},
        ),
        ("sleep 60", wording.stopped(30.0), "/workspace", {"lines": 2, "stopped": True}),
    ],
)
def test_the_terminal(command: str, output: str, after: str, facts: dict[str, object]) -> None:
    expected = {"folder": "/workspace", "folder before": "/workspace", "command shown": True, "stopped": False, **facts}
    assert run(command, output, after) == expected


def test_the_terminal_without_a_prompt_or_an_echo() -> None:
    ls = Command(Kind.RUN, "ls")
    assert terminal_facts(ls, "a\nb") == {"folder": None, "command shown": False, "lines": 2, "stopped": False}
    assert terminal_facts(ls, f"{HOME} pwd\n/\n{HOME}")["command shown"] is False
    keys = terminal_facts(Command(Kind.KEYS), f"{HOME} python3\n>>>")
    assert keys == {"folder": None, "stopped": False}
    done = Command(Kind.DONE)
    assert terminal_facts(done, wording.CONFIRM) == {"asked back": True, "over": False}
    assert terminal_facts(done, "[SUCCESS]") == {"asked back": False, "over": False}


@given(st.text(alphabet=string.ascii_lowercase + " 0123456789.,:$@/\n<>[]{}", max_size=400))
def test_no_text_makes_reading_fail(text: str) -> None:
    facts_of(text)
    for kind in Kind:
        terminal_facts(Command(kind, "ls"), text)


@pytest.mark.parametrize("unit", ["a mug 1, ", "agent@sandbox:/$ ", "a", " ", "$", "You see ", "In it, you see a"])
def test_long_text_is_read_quickly(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    for start in ("", "On the desk 1, you see ", "This is a "):
        facts_of(start + text)
        terminal_facts(Command(Kind.RUN, "ls"), start + text)
