"""What a simulator is told of the state, and what contradicts it."""

from __future__ import annotations

import random

import pytest
from text_world.support import DOMAIN, call, pick, varied

from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.memory import HouseTracker, Memory
from agentworld_envs.domains.text_world.recall import recall
from agentworld_envs.domains.text_world.rules import admissible, apply
from agentworld_envs.domains.text_world.wording import NOTHING, answer

FIELDS = ("loc", "hold", "inside", "opened", "clean", "hot", "cool", "sliced", "toggled", "left", "where")


@pytest.mark.parametrize("share", [False, True])
def test_memory_is_the_true_state_as_long_as_the_answers_are_true(share: bool) -> None:
    rng = random.Random(3)
    for index in range(40):
        task = DOMAIN.tasks()[index]
        if index % 2:
            task = varied(task, rng, share=share)
        world, tracker = DOMAIN.world(task), HouseTracker(Household(task.initial_state))
        for _ in range(40):
            command = pick(rng, world.commands()) if rng.random() < 0.85 else "take mug 1 from cabinet 1"
            before = world.fork()
            assert tracker.recall(call(command), 4000) == recall(before.state, command, 4000)
            observation = world.act(call(command))
            assert tracker.contradictions(call(command), observation) == []
            tracker.observe(call(command), observation)
            for name in FIELDS:
                assert getattr(tracker._memory.state, name) == getattr(world.state, name), (name, command, observation)


def test_what_is_recalled_is_no_answer_and_no_goal() -> None:
    rng = random.Random(4)
    for index in range(30):
        task = varied(DOMAIN.tasks()[index], rng)
        state = Household(task.initial_state).start()
        for _ in range(30):
            menu = admissible(state)
            command = pick(rng, sorted(menu))
            text = recall(state, command, 4000)
            apply(state, menu[command])
            observation = answer(state, menu[command])
            assert observation not in text
            assert NOTHING not in text
            assert "possible" not in text
            assert task.instruction not in text
            assert "you see" not in text.lower()


def test_the_limit_holds_and_cuts_whole_facts() -> None:
    task = DOMAIN.tasks()[0]
    state = Household(task.initial_state).start()
    for command in sorted(admissible(state)):
        whole = recall(state, command, 4000)
        for limit in range(1, len(whole) + 2):
            text = recall(state, command, limit)
            assert len(text) <= limit
            assert whole.startswith(text)
            assert text == whole or whole[len(text) : len(text) + 1] in (";", "\n", "") or text == ""


def test_unknown_names_are_said_not_to_exist() -> None:
    tracker = HouseTracker(Household(DOMAIN.tasks()[0].initial_state))
    text = tracker.recall(call("take spaceship 7 from moon 1"), 4000)
    assert "spaceship 7: does not exist" in text
    assert "moon 1: does not exist" in text


def scene() -> tuple[HouseTracker, str, str, str]:
    """A tracker in front of an open shelf or table with something on it: its name, an object there, one elsewhere."""
    task = DOMAIN.tasks()[1]
    home = Household(task.initial_state)
    tracker = HouseTracker(home)
    r = next(r for r, items in enumerate(home.inside) if len(items) > 1 and not home.openable >> r & 1)
    name, item = home.receptacles[r], home.objects[home.inside[r][0]]
    other = next(home.objects[o] for o in range(len(home.objects)) if o not in home.inside[r])
    listed = (
        ", ".join(f"a {home.objects[o]}" for o in home.inside[r][:-1]) + f", and a {home.objects[home.inside[r][-1]]}"
    )
    arrival = f"You arrive at {name}. On the {name}, you see {listed}."
    assert tracker.contradictions(call(f"go to {name}"), arrival) == []
    tracker.observe(call(f"go to {name}"), arrival)
    return tracker, name, item, other


def test_contradictions_are_found() -> None:
    tracker, name, item, other = scene()
    found = tracker.contradictions
    assert found(call(f"take {item} from {name}"), NOTHING)
    assert found(call(f"take {other} from {name}"), f"You pick up the {other} from the {name}.")
    assert found(call(f"take {item} from {name}"), f"You pick up the {other} from the {name}.")
    assert found(call(f"examine {name}"), f"On the {name}, you see a {item}, and a {other}.")
    assert found(call(f"examine {name}"), f"On the {name}, you see nothing.")
    assert found(call(f"examine {name}"), f"The {name} is closed.")
    assert found(call("inventory"), f"You are carrying: a {item}.")
    assert found(call(f"go to {name}"), f"You arrive at {name}. On the {name}, you see nothing.")
    tracker.observe(call(f"take {item} from {name}"), f"You pick up the {item} from the {name}.")
    assert found(call("inventory"), "You are not carrying anything.")
    assert not found(call("inventory"), f"You are carrying: a {item}.")


def test_what_code_is_not_certain_of_is_no_contradiction() -> None:
    tracker, name, item, _ = scene()
    found = tracker.contradictions
    for text in ("The room is quiet.", "", f"On the {name}, you see many things.", "[SUCCESS] reward: 1", "Nothing."):
        for command in (f"examine {name}", f"take {item} from {name}", "look", "inventory", "help", "jump"):
            assert found(call(command), text) == []


def test_a_shown_list_replaces_what_was_believed() -> None:
    tracker, name, item, other = scene()
    tracker.observe(call(f"examine {name}"), f"On the {name}, you see a {other}.")
    text = tracker.recall(call(f"examine {name}"), 4000)
    assert f"in {name}: {other}" in text
    assert item not in text
    fork = tracker.fork()
    fork.observe(call(f"take {other} from {name}"), f"You pick up the {other} from the {name}.")
    assert f"holding: {other}" in fork.recall(call("look"), 4000)
    assert "holding: nothing" in tracker.recall(call("look"), 4000)
    assert isinstance(fork._memory, Memory)
