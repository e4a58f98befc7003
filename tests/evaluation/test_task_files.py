"""Files of chosen tasks open as task sets, and say what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain

from agentworld_envs import AgentWorldEnv
from agentworld_envs.interface import ConfigError
from agentworld_envs.task_files import absolute_name, check_task_file, named_tasks, write_task_file


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


def test_a_file_that_would_name_itself(tmp_path: Path) -> None:
    first = write(tmp_path / "a", "toy/1", "toy/2")
    second = write(tmp_path / "b", "toy/2", tasks=first)
    before = (tmp_path / "a").read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / "link"):
        with pytest.raises(ConfigError, match="itself"):
            write(path, "toy/1", tasks=first)
        with pytest.raises(ConfigError, match="itself"):
            check_task_file(path, named_tasks(ToyDomain(), second))
    check_task_file(tmp_path / "c", named_tasks(ToyDomain(), second))
    assert (tmp_path / "a").read_bytes() == before


def test_drafts_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "a.part").write_text("mine", encoding="utf-8")
    write(tmp_path / "a", "toy/1")
    assert (tmp_path / "a.part").read_text(encoding="utf-8") == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.part"]


def test_kept_tasks_are_found_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("a"), "toy/1", "toy/2")
    write(Path("b"), "toy/2", tasks="a")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert named_tasks(ToyDomain(), "../b")[0].id == "toy/2"


def test_absolute_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.jsonl").write_text("{}")
    for name in ("train", "my&index", "x.y"):
        (tmp_path / name).mkdir()
    here = str(tmp_path)
    assert absolute_name("q.jsonl") == f"{here}/q.jsonl"
    assert absolute_name("q.jsonl?index=./my%26index&mask=source&limit=3") == (
        f"{here}/q.jsonl?index={here}/my%26index&mask=source&limit=3"
    )
    assert absolute_name(f"{here}/q.jsonl?index=/a%20b") == f"{here}/q.jsonl?index=/a%20b"
    assert absolute_name("x.y") == f"{here}/x.y"
    for name in ("train", "train@1:tiny+masked", "nothing.jsonl", "", "a?b", "\0", "~/q.jsonl"):
        assert absolute_name(name) == name
