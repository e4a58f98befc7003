"""`agentworld fidelity`, in process, and its picture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agentworld_envs.agents import ExpertAgent
from agentworld_envs.cli.app import build
from agentworld_envs.evaluation.drift_plot import PANELS, draw_drift, drift_figure
from agentworld_envs.evaluation.fidelity import Fidelity
from agentworld_envs.evaluation.fidelity_report import FidelityReport
from agentworld_envs.interface import ConfigError, MissingExtraError
from agentworld_envs.testing import CounterDomain
from agentworld_envs.trajectories import read_trajectories


def run(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(argument) for argument in arguments])


def test_the_table_separates_two_models_and_files_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out, record = tmp_path / "a" / "b", tmp_path / "t.jsonl"
    models = ["-m", "scripted:oracle", "--model", "scripted:nothing"]
    result = run("fidelity", "TextWorld", *models, "-n", 3, "--steps", 9, "--out", out, "--record", record)
    assert result.exit_code == 0, result.output
    rows = {line[:22].strip(): line for line in result.stdout.splitlines()}
    for name in ("exact match", "facts right", "edit similarity", "token F1", "deceived", "verdicts agree", "go"):
        assert name in " ".join(rows)
    assert "1.000 (1.000-1.000)" in rows["exact match"]
    assert "0.000 (0.000-0.000)" in rows["exact match"]
    assert "Teacher-forced" in result.stdout
    assert "Free-running" in result.stdout
    assert "scripted:oracle, teacher_forced: 3/3 episodes" in result.stderr
    data = json.loads((out / "fidelity.json").read_text())
    assert data["environment"] == "AgentWorld/TextWorld-v0"
    assert len(data["models"]) == 2
    assert (out / "drift.png").read_bytes().startswith(b"\x89PNG")
    assert len(read_trajectories(record)) == 12


def test_one_mode_and_a_random_agent(tmp_path: Path) -> None:
    result = run(
        "fidelity",
        "TextWorld",
        "-m",
        "scripted:oracle",
        "-n",
        2,
        "--mode",
        "free-running",
        "--agent",
        "random",
        "--steps",
        5,
        "--out",
        tmp_path,
    )
    assert result.exit_code == 0, result.output
    assert "Teacher-forced" not in result.stdout
    modes = json.loads((tmp_path / "fidelity.json").read_text())["models"][0]["modes"]
    assert list(modes) == ["free_running"]
    assert modes["free_running"]["scores"]["exact"]["mean"] == 1.0


def test_nothing_to_score_is_said_plainly(tmp_path: Path) -> None:
    result = run("fidelity", "TextWorld", "-m", "scripted:untagged", "-n", 1, "--steps", 2, "--out", tmp_path)
    assert result.exit_code == 1
    assert "No step could be scored" in result.stdout
    assert "simulator malformed x" in " ".join(result.stdout.split())
    assert (tmp_path / "fidelity.json").exists()


def test_without_matplotlib_the_rest_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("fidelity", "TextWorld", "-m", "scripted:oracle", "-n", 1, "--steps", 2, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "pip install 'agentworld-envs[plots]'" in result.stdout
    assert (tmp_path / "fidelity.json").exists()
    assert not (tmp_path / "drift.png").exists()


def test_an_interrupt_prints_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = Fidelity._play, 0

    def interrupted(self: Fidelity, *arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Fidelity, "_play", interrupted)
    result = run("fidelity", "TextWorld", "-m", "scripted:oracle", "-n", 2, "--steps", 3, "--out", tmp_path)
    assert result.exit_code == 130
    assert "interrupted" in result.stdout
    data = json.loads((tmp_path / "fidelity.json").read_text())
    assert data["interrupted"] is True
    assert data["models"][0]["modes"]["teacher_forced"]["episodes"] == 2
    assert data["models"][0]["modes"]["free_running"]["episodes"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["TextWrld", "-m", "scripted:oracle"], "Unknown environment id 'TextWrld'"),
        (["TextWorld", "-m", "scripted:orcle"], "Did you mean 'oracle'"),
        (["TextWorld", "-m", "scripted:oracle", "--mode", "teacher_force"], "Did you mean 'teacher_forced'"),
        (["TextWorld", "-m", "scripted:oracle", "--agent", "exprt"], "Did you mean 'expert'"),
        (["TextWorld", "-m", "scripted:oracle", "--agent", "llm"], "--agent-model"),
        (["TextWorld", "-m", "scripted:oracle", "--out", "/dev/null/x"], "Cannot write to /dev/null/x"),
        (["Terminal"], "has no model of its own"),
    ],
)
def test_wrong_use_says_what_is_right(arguments: list[str], message: str) -> None:
    result = run("fidelity", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_rollout_on_a_shadow_takes_the_simulators_settings(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    arguments = ["-b", "shadow:world_model", "--model", "scripted:oracle", "--max-tokens", 99, "--record", path]
    assert run("rollout", "TextWorld", "-n", 1, *arguments).exit_code == 0
    backend = read_trajectories(path)[0].reset.backend
    assert (backend["shown"], backend["world_model"]["sampling"]["max_tokens"]) == ("world_model", 99)


@pytest.fixture(scope="module")
def report() -> FidelityReport:
    models = ["scripted:oracle", "scripted:echo", "scripted:untagged"]
    return Fidelity(CounterDomain(), models, ExpertAgent(), episodes=4).run()


def test_the_picture_can_be_read(report: FidelityReport) -> None:
    pytest.importorskip("matplotlib")
    figure = drift_figure(report)
    exact, edit, counts = figure.axes
    for axis in figure.axes:
        assert "step" in axis.get_xlabel()
        assert axis.get_ylabel()
    assert exact.get_ylabel() == PANELS["exact"]
    assert "0 to 1" in edit.get_ylabel()
    assert "number" in counts.get_ylabel()
    assert len(exact.lines) == 6  # a line for each model and mode
    assert len(exact.collections) >= 4  # and a band
    [legend] = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[0] == "scripted:oracle, teacher-forced"
    assert names[-1] == "scripted:untagged, free-running (no step answered)"
    lines = {line.get_label(): line for line in exact.lines}
    assert max(lines["scripted:echo, teacher-forced"].get_ydata()) == 0.0
    assert min(lines["scripted:oracle, free-running"].get_ydata()) == 1.0


def test_a_picture_of_nothing_is_drawn_all_the_same(report: FidelityReport, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    empty = report.model_copy(update={"models": report.models[2:]})
    draw_drift(empty, tmp_path / "d.png")
    with pytest.raises(ConfigError, match="Cannot write"):
        draw_drift(report, tmp_path / "no" / "d.png")


def test_the_missing_extra_is_named(report: FidelityReport, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="plots"):
        drift_figure(report)
