"""Official game files: reading, playing, and saying what is wrong with broken ones."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from text_world import author
from text_world.support import DOMAIN, call, slicing_tasks

from agentworld_envs.interface import ConfigError, Task, TaskError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for index in range(8):
        author.write_game(DOMAIN.tasks()[index], tmp_path)
    return tmp_path


def test_a_folder_of_games_is_played_and_solved(folder: Path) -> None:
    source = DOMAIN.tasks(str(folder))
    assert source.size == 8
    originals = {DOMAIN.world(DOMAIN.tasks()[index]).reset() for index in range(8)}
    for index in range(8):
        task = source[index]
        world = DOMAIN.world(task)
        originals.remove(world.reset())
        for command in DOMAIN.expert(task, world):
            world.act(call(command))
        assert DOMAIN.verify(task, world.evidence()).success
        assert source.find(task.id) == task
        assert Task.model_validate_json(task.model_dump_json()) == task
        assert task.tags[1] == "official"
    assert not originals


def test_the_order_is_that_of_the_paths(folder: Path) -> None:
    source = DOMAIN.tasks(str(folder))
    ids = [source[index].id for index in range(8)]
    assert ids == sorted(ids)
    assert source[-1].id == ids[-1]
    with pytest.raises(IndexError):
        source[8]
    with pytest.raises(ConfigError, match="Did you mean"):
        source.find(ids[0][:-3])


def test_one_file(folder: Path) -> None:
    path = next(folder.rglob("game.tw-pddl"))
    source = DOMAIN.tasks(str(path))
    assert source.size == 1
    assert source.find(source[0].id) == source[0]


def test_slices_and_the_old_wording(tmp_path: Path) -> None:
    task = slicing_tasks(1)[0]
    old = task.model_copy(update={"initial_state": {**task.initial_state, "put": True}})
    source = DOMAIN.tasks(str(author.write_game(old, tmp_path)))
    read = source[0]
    world = DOMAIN.world(read)
    commands = DOMAIN.expert(read, world)
    observations = [world.act(call(command)) for command in commands]
    assert any(command.startswith("slice") for command in commands)
    assert commands[-1].startswith("put ")
    assert " in/on the " in observations[-1]
    assert DOMAIN.verify(read, world.evidence()).success
    assert "in/on" in DOMAIN.instructions(read)
    assert "in/on" in DOMAIN.simulation(read).system


def test_alfworld_data(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(ConfigError, match="ALFWORLD_DATA"):
        DOMAIN.tasks("alfworld")
    root = tmp_path / "data"
    monkeypatch.setenv("ALFWORLD_DATA", str(root))
    with pytest.raises(ConfigError, match="alfworld-download"):
        DOMAIN.tasks("alfworld")
    (root / "json_2.1.1" / "train").mkdir(parents=True)
    (root / "json_2.1.1" / "valid_seen").mkdir()
    with pytest.raises(ConfigError, match=r"No game\.tw-pddl"):
        DOMAIN.tasks("alfworld")
    author.write_game(DOMAIN.tasks()[3], root / "json_2.1.1" / "train")
    author.write_game(DOMAIN.tasks()[4], root / "json_2.1.1" / "valid_seen")
    assert DOMAIN.tasks("alfworld")[0].tags[0] == "pick_heat_then_place_in_recep"
    assert DOMAIN.tasks("alfworld:valid_seen")[0].tags[0] == "pick_cool_then_place_in_recep"
    with pytest.raises(ConfigError, match=r"Known|Did you mean"):
        DOMAIN.tasks("alfworld:valid")


def broken(change: Any) -> str:
    data = author.game(DOMAIN.tasks()[0])
    changed = change(data)
    return changed if isinstance(changed, str) else json.dumps(data if changed is None else changed)


def put(key: str, value: Any) -> Any:
    return lambda data: {**data, key: value}


def edit(old: str, new: str) -> Any:
    return lambda data: {**data, "pddl_problem": data["pddl_problem"].replace(old, new, 1)}


BROKEN = {
    "cut off": (lambda data: json.dumps(data)[:-40], "line 1"),
    "cut off later": (lambda data: json.dumps(data, indent=1)[:-4], "line 6"),
    "empty": (lambda data: "", "line 1"),
    "list": (lambda data: "[]", "JSON object"),
    "deep": (lambda data: "[" * 100_000, "nested|line"),
    "no problem": (lambda data: {"grammar": ""}, "pddl_problem"),
    "problem a number": (put("pddl_problem", 3), "pddl_problem"),
    "no task": (put("grammar", "nothing"), "Your task is to"),
    "unsolvable": (put("solvable", False), "unsolvable"),
    "not PDDL": (put("pddl_problem", "hello"), "define"),
    "empty PDDL": (put("pddl_problem", " ; only a comment"), "nothing"),
    "open bracket": (edit("(:init", "((:init"), "never closed"),
    "extra bracket": (put("pddl_problem", "(define (problem p)))"), r"line 1: '\)'"),
    "no goal": (edit("(:goal", "(:gaol"), ":goal"),
    "no agent": (edit("agent1 - agent", ""), "agent"),
    "nameless type": (edit("agent1 - agent", "agent1 -"), "agent|type"),
    "unknown predicate": (edit("(inreceptacle ?o ?r)", "(isbroken ?o)"), "isbroken"),
    "unbound variable": (edit("(inreceptacle ?o ?r)", "(inreceptacle ?x ?r)"), r"\?x"),
    "wrong kind": (edit("(inreceptacle ?o ?r)", "(inreceptacle ?r ?o)"), "expected object"),
    "wrong arity": (edit("(inreceptacle ?o ?r)", "(inreceptacle ?o)"), "inreceptacle"),
    "two places": (edit("(:init", "(:init (atLocation agent1 loc_bar_01)"), "two different"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_say_what_is_wrong(what: str, tmp_path: Path) -> None:
    change, message = BROKEN[what]
    path = tmp_path / "trial" / "game.tw-pddl"
    path.parent.mkdir()
    path.write_text(broken(change), encoding="utf-8")
    source = DOMAIN.tasks(str(path))
    with pytest.raises(TaskError, match=message) as caught:
        source[0]
    assert str(path) in str(caught.value)


def test_other_bytes(tmp_path: Path) -> None:
    path = tmp_path / "game.tw-pddl"
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(TaskError, match="UTF-8"):
        DOMAIN.tasks(str(path))[0]


def test_broken_files_of_a_folder_are_skipped_and_counted(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, name in enumerate(("a", "m", "z")):
        path = folder / name / "game.tw-pddl"
        path.parent.mkdir()
        path.write_text("{" * (number + 1))
    source = DOMAIN.tasks(str(folder))
    assert source.size == 11
    with caplog.at_level(logging.WARNING):
        ids = [source[index].id for index in range(11)]
        assert [source[index].id for index in range(11)] == ids
    assert len(set(ids)) == 8
    assert len(source.skipped) == 3
    assert len(caplog.records) == 3


def test_only_broken_files(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "game.tw-pddl").write_text("{")
    with pytest.raises(TaskError, match="None of the 2 games"):
        DOMAIN.tasks(str(tmp_path))[0]
