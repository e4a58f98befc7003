"""Questions of a file as tasks, over the paragraphs that came with them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from search.datasets import samples

from agentworld_envs import AgentWorldEnv
from agentworld_envs.domains.search.answers import score
from agentworld_envs.domains.search.briefing import place_of
from agentworld_envs.domains.search.datasets.contexts import context_pages, title_url
from agentworld_envs.domains.search.datasets.load import read_questions
from agentworld_envs.domains.search.datasets.tasks import DatasetTasks
from agentworld_envs.domains.search.engine import build, canonical
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError, TaskError
from agentworld_envs.task_files import write_task_file


def test_paragraphs_are_the_corpus(tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    source = DatasetTasks.parse(str(path))
    assert source.size == 2
    task = source[1]
    assert task == source.find("5a8c7595") == DatasetTasks.parse(str(path))[1]
    assert task.initial_state == {"index": {"contexts": str(path)}, "digest": source.digest, "mask": []}
    assert task.hidden == {"answer": "14 April 1912", "supporting": ["Ada Quill", "Tarn"]}
    assert score(task.verifier["answer"], task.hidden["answer"]).correct
    assert "1912" not in task.instruction
    pages = context_pages(path)
    assert [page.title for page in pages] == ["Ada Quill", "Bo Marrow", "Tarn"]
    assert all(page.url == canonical(page.url) for page in pages)
    assert pages[2].text == "Tarn is a town.\n\nTarn is a town. It was founded on 14 April 1912."


def test_paragraphs_of_one_title_are_one_page(tmp_path: Path) -> None:
    pages = context_pages(samples.write_lines(tmp_path / "m.jsonl", samples.MUSIQUE))
    assert [page.title for page in pages] == ["Tarn", "Ouse"]
    assert pages[0].text == "Tarn lies on the river Ouse.\n\nTarn has a mill."


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    before = DatasetTasks.parse(str(path))
    assert len(context_pages(path)) == 3
    samples.write_json(path, samples.HOTPOT[1:])
    assert len(context_pages(path)) == 2
    assert DatasetTasks.parse(str(path)).digest != before.digest


def test_masks(tmp_path: Path) -> None:
    path = str(samples.write_json(tmp_path / "h.json", samples.HOTPOT))
    assert DatasetTasks.parse(path)[0].initial_state["mask"] == []
    masked = DatasetTasks.parse(f"{path}?mask=source&limit=1")
    assert masked.size == 1
    assert masked[0].initial_state["mask"] == [title_url("Ada Quill"), title_url("Bo Marrow")]


def test_questions_without_paragraphs_need_an_index(tmp_path: Path) -> None:
    path = samples.write_lines(tmp_path / "p.jsonl", samples.PLAIN)
    with pytest.raises(ConfigError, match=r"without paragraphs.*\?index=FOLDER"):
        DatasetTasks.parse(str(path))
    with pytest.raises(ConfigError, match="without paragraphs"):
        context_pages(path)
    with pytest.raises(ConfigError, match="none"):
        DatasetTasks.parse(f"{path}?index={tmp_path / 'none'}")


PAGES = [
    Page("1", "https://example.org/tarn", "Tarn", "Tarn was founded on 14 April 1912. Ada Quill was born there."),
    Page("2", "https://example.org/quill", "Ada Quill", "Ada Quill, born in Tarn, founded Quill."),
    Page("3", "https://example.org/towns", "Towns on the Ouse", "Tarn (1912) and Barrow lie on the Ouse."),
    Page("4", "https://mirror.example.org/tarn", "TARN", "A copy: Tarn was founded on 14 April 1912."),
]


@pytest.fixture
def index(tmp_path: Path) -> str:
    folder = tmp_path / "an index+1"
    build(PAGES, folder, kind="fts5")
    return str(folder)


def test_questions_over_an_index(tmp_path: Path, index: str) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    source = DatasetTasks.parse(f"{path}?index={index}&mask=source")
    task = source.find("5a8c7595")
    assert task.initial_state["index"] == index
    assert sorted(task.initial_state["mask"]) == [
        "https://example.org/quill",
        "https://example.org/tarn",
        "https://mirror.example.org/tarn",
    ]
    assert DatasetTasks.parse(f"{path}?index={index}").find("5a8c7595").initial_state["mask"] == []
    twin = pickle.loads(pickle.dumps(source))
    assert (twin.name, twin[1]) == (source.name, source[1])


def test_addresses_that_a_row_hides_are_hidden(tmp_path: Path, index: str) -> None:
    rows = [*samples.PLAIN, {"question": "none", "answer": "x", "mask_url": ["", None, " "]}]
    path = samples.write_lines(tmp_path / "p.jsonl", rows)
    source = DatasetTasks.parse(f"{path}?index={index}")
    assert source[4].initial_state["mask"] == ["https://example.org/tarn"]
    assert source[5].initial_state["mask"] == []
    assert DatasetTasks.parse(f"{path}?index={index}&mask=none")[4].initial_state["mask"] == []


@pytest.mark.parametrize(
    "mask", ["not an address", ["https://example.org/tarn", "example.org/x"], "file:///etc/passwd", 5, {"url": "x"}]
)
def test_what_hides_nothing_is_a_bad_row(tmp_path: Path, mask: object) -> None:
    rows = [*samples.PLAIN, {"question": "bad", "answer": "x", "mask_url": mask}]
    found = read_questions(samples.write_lines(tmp_path / "p.jsonl", rows))
    assert len(found.rows) == 5
    ((line, reason),) = found.problems
    assert line == 6
    assert "no address" in reason


@pytest.mark.parametrize(
    "given", ["http://example.org/tarn", "https://www.example.org/tarn", "HTTP://WWW.example.org/tarn/"]
)
def test_a_page_with_http_or_www_is_the_same_page(tmp_path: Path, index: str, given: str) -> None:
    rows = [{"question": "?", "answer": "x", "mask_url": given}]
    source = DatasetTasks.parse(f"{samples.write_lines(tmp_path / 'p.jsonl', rows)}?index={index}")
    assert source[0].initial_state["mask"] == [canonical(given), "https://example.org/tarn"]
    assert not source.unfound


def test_a_page_without_www_is_hidden_with_it(tmp_path: Path) -> None:
    build([Page("1", "http://www.example.org/a", "A", "a text")], tmp_path / "index", kind="fts5")
    rows = [{"question": "?", "answer": "x", "mask_url": ["https://example.org/a", "https://example.org/b"]}]
    source = DatasetTasks.parse(f"{samples.write_lines(tmp_path / 'p.jsonl', rows)}?index={tmp_path / 'index'}")
    assert source[0].initial_state["mask"] == [
        "https://example.org/a",
        "http://www.example.org/a",
        "https://example.org/b",
    ]
    assert source.unfound == {"https://example.org/b"}


@pytest.mark.parametrize("passages", [30, 1500])
def test_every_passage_of_a_title_is_hidden(tmp_path: Path, passages: int) -> None:
    pages = [
        Page(f"{n}", f"https://example.org/{n}", "Tarn", f"Passage {n}: Tarn was founded in 1912. " + "word " * n)
        for n in range(passages)
    ]
    pages += [Page(f"o{n}", f"https://example.org/o{n}", f"Tarn {n}", f"On Tarn {n}.") for n in range(40)]
    build(pages, tmp_path / "index", kind="fts5")
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT[1:])
    source = DatasetTasks.parse(f"{path}?index={tmp_path / 'index'}&mask=source")
    assert sorted(source[0].initial_state["mask"]) == sorted(page.url for page in pages[:passages])
    assert source.unfound == {"Ada Quill"}


def test_a_title_that_many_others_have_words_of(tmp_path: Path) -> None:
    pages = [Page(f"o{n}", f"https://example.org/o{n}", f"Tarn {n}", "Tarn, Tarn.") for n in range(300)]
    pages.append(Page("1", "https://example.org/tarn", "Tarn", "It was founded in 1912. " * 90))
    build(pages, tmp_path / "index", kind="fts5")
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT[1:])
    source = DatasetTasks.parse(f"{path}?index={tmp_path / 'index'}&mask=source")
    assert source[0].initial_state["mask"] == ["https://example.org/tarn"]


def test_places_are_absolute(tmp_path: Path, index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    monkeypatch.chdir(tmp_path)
    assert DatasetTasks.parse("h.json")[0].initial_state["index"] == {"contexts": str(tmp_path / "h.json")}
    task = DatasetTasks.parse(f"h.json?index={Path(index).name}")[0]
    assert task.initial_state["index"] == index
    monkeypatch.chdir("/")
    assert place_of(task).index.digest == task.initial_state["digest"]
    Path(index).rename(tmp_path / "moved")
    expected = rf"digest {task.initial_state['digest']!r}.*moved.*ln -s NEW_PLACE"
    with pytest.raises(TaskError, match=expected):
        place_of(task)
    Path(index).symlink_to(tmp_path / "moved")
    assert place_of(task).index.digest == task.initial_state["digest"]


def test_masks_that_hide_nothing_are_told_once(tmp_path: Path, index: str, caplog: pytest.LogCaptureFixture) -> None:
    rows = [
        {"id": "a", "question": "q", "answer": "x", "mask_url": ["https://example.org/tarn", "https://nowhere.org/"]},
        {"id": "b", "question": "q", "answer": "x", "supporting": ["Tarn"]},
        {"id": "c", "question": "q", "answer": "x", "supporting": "No such page"},
        {"id": "d", "question": "q", "answer": "x", "supporting": ["https://example.org/quill"]},
    ]
    path = samples.write_lines(tmp_path / "p.jsonl", rows)
    name = f"{path}?index={index}&mask=source"
    source = DatasetTasks.parse(name)
    said = caplog.text
    assert "1 of 2 masked addresses are not in the corpus and hide nothing, for example 'https://nowhere.org/'" in said
    assert "1 of 4 questions name no supporting pages" in said
    assert "of the first 4 questions 1 have supporting pages that are not in the corpus" in said
    assert [source[number].tags for number in range(4)] == [
        ("plain", "masked"),
        ("plain", "masked"),
        ("plain",),
        ("plain", "masked"),
    ]
    assert source[3].initial_state["mask"] == ["https://example.org/quill"]
    DatasetTasks.parse(name)
    assert caplog.text == said
    caplog.clear()
    DatasetTasks.parse(f"{path}?index={index}&mask=none")
    assert not caplog.text


def play(tasks: str, task_id: str, actions: Sequence[str]) -> tuple[str, float, dict[str, Any]]:
    """All that an episode shows behind its first observation, its return and last info."""
    env = AgentWorldEnv("search", tasks=tasks)
    try:
        env.reset(seed=0, options={"task_id": task_id})
        shown, total = "", 0.0
        for action in actions:
            observation, reward, _, _, info = env.step(action)
            shown, total = shown + str(observation) + "\n", total + float(reward)
        return shown, total, info
    finally:
        env.close()


def test_hidden_pages_are_neither_found_nor_opened(tmp_path: Path, index: str) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    actions = [
        "Tarn founded",
        json.dumps({"name": "visit", "arguments": {"url": ["https://example.org/tarn"], "goal": "founded"}}),
        json.dumps({"name": "web_extractor", "arguments": {"url": "HTTPS://EXAMPLE.org:443/tarn#x"}}),
        json.dumps({"name": "answer", "arguments": {"answer": "April 14th, 1912"}}),
    ]
    open_, total, info = play(f"{path}?index={index}", "5a8c7595", actions)
    assert "founded on 14 April 1912" in open_
    assert (total, info["success"]) == (1.0, True)
    hidden, _, _ = play(f"{path}?index={index}&mask=source", "5a8c7595", actions)
    assert "Towns on the Ouse" in hidden
    assert "14 April 1912" not in hidden
    assert "Title: Tarn" not in hidden


def test_the_files_own_paragraphs_are_played(tmp_path: Path) -> None:
    path = samples.write_lines(tmp_path / "m.jsonl", samples.MUSIQUE)
    shown, total, info = play(str(path), "2hop__482757_12019", ["Tarn river", "<answer>79 miles</answer>"])
    assert "https://en.wikipedia.org/wiki/Tarn" in shown
    assert (total, info["success"]) == (1.0, True)


def test_kept_tasks_of_a_question_file(tmp_path: Path, index: str) -> None:
    base = f"{samples.write_json(tmp_path / 'h.json', samples.HOTPOT)}?index={index}"
    write_task_file(tmp_path / "kept", "search", base, [{"id": "5a8b57f2"}], {})
    _, total, info = play(str(tmp_path / "kept"), "5a8b57f2", ["<answer>Yes, both were.</answer>"])
    assert (total, info["task_id"]) == (1.0, "5a8b57f2")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?maks=source", "Did you mean 'mask'"),
        ("?mask=sources", "Did you mean 'source'"),
        ("?limit=none", "whole number"),
        ("?limit=0", "at least 1"),
        ("?limit=-1", "whole number"),
        ("?index=", "folder of an index"),
        ("?mask=none&mask=rows", "twice"),
    ],
)
def test_wrong_options(tmp_path: Path, query: str, said: str) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    with pytest.raises(ConfigError, match=said):
        DatasetTasks.parse(f"{path}{query}")


def test_unknown_task_and_index(tmp_path: Path) -> None:
    source = DatasetTasks.parse(str(samples.write_json(tmp_path / "h.json", samples.HOTPOT)))
    with pytest.raises(ConfigError, match="Did you mean '5a8b57f2'"):
        source.find("5a8b57f")
    for index in (-1, 2):
        with pytest.raises(IndexError):
            source[index]


@pytest.mark.parametrize("title", ["AC/DC", "..", "", "a" * 3000, "東京", "100% (film)", "?", "#", "C++ & D"])
def test_every_title_has_a_canonical_address(title: str) -> None:
    assert title_url(title) == canonical(title_url(title))
