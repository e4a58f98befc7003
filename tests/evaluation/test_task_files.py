"""Files of chosen tasks open as task sets, and say what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain

from agentworld_envs import AgentWorldEnv
from agentworld_envs.interface import ConfigError
from agentworld_envs.task_files import named_tasks, write_task_file


def write(path: Path, *ids: str, tasks: str | None = None, domain: str = "toy", **about: Any) -> str:
    write_task_file(path, domain, tasks, [{"id": task_id} for task_id in ids], about)
    return str(path)


def test_chosen_tasks_in_their_order(tmp_path: Path) -> None:
    source = named_tasks(ToyDomain(), write(tmp_path / "a.jsonl", "toy/7", "toy/3", tasks="silent"))
    assert source.size == 2
    assert [source[0].id, source[1].id] == ["toy/7", "toy/3"]
    assert source[0].initial_state["silent"] is True
    assert source.find("toy/3") == source[1]
    with pytest.raises(ConfigError, match="Did you mean 'toy/7'"):
        source.find("toy/8")
    for index in (-1, 2):
        with pytest.raises(IndexError):
            source[index]


def test_chosen_out_of_chosen(tmp_path: Path) -> None:
    first = write(tmp_path / "a", "toy/1", "toy/2", "toy/3")
    source = named_tasks(ToyDomain(), write(tmp_path / "b", "toy/2", tasks=first))
    assert source[0].id == "toy/2"


def test_other_names_are_the_domains(tmp_path: Path) -> None:
    assert named_tasks(ToyDomain(), None).name == "train"
    assert named_tasks(ToyDomain(), "broken").name == "broken"
    for name in ("nothing", "\0", "a" * 10_000, str(tmp_path)):
        with pytest.raises(ConfigError, match="Unknown task set"):
            named_tasks(ToyDomain(), name)
    (tmp_path / "x").write_bytes(b"\xff\xfe{")
    with pytest.raises(ConfigError, match="Unknown task set"):
        named_tasks(ToyDomain(), str(tmp_path / "x"))


def test_every_environment_opens_them(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "toy/4")
    env = AgentWorldEnv(ToyDomain(), tasks=path)
    try:
        _, info = env.reset(seed=11)
        assert info["task_id"] == "toy/4"
    finally:
        env.close()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"domain": "web"}, "'web', expected 'toy'"),
        ({"version": 2}, "version 2"),
        ({"tasks": 5}, "names its set as 5"),
        ({"tasks": "nothing"}, "Unknown task set 'nothing'"),
        ({"tasks": "SELF"}, "names itself"),
    ],
)
def test_wrong_headers(tmp_path: Path, header: dict[str, Any], said: str) -> None:
    path = tmp_path / "a"
    if header.get("tasks") == "SELF":
        header = {"tasks": str(path)}
    told = {"format": "agentworld-tasks", "version": 1, "domain": "toy", "tasks": None, **header}
    path.write_text(json.dumps(told) + '\n{"id": "toy/1"}\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        named_tasks(ToyDomain(), str(path))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "no tasks"),
        ("\n\n", "no tasks"),
        ("{broken\n", "Line 2"),
        ('{"id": "toy/1"}\n{"id": 5}\n', "Line 3"),
        ('{"id": "toy/1"}\n[1]\n', "Line 3"),
        ('{"id": "toy/1"}\n{"id": "toy/1"}\n', "more than once"),
    ],
)
def test_wrong_lines(tmp_path: Path, lines: str, said: str) -> None:
    path = tmp_path / "a"
    header = {"format": "agentworld-tasks", "version": 1, "domain": "toy", "tasks": None}
    path.write_text(json.dumps(header) + "\n" + lines, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        named_tasks(ToyDomain(), str(path))


def test_only_files_of_chosen_tasks_are_replaced(tmp_path: Path) -> None:
    write(tmp_path / "a", "toy/1")
    write(tmp_path / "a", "toy/2")
    assert named_tasks(ToyDomain(), str(tmp_path / "a"))[0].id == "toy/2"
    (tmp_path / "b").write_text("{}\n", encoding="utf-8")
    for path in (tmp_path / "b", tmp_path):
        with pytest.raises(ConfigError, match="no file of chosen tasks"):
            write(path, "toy/1")
