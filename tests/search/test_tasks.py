"""The generated task sets, and paths that are none."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from search.support import DOMAIN

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.search import GeneratedTasks
from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.domains.search.tasks import LEVELS, QUESTIONS_PER_WORLD, Choice, place_of
from agentworld_envs.interface import ConfigError, Task, TaskError


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("train", Choice()),
        ("valid", Choice("valid")),
        ("train@2", Choice(levels=(2,))),
        ("train@3,1,3", Choice(levels=(1, 3))),
        ("train:tiny", Choice(size="tiny")),
        ("train+masked", Choice(masked=True)),
        ("train+worlds=8", Choice(worlds=8)),
        ("valid@1,2:large+masked+worlds=8", Choice("valid", (1, 2), "large", True, 8)),
        ("valid+worlds=8+masked", Choice("valid", masked=True, worlds=8)),
    ],
)
def test_names(name: str, choice: Choice) -> None:
    assert Choice.of(name) == choice
    assert Choice.of(choice.name) == choice
    assert DOMAIN.tasks(name).name == choice.name


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("train@4", "Unknown level '4'"),
        ("train@0", "Unknown level '0'"),
        ("train:huge", "Unknown size of a world 'huge'"),
        ("train+maskd", "Did you mean 'masked'"),
        ("train+masked=1", "Expected '\\+masked' or"),
        ("train+worlds", "'\\+worlds=N'"),
        ("train+worlds=0", "N of at least 1"),
        ("trian", "Did you mean 'train'"),
        ("train@", r"SPLIT\[@LEVELS\].*got 'train@': '@' after 'train' cannot be read"),
        ("train:", "':' after 'train' cannot be read"),
        ("train@1-3", "'-3' after 'train@1' cannot be read"),
        ("train+worlds=x", "'=x' after 'train\\+worlds' cannot be read"),
        ("valid@2+masked:tiny", "':tiny' after 'valid@2\\+masked' cannot be read"),
        ("a" * 5_000, "Unknown task set or path 'a{200}'"),
        ("a\0b", "Unknown task set or path"),
        ("~nobody.of.this.name/x", "Unknown task set or path"),
        ("\ud800", "Unknown task set or path"),
        ("a" * 5_000 + "?index=x", "Cannot open the task set"),
        ("x?index=" + "a" * 5_000, "Cannot open the task set"),
        ("a\0?index=x", "Cannot open the task set"),
        ("\ud800?index=x", "Cannot open the task set"),
        ("test", "Unknown task set or path"),
        ("/no/such/file.jsonl", "Unknown task set or path"),
    ],
)
def test_names_that_are_none(name: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        DOMAIN.tasks(name)


def test_a_folder_has_no_questions(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has no questions.*QUESTIONS\.jsonl\?index="):
        DOMAIN.tasks(str(tmp_path))


def test_choosing_builds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LIBRARY, "fiction", lambda seed, size: pytest.fail("a world was built"))
    for name in DOMAIN.task_sets:
        assert DOMAIN.tasks(name).size is None
        DOMAIN.tasks(name).index_for(5)


@pytest.mark.parametrize("name", ["train", "valid@2:tiny", "train@1:tiny+masked", "train+worlds=2"])
def test_tasks_are_found_by_id(name: str) -> None:
    source = DOMAIN.tasks(name)
    for index in (0, 1, 2, 47, 48, 700, 2**31 - 1):
        task = source[index]
        assert source.find(task.id) == task
        assert source[index] == task
        assert Task.model_validate_json(task.model_dump_json()) == task
        assert "answer" not in json.dumps(task.initial_state)
    with pytest.raises(IndexError):
        source[-1]


@pytest.mark.parametrize(
    "task_id", ["", "train@1/5", "train@1/0000005", "valid@1/000005", "train@9/000005", "x", "train@1:tiny/000005"]
)
def test_ids_that_are_none(task_id: str) -> None:
    with pytest.raises(ConfigError, match="Ids are split, level and a number"):
        DOMAIN.tasks("train").find(task_id)


def test_ids_of_different_tasks_differ() -> None:
    names = ("train", "valid", "train:tiny", "train+masked", "train:tiny+masked", "train@2")
    tasks = [DOMAIN.tasks(name)[index] for name in names for index in (0, 1, 2, 50)]
    by_id: dict[str, Task] = {}
    for task in tasks:
        assert by_id.setdefault(task.id, task) == task


def test_worlds_are_reused_and_splits_share_none() -> None:
    source = DOMAIN.tasks("train")
    worlds = [source[index].initial_state["world"]["seed"] for index in range(3 * QUESTIONS_PER_WORLD + 1)]
    assert len(set(worlds[:-1])) == 1
    assert worlds[-1] != worlds[0]
    assert [source[index].tags[1] for index in range(3)] == [f"level-{level}" for level in LEVELS]
    seeds = [{place_of(Choice(split), number)[0] for number in range(20_000)} for split in ("train", "valid")]
    assert not seeds[0] & seeds[1]
    few = {place_of(Choice(worlds=3), number) for number in range(6 * QUESTIONS_PER_WORLD)}
    assert len({seed for seed, _ in few}) == 3
    assert len(few) == 6 * QUESTIONS_PER_WORLD, "new questions when the worlds come round again"


def test_masks_hide_the_sources() -> None:
    for index in range(6):
        plain, masked = DOMAIN.tasks("train:tiny")[index], DOMAIN.tasks("train:tiny+masked")[index]
        assert plain.instruction == masked.instruction
        assert plain.initial_state["mask"] == []
        hidden = masked.initial_state["mask"]
        assert hidden
        place = LIBRARY.fiction(masked.initial_state["world"]["seed"], "tiny")
        assert all(place.index.page(url) is not None for url in hidden)


def test_the_same_in_another_process() -> None:
    script = (
        "from agentworld_envs.domains.search import Search\n"
        "for name in ('train', 'valid@3', 'train:tiny+masked'):\n"
        "    for index in (0, 1, 2, 100): print(Search().tasks(name)[index].model_dump_json())\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "77")
    ]
    names = ("train", "valid@3", "train:tiny+masked")
    here = "".join(DOMAIN.tasks(name)[index].model_dump_json() + "\n" for name in names for index in (0, 1, 2, 100))
    assert outputs == [here, here]


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({}, "expected initial_state to have 'world'"),
        ({"world": 5}, "expected initial_state"),
        ({"world": {"seed": -1}}, "expected initial_state"),
        ({"world": {"seed": True}}, "expected initial_state"),
        ({"world": {"seed": 1, "size": "huge"}}, "cannot be opened"),
        ({"world": {"seed": 1}, "index": "x"}, "expected initial_state"),
        ({"index": "/no/such/folder"}, "cannot be opened"),
        ({"index": {"contexts": "/no/such/file"}}, "cannot be opened"),
        ({"world": {"seed": 1, "size": "tiny"}, "mask": "https://a.example/"}, "'mask' to be a list"),
        ({"world": {"seed": 1, "size": "tiny"}, "mask": [5]}, "'mask' to be a list"),
        ({"world": {"seed": 1, "size": "tiny"}, "mask": ["file:///x"]}, "no address"),
    ],
)
def test_broken_tasks(state: dict[str, object], words: str) -> None:
    verifier = {"answer": {"kind": "text", "value": "x"}}
    task = Task(id="t", domain="search", instruction="?", initial_state=state, verifier=verifier)
    with pytest.raises(TaskError, match=words):
        DOMAIN.world(task)


def test_a_world_without_a_question_is_the_failure_of_its_own_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: FictionalWorld, number: int, level: int = 1) -> None:
        raise ConfigError("no question of level 1: take a larger world")

    with closing(AgentWorldEnv("search", tasks="train:tiny")) as env:
        with monkeypatch.context() as patch:
            patch.setattr(FictionalWorld, "question", none)
            _, info = env.reset(seed=0)
        assert info["failure"].kind == "task"
        assert "take a larger world" in info["failure"].message
        assert env.reset(seed=0)[1]["failure"] is None


def test_a_task_needs_an_answer() -> None:
    state = {"world": {"seed": 1, "size": "tiny"}}
    with pytest.raises(TaskError, match="needs 'answer'"):
        DOMAIN.world(Task(id="t", domain="search", instruction="?", initial_state=state))
    broken = Task(id="t", domain="search", instruction="?", initial_state=state, verifier={"answer": {"kind": "?"}})
    with pytest.raises(TaskError):
        DOMAIN.verify(broken, {"answer": "x"})


@pytest.mark.parametrize("name", ["train", "train+masked", "valid:tiny"])
def test_the_expert_solves_them(name: str) -> None:
    source = DOMAIN.tasks(name)
    assert isinstance(source, GeneratedTasks)
    for index in range(0, 90, 5):
        task = source[index]
        with_tools = DOMAIN.world(task)
        with_tools.reset()
        before = with_tools.evidence()
        plan = DOMAIN.expert(task, with_tools)
        assert with_tools.evidence() == before, "the expert leaves the world as it is"
        assert len(plan) <= task.max_steps
        for text in plan:
            with_tools.act(_parse(task, text))
        assert DOMAIN.verify(task, with_tools.evidence()).success, (
            f"{task.id}: {DOMAIN.explain(task, with_tools.evidence())}"
        )
        assert with_tools.evidence()["visits"] > 0


def _parse(task: Task, text: str):  # type: ignore[no-untyped-def]
    from search.support import parser

    return parser().parse(text)
