"""Files: what was written is what is read, by json, by pyarrow and by datasets; and a chat template renders it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain
from training.support import EVIL, EvilDomain, a_task, played, rows_of

from agentworld_envs.backends.world_model.codec import defuse, parse_prediction
from agentworld_envs.interface import ConfigError, MissingExtraError
from agentworld_envs.training import export
from agentworld_envs.training.card import Card
from agentworld_envs.training.export import Exporter
from agentworld_envs.training.rows import RowSettings, WorldModelRows
from agentworld_envs.trajectories import Trajectory

REQUIRED = "datasets" in os.environ.get("AGENTWORLD_REQUIRE", "").split(",")
needs_datasets = pytest.mark.skipif(
    not REQUIRED and (find_spec("pyarrow") is None or find_spec("datasets") is None),
    reason="datasets and pyarrow are not installed",
)
MODEL = os.environ.get("AGENTWORLD_SMOLLM2", "")
CARD = Card("Rows", "agentworld data collect TextWorld")


@pytest.fixture
def evil(tmp_path: Path) -> Trajectory:
    return played(EvilDomain(), ["up"] * len(EVIL), tmp_path / "r.jsonl", task=a_task("evil"))


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`datasets.load_dataset` without network and with a cache of its own."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    from datasets import load_dataset

    return lambda *arguments, **fields: load_dataset(*arguments, cache_dir=str(tmp_path / "cache"), **fields)


def builder(unit: Any = "turn") -> WorldModelRows:
    return WorldModelRows(RowSettings(unit, mask=False), EvilDomain())


def test_lines_are_ascii_json_with_the_same_columns(evil: Trajectory, tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "d", builder())
    path = exporter.split("train", [evil])
    rows = rows_of(path)
    assert len(rows) == len(EVIL) == exporter.reports["train"].rows
    columns = ["messages", "loss", "mask_class", "task_id", "domain", "seed", "turn", "source"]
    assert all(list(row) == columns for row in rows)
    for row, text in zip(rows, EVIL, strict=True):
        expected = defuse(text).replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
        assert parse_prediction(row["messages"][-1]["content"]).text == expected
    assert exporter.reports["train"].surrogates_replaced > 0
    assert not list(path.parent.glob("*.part"))


def test_prompt_and_completion(evil: Trajectory, tmp_path: Path) -> None:
    chat = rows_of(Exporter(tmp_path / "a", builder()).split("train", [evil]))
    pairs = rows_of(Exporter(tmp_path / "b", builder(), layout="prompt_completion").split("train", [evil]))
    for row, pair in zip(chat, pairs, strict=True):
        assert pair["prompt"] + pair["completion"] == row["messages"]
        assert len(pair["completion"]) == 1
        assert pair["mask_class"] == row["mask_class"][-1]
        assert "loss" not in pair
    with pytest.raises(ConfigError, match="--rows turn"):
        Exporter(tmp_path / "c", builder("trajectory"), layout="prompt_completion").split("train", [evil])
    assert not (tmp_path / "c" / "data" / "train.jsonl").exists()


def test_identical_rows_are_written_once_in_all_splits(tmp_path: Path) -> None:
    one = played(ToyDomain(), ["up", "down"], tmp_path / "a.jsonl", task=a_task())
    other = played(ToyDomain(), ["up", "up"], tmp_path / "b.jsonl", task=a_task(), seed=9)
    exporter = Exporter(tmp_path / "d", WorldModelRows(RowSettings(mask=False), ToyDomain()))
    exporter.split("train", [one, one])
    exporter.split("valid", [other])
    assert exporter.reports["train"].rows == 2
    assert exporter.reports["train"].rows_dropped == {"duplicate": 2}
    # The first turn is the same, whatever the seed.
    assert exporter.reports["valid"].rows == 1
    assert exporter.reports["valid"].rows_dropped == {"duplicate": 1}


def test_long_rows_are_counted(evil: Trajectory, tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "d", builder(), max_characters=20_000)
    exporter.split("train", [evil])
    assert exporter.reports["train"].rows_dropped == {"too_long": 1}


def test_the_card_says_all(evil: Trajectory, tmp_path: Path) -> None:
    exporter = Exporter(tmp_path / "d", builder())
    exporter.split("train", [evil, evil])
    exporter.split("nothing", [])
    text = exporter.finish(CARD).read_text()
    assert "| rows | duplicate | 15 |" in text
    assert "path: data/train.jsonl" in text
    assert "split: nothing" not in text, "datasets refuses empty files"
    assert CARD.command in text
    assert json.loads((tmp_path / "d" / "report.json").read_text())["train"]["rows"] == 15


@pytest.mark.parametrize(
    ("fields", "message"), [({"layout": "chat"}, "'messages' or"), ({"max_characters": 0}, "at least 1")]
)
def test_wrong_use(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        Exporter(tmp_path, builder(), **fields)


def test_a_folder_that_cannot_be_written(evil: Trajectory) -> None:
    with pytest.raises(ConfigError, match="Cannot write to /dev/null/x"):
        Exporter("/dev/null/x", builder()).split("train", [evil])


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"agentworld-envs\[datasets\]"):
        Exporter(tmp_path, builder(), parquet=True)


@needs_datasets
@pytest.mark.parametrize("layout", ["messages", "prompt_completion"])
@pytest.mark.parametrize("group", [2, 1_000])
def test_parquet_round_trip(
    evil: Trajectory, tmp_path: Path, layout: Any, group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow import parquet

    monkeypatch.setattr(export, "GROUP_ROWS", group)
    path = Exporter(tmp_path / "d", builder(), layout=layout, parquet=True).split("train", [evil])
    table = parquet.read_table(tmp_path / "d" / "parquet" / "train.parquet")
    assert table.to_pylist() == rows_of(path)


@needs_datasets
def test_parquet_of_an_earlier_export_is_deleted(
    evil: Trajectory, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Exporter(tmp_path / "d", builder(), parquet=True).split("train", [evil])
    notes = tmp_path / "d" / "parquet" / "notes.txt"
    notes.write_text("mine")
    Exporter(tmp_path / "d", builder()).split("train", [evil])
    assert list(notes.parent.iterdir()) == [notes]
    assert "add --parquet" in caplog.text
    notes.unlink()
    Exporter(tmp_path / "d", builder(), parquet=True).split("train", [evil])
    Exporter(tmp_path / "d", builder()).split("train", [evil])
    assert not notes.parent.exists()


@needs_datasets
def test_an_empty_split_is_a_parquet_file(tmp_path: Path) -> None:
    from pyarrow import parquet

    Exporter(tmp_path / "d", builder(), parquet=True).split("train", [])
    assert parquet.read_table(tmp_path / "d" / "parquet" / "train.parquet").num_rows == 0


@needs_datasets
@pytest.mark.parametrize("unit", ["turn", "trajectory"])
def test_datasets_loads_the_folder_and_the_files(
    evil: Trajectory, tmp_path: Path, load: Callable[..., Any], unit: Any
) -> None:
    exporter = Exporter(tmp_path / "d", builder(unit), parquet=True)
    path = exporter.split("train", [evil])
    exporter.finish(CARD)
    expected = rows_of(path)
    folder = load(str(tmp_path / "d"))
    assert list(folder) == ["train"]
    lines = load("json", data_files=str(path))["train"]
    table = load("parquet", data_files=str(tmp_path / "d" / "parquet" / "train.parquet"))["train"]
    for loaded in (folder["train"], lines, table):
        assert loaded.to_list() == expected
        # What SFTTrainer takes for a conversation: a column of lists of {role, content}.
        assert set(loaded[0]["messages"][0]) == {"role", "content"}


@needs_datasets
def test_datasets_loads_prompt_and_completion(evil: Trajectory, tmp_path: Path, load: Callable[..., Any]) -> None:
    path = Exporter(tmp_path / "d", builder(), layout="prompt_completion").split("train", [evil])
    loaded = load("json", data_files=str(path))["train"]
    assert {"prompt", "completion"} <= set(loaded.column_names)
    assert loaded.to_list() == rows_of(path)


@pytest.mark.skipif(
    "smollm2" not in os.environ.get("AGENTWORLD_REQUIRE", "") and (not MODEL or find_spec("transformers") is None),
    reason="AGENTWORLD_SMOLLM2 does not point at a model, or transformers is not installed",
)
def test_a_chat_template_renders_every_row(evil: Trajectory, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    (weights,) = Path(MODEL).glob("*.gguf") if Path(MODEL).is_dir() else [Path(MODEL)]
    tokenizer = AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
    template = tokenizer.chat_template or (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for row in rows_of(Exporter(tmp_path / "d", builder()).split("train", [evil])):
        messages = row["messages"]
        text = tokenizer.apply_chat_template(messages, chat_template=template, tokenize=False)
        assert all(message["content"] in text for message in messages)
        # One end of turn per message: no text of the world or of an agent ends one.
        assert tokenizer(text, add_special_tokens=False)["input_ids"].count(end) == len(messages)
