"""The expert solves everything, from anywhere, and touches nothing."""

from __future__ import annotations

import random

import pytest
from text_world.support import DOMAIN, call, pick, play, slicing_tasks, varied

from agentworld_envs.domains.text_world.generate import KINDS
from agentworld_envs.interface import Task, TaskError, World


def solves(task: Task, world: World) -> int:
    """Number of commands in which the expert solves `task`."""
    before = dict(world.evidence())
    commands = DOMAIN.expert(task, world)
    assert dict(world.evidence()) == before
    for command in commands:
        assert command in world.commands()
        assert DOMAIN.refuse(task, call(command)) is None
        world.act(call(command))
    assert DOMAIN.verify(task, world.evidence()).success, (task.id, commands)
    return len(commands)


@pytest.mark.parametrize("kind", KINDS)
def test_all_of_a_type(kind: str) -> None:
    source = DOMAIN.tasks(f"train:{kind}")
    lengths = [solves(task, DOMAIN.world(task)) for task in (source[index] for index in range(100))]
    assert max(lengths) <= 14


@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_validation_sets(split: str) -> None:
    for index in range(60):
        task = DOMAIN.tasks(split)[index]
        solves(task, DOMAIN.world(task))


def test_from_any_state() -> None:
    rng = random.Random(3)
    for index in range(120):
        task = DOMAIN.tasks()[index]
        if index % 2:
            task = varied(task, rng)
        world = DOMAIN.world(task)
        for _ in range(rng.randrange(60)):
            world.act(call(pick(rng, world.commands())))
        solves(task, world)


def test_slices() -> None:
    for task in slicing_tasks(30):
        solves(task, DOMAIN.world(task))


def test_nothing_to_do_in_a_solved_state() -> None:
    task = DOMAIN.tasks()[0]
    world = DOMAIN.world(task)
    play(world, DOMAIN.expert(task, world))
    assert DOMAIN.expert(task, world) == []


def test_no_way() -> None:
    task = DOMAIN.tasks()[0]
    state = {**task.initial_state, "objects": {}}
    empty = task.model_copy(update={"initial_state": state})
    with pytest.raises(TaskError, match="no way"):
        DOMAIN.expert(empty, DOMAIN.world(empty))
    other = task.model_copy(update={"verifier": {"goal": "(forall (?o - object) (isclean ?o))"}})
    with pytest.raises(TaskError, match="conjunctions"):
        DOMAIN.expert(other, DOMAIN.world(other))
