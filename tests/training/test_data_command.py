"""`agentworld data`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from training.support import rows_of
from typer.testing import CliRunner, Result

from agentworld_envs.agents import Rollout
from agentworld_envs.cli.app import build


def run(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(argument) for argument in arguments])


def error_of(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    return " ".join(result.stderr.split())


def test_collect_says_what_was_kept(tmp_path: Path) -> None:
    out = tmp_path / "d"
    options = ["--epsilon", 0.2, "--tasks", "train", "--tasks", "valid_seen", "--max-steps", 12]
    result = run("data", "collect", "TextWorld", "-n", 5, "--out", out, *options)
    assert result.exit_code == 0, result.output
    assert "train: 5/5 episodes" in result.stderr
    for word in ("train: ", "valid_seen: ", "retrieval", "turns masked", "load_dataset"):
        assert word in result.stdout
    report = json.loads((out / "report.json").read_text())
    assert report["train"]["rows"] == len(rows_of(out / "data" / "train.jsonl")) > 0
    card = (out / "README.md").read_text()
    command = "agentworld data collect TextWorld --n 5 --tasks train --tasks valid_seen --epsilon 0.2 --max-steps 12"
    assert command in card
    assert str(tmp_path) not in card
    again = run("data", "collect", "TextWorld", "-n", 5, "--out", out, *options, "--resume")
    assert again.exit_code == 0
    assert (out / "README.md").read_text() == card


def test_rows_for_an_agent(tmp_path: Path) -> None:
    result = run("data", "collect", "TextWorld", "-n", 4, "--out", tmp_path, "--for", "agent", "--rows", "trajectory")
    assert result.exit_code == 0, result.output
    rows = rows_of(tmp_path / "data" / "train.jsonl")
    assert len(rows) == 4
    assert rows[0]["messages"][2]["content"].startswith("<action>")


def test_export_of_recordings_that_exist(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    assert (
        run("rollout", "TextWorld", "-n", 3, "--agent", "random", "--max-steps", 6, "--record", record).exit_code == 0
    )
    result = run("data", "export", record, record, "--out", tmp_path / "d", "--no-mask", "--split", "test")
    assert result.exit_code == 0, result.output
    assert "duplicate" in result.stdout
    rows = rows_of(tmp_path / "d" / "data" / "test.jsonl")
    assert {row["turn"] for row in rows} <= set(range(1, 7))
    assert "--no-mask" in (tmp_path / "d" / "README.md").read_text()


@pytest.mark.parametrize("command", ["collect", "export"])
def test_what_is_not_ours_is_not_written_over(tmp_path: Path, command: str) -> None:
    record = tmp_path / "r.jsonl"
    assert run("rollout", "TextWorld", "-n", 1, "--record", record).exit_code == 0
    what = "TextWorld" if command == "collect" else record
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "README.md").write_text("mine")
    assert "holds README.md and no" in error_of("data", command, what, "--out", theirs)
    assert [path.name for path in theirs.iterdir()] == ["README.md"]
    assert "Cannot use the folder" in error_of("data", command, what, "--out", record)


def test_an_export_is_not_exported_over(tmp_path: Path) -> None:
    record, out = tmp_path / "r.jsonl", tmp_path / "d"
    assert run("rollout", "TextWorld", "-n", 1, "--record", record).exit_code == 0
    assert run("data", "export", record, "--out", out, "--no-mask").exit_code == 0
    card = (out / "README.md").read_text()
    for command in (["export", record, "--split", "test"], ["collect", "TextWorld"]):
        assert "Choose a new" in error_of("data", *command, "--out", out)
    assert (out / "README.md").read_text() == card
    (out / "report.json").write_text("[]")
    assert "holds an export already" in error_of("data", "export", record, "--out", out)


def test_imagined_episodes_only_when_asked_for(tmp_path: Path) -> None:
    record = tmp_path / "r.jsonl"
    imagined = ["-b", "world_model", "--model", "scripted:oracle", "--max-steps", 4]
    assert run("rollout", "TextWorld", "-n", 2, "--agent", "random", *imagined, "--record", record).exit_code == 0
    result = run("data", "export", record, "--out", tmp_path / "d")
    assert result.exit_code == 1
    assert "simulated" in result.stdout
    assert "No row is left" in result.stdout
    assert run("data", "export", record, "--out", tmp_path / "d", "--simulated", "--no-mask").exit_code == 0


def test_slips_are_not_exported_to_an_agent(tmp_path: Path) -> None:
    out = tmp_path / "d"
    assert run("data", "collect", "TextWorld", "-n", 2, "--out", out, "--epsilon", 0.5).exit_code == 0
    recording = out / "recordings" / "train.jsonl"
    assert "an agent would learn the slips" in error_of(
        "data", "export", recording, "--out", tmp_path / "e", "--for", "agent"
    )


def test_an_interrupt_keeps_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Rollout._step

    def interrupted(self: Rollout) -> None:
        original(self)
        if self.summary().n >= 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Rollout, "_step", interrupted)
    result = run("data", "collect", "TextWorld", "-n", 9, "--num-envs", 1, "--out", tmp_path)
    assert result.exit_code == 130
    assert "--resume" in result.stdout
    monkeypatch.setattr(Rollout, "_step", original)
    assert run("data", "collect", "TextWorld", "-n", 9, "--out", tmp_path, "--resume").exit_code == 0
    report = json.loads((tmp_path / "report.json").read_text())["train"]
    assert report["episodes_kept"] == 9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["collect", "TextWrld"], "Did you mean 'TextWorld-v0'"),
        (["collect", "TextWorld", "--agent", "exprt"], "Did you mean 'expert'"),
        (["collect", "TextWorld", "--agent", "llm"], "--agent-model"),
        (["collect", "TextWorld", "--agent", "random", "--epsilon", "0.1"], "Only the agent 'expert' slips"),
        (["collect", "TextWorld", "--backend", "world_model"], "agentworld data export FILE --simulated"),
        (["collect", "TextWorld", "--tasks", "vald_seen"], "Did you mean 'valid_seen'"),
        (["collect", "TextWorld", "--rows", "trajectory", "--format", "prompt_completion"], "needs --rows turn"),
        (["collect", "TextWorld", "--n", "0"], "Invalid value"),
        (["collect", "TextWorld", "--epsilon", "2"], "Invalid value"),
        (["collect", "TextWorld", "--for", "judge"], "Invalid value"),
        (["export", "none.jsonl"], "Cannot read the trajectory file none.jsonl"),
        (["export", "/dev/null"], "holds no episode"),
    ],
)
def test_wrong_use_says_what_is_right(arguments: list[str], message: str, tmp_path: Path) -> None:
    assert message in error_of("data", *arguments, "--out", tmp_path / "d")


def test_help_names_both_commands() -> None:
    text = run("data", "--help").output
    assert "collect" in text
    assert "export" in text
