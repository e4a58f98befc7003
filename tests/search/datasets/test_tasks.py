"""Questions of a file as tasks, over the paragraphs that came with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from search.datasets import samples

from agentworld_envs.domains.search.answers import score
from agentworld_envs.domains.search.datasets.contexts import context_pages, title_url
from agentworld_envs.domains.search.datasets.tasks import DatasetTasks
from agentworld_envs.domains.search.engine.urls import canonical
from agentworld_envs.interface import ConfigError


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


def test_addresses_that_a_row_hides_are_canonical(tmp_path: Path) -> None:
    rows = [{**samples.HOTPOT[0], "answer": "yes"}]
    path = str(samples.write_lines(tmp_path / "p.jsonl", samples.PLAIN))
    with pytest.raises(ConfigError, match=r"without paragraphs.*\?index=FOLDER"):
        DatasetTasks.parse(path)
    assert rows


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
