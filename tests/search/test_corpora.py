"""Questions over a corpus of one's own, from the file to the verdict."""

from __future__ import annotations

import json
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from search.support import LIST, ODA, PAGES, VELM, call

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.search.engine import build
from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.interface import ConfigError, TaskError
from agentworld_envs.testing import CHECKS, ID_CHECKS
from agentworld_envs.testing.play import expert_plan

ROWS: list[dict[str, Any]] = [
    {"id": "mayor", "question": "Who is the mayor of Velm?", "answer": "Oda Brisk", "mask_url": LIST},
    {
        "id": "year",
        "question": "When was Velm founded?",
        "answer": {"kind": "date", "value": "1642"},
        "mask_url": [VELM],
    },
    {"id": "both", "question": "Is Velm a harbour town?", "answer": "yes"},
]
KINDS = ["fts5", pytest.param("tantivy", marks=pytest.mark.skipif(not find_spec("tantivy"), reason="no tantivy"))]


@pytest.fixture(params=KINDS)
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """What a user types: questions, and the index of the small corpus."""
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(json.dumps(row) for row in ROWS))
    build(PAGES, tmp_path / "index", kind=request.param)
    return f"{questions}?index={tmp_path / 'index'}"


def make(name: str, **more: Any) -> AgentWorldEnv:
    env = gym.make("AgentWorld/Search-v0", tasks=name, disable_env_checker=True, **more).unwrapped
    assert isinstance(env, AgentWorldEnv)
    return env


def test_an_episode(name: str) -> None:
    with closing(make(name)) as env:
        observation, info = env.reset(options={"task_id": "mayor"})
        assert observation == "Who is the mayor of Velm?"
        found = env.step("mayor of Velm")[0]
        assert f"] {VELM}\n" in found
        assert LIST not in found, "masked by the row"
        assert "Oda Brisk" not in found.replace("Title: Oda Brisk", ""), "the answer is withheld from every snippet"
        assert env.step(json.dumps({"name": "web_extractor", "arguments": {"url": LIST}}))[0].startswith("404")
        page = env.step(json.dumps({"name": "web_extractor", "arguments": {"url": VELM}}))[0]
        assert "Its mayor is Oda Brisk." in page
        _, reward, terminated, _, info = env.step("<answer>Oda Brisk</answer>")
        assert (reward, terminated, info["success"]) == (1.0, True, True)


@pytest.mark.parametrize(
    "settings", [{}, {"backend": "world_model", "model": "scripted:oracle"}], ids=["real", "oracle"]
)
def test_the_conformance_kit(name: str, settings: dict[str, Any]) -> None:
    for check in CHECKS:
        check(lambda **more: make(name, **settings, **more))
    for id_check in ID_CHECKS:
        id_check("AgentWorld/Search-v0", {"tasks": name, **settings})


def test_what_a_simulator_is_told_is_the_page_itself(name: str) -> None:
    with closing(make(name)) as env:
        env.reset(options={"task_id": "mayor"})
        tracker = env.runner.domain.tracker(env.episode.task)
        told = tracker.recall(call("web_extractor", url=VELM), 10_000)
        assert told.splitlines()[1:] == [
            "- Velm is a harbour town.",
            "- Velm was founded in 1642. Its mayor is Oda Brisk.",
        ]
        assert tracker.recall(call("web_extractor", url=LIST), 10_000) == f"page {LIST}: none is known at this address"
        told = tracker.recall(call("web_search", query="Velm"), 10_000)
        assert f"- Velm | {VELM} | Apr 7, 2031" in told
        assert "1642" not in told
        leak = f"[1] {VELM}\nTitle: Velm\nSnippet: Its mayor is Oda Brisk.\nDate: Apr 7, 2031"
        assert tracker.contradictions(call("web_search", query="Velm"), leak)


def test_an_index_that_was_built_again(name: str, tmp_path: Path) -> None:
    with closing(make(name)) as env:
        env.reset(options={"task_id": "year"})
        task, domain = env.episode.task, env.runner.domain
        before = LIBRARY.corpus(tmp_path / "index")
        assert LIBRARY.corpus(tmp_path / "index") is before
        build(PAGES[:3], tmp_path / "index", kind="fts5")
        with pytest.raises(TaskError, match="Open the questions anew"):
            domain.world(task)
        assert LIBRARY.corpus(tmp_path / "index") is not before
        loose = task.model_copy(update={"initial_state": {**task.initial_state, "digest": None}})
        world = domain.world(loose)
        assert ODA in world.act(call("web_search", query="sailor"))


def test_paragraphs_that_were_changed(tmp_path: Path) -> None:
    context: list[list[Any]] = [["Velm", ["Oda Brisk is the mayor of Velm."]]]
    row: dict[str, Any] = {
        "_id": "h1",
        "question": "Who?",
        "answer": "Oda Brisk",
        "supporting_facts": [["Velm", 0]],
        "context": context,
    }
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps([row]))
    with closing(make(str(path))) as env:
        env.reset(seed=0)
        task, domain = env.episode.task, env.runner.domain
        assert "Oda Brisk" in domain.world(task).act(call("web_search", query="mayor Oda Brisk"))
        context[0][1] = ["Nobody at all is the mayor of Velm by now."]
        path.write_text(json.dumps([row]))
        with pytest.raises(TaskError, match=r"the file has changed\. Open the questions anew"):
            domain.world(task)
        loose = task.model_copy(update={"initial_state": {**task.initial_state, "digest": None}})
        assert "Nobody" in domain.world(loose).act(call("web_search", query="mayor nobody"))


def test_the_expert_hands_in_what_it_is_told(tmp_path: Path) -> None:
    rows = [
        {
            "_id": "h1",
            "question": "Which town has a mayor who was born in 1990?",
            "answer": "Velm",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [["Oda Brisk", 0], ["Velm", 0]],
            "context": [["Oda Brisk", ["Oda Brisk was born in 1990."]], ["Velm", ["Oda Brisk is the mayor of Velm."]]],
        }
    ]
    path = tmp_path / "hotpot.json"
    path.write_text(json.dumps(rows))
    with closing(make(str(path))) as env:
        env.reset(seed=0)
        plan = [json.loads(text) for text in expert_plan(env)]
        assert [step["name"] for step in plan] == ["web_search", "web_extractor"] * 2 + ["answer"]
        for step in plan:
            *_, info = env.step(json.dumps(step))
        assert info["success"]


def test_what_is_missing_is_said(name: str, tmp_path: Path) -> None:
    questions = name.partition("?")[0]
    for wrong, words in (
        (str(tmp_path / "index"), "has no questions"),
        (questions, "name an index"),
        (f"{questions}?index={tmp_path / 'nowhere'}", "nowhere"),
        (f"{questions}?indx={tmp_path / 'index'}", "Did you mean 'index'"),
        (f"{tmp_path / 'none.jsonl'}?index={tmp_path / 'index'}", "none.jsonl"),
    ):
        with pytest.raises(ConfigError, match=words):
            make(wrong)
