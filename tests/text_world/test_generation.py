"""Generated tasks: determinism, splits, and that they are worth solving."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

import pytest
from text_world.support import DOMAIN

from agentworld_envs.domains.text_world.generate import KINDS, SPLITS, split_of
from agentworld_envs.interface import ConfigError, Task

COUNT = 300


def plan(task: Task) -> tuple[str, tuple[str, ...]]:
    rows = task.initial_state["receptacles"].values()
    return task.initial_state["room"], tuple(sorted(row["type"] for row in rows))


@pytest.fixture(scope="module")
def sets() -> dict[str, list[Task]]:
    return {split: [DOMAIN.tasks(split)[index] for index in range(COUNT)] for split in SPLITS}


def test_every_household_belongs_to_exactly_one_split(sets: dict[str, list[Task]]) -> None:
    for split, tasks in sets.items():
        assert {split_of(task.initial_state) for task in tasks} == {split}


def test_unseen_floor_plans_are_unseen_and_seen_ones_are_shared() -> None:
    bathrooms = {
        split: {plan(task) for index in range(1500) if (task := DOMAIN.tasks(split)[index]).tags[1] == "bathroom"}
        for split in SPLITS
    }
    assert not bathrooms["train"] & bathrooms["valid_unseen"]
    assert not bathrooms["valid_seen"] & bathrooms["valid_unseen"]
    assert bathrooms["train"] & bathrooms["valid_seen"]


def test_households_differ(sets: dict[str, list[Task]]) -> None:
    states = {task.model_dump_json(include={"initial_state"}) for tasks in sets.values() for task in tasks}
    assert len(states) == COUNT * len(SPLITS)


def test_no_task_starts_solved_and_all_types_and_rooms_occur(sets: dict[str, list[Task]]) -> None:
    for split, tasks in sets.items():
        assert not any(DOMAIN.verify(task, DOMAIN.world(task).evidence()).success for task in tasks)
        assert {task.tags[0] for task in tasks} == set(KINDS)
        assert {task.tags[1] for task in tasks} == {"kitchen", "livingroom", "bedroom", "bathroom"}
        assert {task.tags[2] for task in tasks} == {split}
        assert all(task.max_steps == 50 for task in tasks)


def test_json_round_trip(sets: dict[str, list[Task]]) -> None:
    for task in sets["train"][:30]:
        again = Task.model_validate_json(task.model_dump_json())
        assert again == task
        assert DOMAIN.world(again).reset() == DOMAIN.world(task).reset()
        assert DOMAIN.simulation(again) == DOMAIN.simulation(task)


@pytest.mark.parametrize("index", [0, 7, 123_456, 2**31 - 1, 2**40])
def test_found_again_by_id(index: int) -> None:
    for split in SPLITS:
        source = DOMAIN.tasks(split)
        assert source.find(source[index].id) == source[index]


def test_types_can_be_chosen() -> None:
    source = DOMAIN.tasks("train:pick_heat_then_place_in_recep, look_at_obj_in_light")
    kinds = [source[index].tags[0] for index in range(4)]
    assert kinds == ["look_at_obj_in_light", "pick_heat_then_place_in_recep"] * 2
    assert source.find(source[5].id) == source[5]
    assert DOMAIN.tasks().find(source[5].id) == source[5]
    with pytest.raises(ConfigError):
        source.find(DOMAIN.tasks()[0].id)


@pytest.mark.parametrize(
    "name", ["trian", "train:pick_heat", "valid", "alfworld:tests", "/no/such/folder", "train:x,y"]
)
def test_unknown_names_are_refused_with_a_hint(name: str) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean|Known"):
        DOMAIN.tasks(name)


@pytest.mark.parametrize("task_id", ["train/1", "valid_seen/000000001", "train/x", "", "train/-00000001", "🙂" * 1000])
def test_unknown_ids_are_refused(task_id: str) -> None:
    with pytest.raises(ConfigError):
        DOMAIN.tasks("train").find(task_id)


def test_negative_index() -> None:
    with pytest.raises(IndexError):
        DOMAIN.tasks()[-1]


def test_generation_is_cheap() -> None:
    source = DOMAIN.tasks("valid_seen")
    times = []
    for index in range(200):
        begin = time.perf_counter()
        source[index]
        times.append(time.perf_counter() - begin)
    assert sorted(times)[100] < 0.01  # usually 0.5 ms; the machine may be busy


_SCRIPT = """
import hashlib
from text_world.support import DOMAIN, call
digest = hashlib.sha256()
for split in ("train", "valid_seen", "valid_unseen"):
    for index in range(12):
        task = DOMAIN.tasks(split)[index]
        world = DOMAIN.world(task)
        digest.update((task.model_dump_json() + world.reset() + DOMAIN.simulation(task).system).encode())
        for command in DOMAIN.expert(task, world):
            digest.update((command + world.act(call(command)) + repr(world.commands())).encode())
        digest.update(repr(dict(world.evidence())).encode())
print(digest.hexdigest())
"""


def test_same_bytes_in_every_process() -> None:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": here},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1234")
    }
    assert len(outputs) == 1
    assert len(outputs.pop().strip()) == hashlib.sha256().digest_size * 2
