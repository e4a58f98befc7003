"""`agentworld rollout --control` and `agentworld control`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentworld_envs.cli.app import build

WM = ["--backend", "world_model", "--model", "scripted:oracle"]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(), list(arguments), env={"COLUMNS": "160"})
    return result.exit_code, result.output


def test_a_rollout_shows_what_went_wrong_on_purpose(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    code, output = run("rollout", "TextWorld", "--control", "E2", "-n", "4", "--json", str(file))
    assert code == 0
    assert "control E2" in output
    assert "faults on purpose" in output
    summary = json.loads(file.read_text())
    assert sum(count["injected"] for count in summary["faults"].values()) > 4
    assert summary["episodes"][0]["faults"][0]["by"] == "code"


def test_obedience_is_shown_apart() -> None:
    arguments = ("rollout", "TextWorld", "--control", "E1", "--inject", "instruction", "-n", "2", *WM)
    code, output = run(*arguments, "--instruction", "Be terse.", "--fault-count", "1", "--fault-duration", "3")
    assert code == 0
    assert "\nobeyed " in output
    assert "0 % (0/" in output


def test_levels_side_by_side() -> None:
    code, output = run("control", "TextWorld", "-n", "4", "--agent", "random", "--levels", "E0,E3", "--max-steps", "8")
    assert code == 0
    lines = [line for line in output.splitlines() if line.startswith(("E0 ", "E3 "))]
    assert len(lines) == 2
    assert " none " in lines[0]
    assert " x" in lines[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rollout", "TextWorld", "--control", "E7"), "level"),
        (("rollout", "TextWorld", "--control", "E1", "--inject", "instruction"), "world_model"),
        (("rollout", "TextWorld", "--instruction", "x"), "world_model"),
        (("rollout", "TextWorld", "--inject", "instruction"), "--control E1"),
        (("control", "TextWorld", "--levels", ","), "at least one level"),
        (("control", "TextWorld", "--levels", "E1,X"), "level"),
        (("control", "TextWorld", "--agent", "llm"), "expert or random"),
        (("control", "TextWorld", "--backend", "replay:nowhere.jsonl"), "nowhere"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], words: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert words in output
