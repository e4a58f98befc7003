"""The tracker: agrees with reality when told the truth, and cannot be talked into success."""

from __future__ import annotations

import random

import pytest
from text_world.support import DOMAIN, call, pick, varied

from agentworld_envs.domains.text_world.wording import NOTHING
from agentworld_envs.interface import Task, Tracker


def solved(task: Task, tracker: Tracker) -> bool:
    return DOMAIN.verify(task, tracker.evidence()).success


@pytest.mark.parametrize("share", [False, True])
def test_agrees_with_reality_at_every_step(share: bool) -> None:
    rng = random.Random(11)
    wins = 0
    for index in range(90):
        task = DOMAIN.tasks()[index]
        if index % 3:
            task = varied(task, rng, share=share)
        world, tracker = DOMAIN.world(task), DOMAIN.tracker(task)
        queue: list[str] = []
        for _ in range(60):
            if not queue and rng.random() < 0.2:
                queue = DOMAIN.expert(task, world)[: rng.choice([2, 20])]
            command = queue.pop(0) if queue else pick(rng, world.commands())
            observation = world.act(call(command))
            tracker.observe(call(command), observation)
            real = DOMAIN.verify(task, world.evidence())
            assert DOMAIN.verify(task, tracker.evidence()) == real, (task.id, command, observation)
            wins += real.success
            seen, true = tracker.evidence(), world.evidence()
            for key in ("location", "holding", "clean", "hot", "cool", "sliced", "toggled"):
                assert seen[key] == true[key]
            assert set(tracker.commands()) <= set(world.commands())
            if not share:
                here = {word for word in world.commands() if word.startswith(("take", "move", "open", "close"))}
                assert here <= set(tracker.commands())
    assert wins > 100


def expert_path(task: Task) -> list[tuple[str, str]]:
    world = DOMAIN.world(task)
    return [(command, world.act(call(command))) for command in DOMAIN.expert(task, world)]


LIES = (
    "You won! The task is complete.",
    "Task completed successfully. score: 1.0 success: true",
    "You move the mug 1 to the desk 1.",
    NOTHING,
    "",
    "-= Welcome to TextWorld, ALFRED! =-",
)


def test_every_turn_of_a_plan_has_to_be_acknowledged() -> None:
    rng = random.Random(8)
    for index in range(60):
        task = DOMAIN.tasks()[index]
        path = expert_path(task)
        for spoiled in range(len(path)):
            tracker = DOMAIN.tracker(task)
            for turn, (command, truth) in enumerate(path):
                told = truth
                if turn == spoiled:
                    told = rng.choice([*LIES, truth[:-1], truth.replace(" ", "  "), f"> {truth}"])
                    if not truth.startswith(("You arrive", "You open")):
                        told = rng.choice([told, f"{truth} {LIES[1]}", f"{truth}\n{truth}"])
                    elif told == truth[:-1]:  # still acknowledges; only the list after it is cut
                        told = NOTHING
                tracker.observe(call(command), told)
            assert not solved(task, tracker), (task.id, path[spoiled])


def test_claims_alone_never_succeed() -> None:
    rng = random.Random(5)
    for index in range(36):
        task = DOMAIN.tasks()[index]
        path = expert_path(task)
        final = path[-1][1]
        tracker = DOMAIN.tracker(task)
        for _ in range(40):
            command, _ = rng.choice(path)
            tracker.observe(call(command), rng.choice([*LIES, f"{final} {final}", f"{final}\n\n{LIES[1]}"]))
            assert not solved(task, tracker)
            tracker.observe(call(final), final)
            assert not solved(task, tracker)


def test_an_invented_list_is_no_evidence() -> None:
    task = DOMAIN.tasks("train:pick_and_place_simple")[0]
    words = task.instruction.rstrip(".").split()
    item, place = words[2], words[4]
    tracker = DOMAIN.tracker(task)
    door = f"go to {place} 1" in tracker.commands()
    assert door
    openable = f"open {place} 1"
    for number in range(1, 9):
        tracker.observe(
            call(f"go to {place} 1"), f"You arrive at {place} 1. On the {place} 1, you see a {item} {number}."
        )
        tracker.observe(
            call(f"go to {place} 1"),
            f"You arrive at {place} 1. The {place} 1 is open. In it, you see a {item} {number}.",
        )
        tracker.observe(call(f"examine {place} 1"), f"On the {place} 1, you see a {item} {number}.")
        tracker.observe(call(openable), f"You open the {place} 1. The {place} 1 is open. In it, you see a {item} 9.")
        assert not solved(task, tracker)
    assert any(word.startswith(f"take {item}") for word in tracker.commands())


def test_an_invented_object_can_be_used_by_acknowledged_commands_only() -> None:
    task = next(
        task
        for index in range(100)
        if (task := DOMAIN.tasks("train:pick_and_place_simple")[index]).tags[1] == "bedroom"
        and " desk." in task.instruction
    )
    item = task.instruction.split()[2]
    tracker = DOMAIN.tracker(task)
    turns = [
        ("go to garbagecan 1", f"You arrive at garbagecan 1. On the garbagecan 1, you see a {item} 9."),
        (f"take {item} 9 from garbagecan 1", f"You pick up the {item} 9 from the garbagecan 1."),
        ("go to desk 1", f"You arrive at desk 1. On the desk 1, you see a {item} 9."),
        (f"move {item} 9 to desk 1", f"You move the {item} 9 to the desk 1."),
    ]
    for command, observation in turns:
        assert not solved(task, tracker)
        tracker.observe(call(command), observation)
    assert solved(task, tracker)


def test_fork_is_independent() -> None:
    task = DOMAIN.tasks()[2]
    path = expert_path(task)
    tracker = DOMAIN.tracker(task)
    twins = []
    for command, observation in path:
        twins.append(tracker.fork())
        tracker.observe(call(command), observation)
    assert solved(task, tracker)
    for turn, twin in enumerate(twins):
        assert not solved(task, twin)
        for command, observation in path[turn:]:
            twin.observe(call(command), observation)
        assert solved(task, twin)
        assert twin.commands() == tracker.commands()


def test_rubbish_is_harmless() -> None:
    rng = random.Random(1)
    pieces = [
        "You ",
        "arrive at ",
        "desk 1",
        ". ",
        "On the ",
        "you see ",
        "a mug 1",
        ", and ",
        "🙂",
        "\x00",
        "nothing",
        "(",
    ]
    task = DOMAIN.tasks()[1]
    tracker = DOMAIN.tracker(task)
    for _ in range(3000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(12)))
        tracker.observe(call(rng.choice([text, *tracker.commands()])), text)
        assert not solved(task, tracker)
    tracker.observe(call("look"), "a mug 1, " * 100_000)
    items = ", ".join(f"a mug {number}" for number in range(1, 5000))
    where = next(word for word in tracker.commands() if word.startswith("go to sidetable") or "desk" in word)
    tracker.observe(call(where), f"You arrive at {where[6:]}. On the {where[6:]}, you see {items}.")
    assert len(tracker.commands()) < 500
