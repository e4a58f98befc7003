"""`agentworld tasks`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.test_commands import error_of, run
from search.datasets import samples


def test_show_tells_no_answers_unless_asked(tmp_path: Path) -> None:
    path = samples.write_json(tmp_path / "h.json", samples.HOTPOT)
    shown = run("tasks", "show", "Search", "--tasks", path, "--n", "5")
    assert shown.exit_code == 0
    assert "2 tasks" in shown.output
    assert "When was the town" in shown.output
    assert "hotpotqa, bridge, medium" in shown.output
    assert "1912" not in shown.output
    assert "14 April 1912" in run("tasks", "show", "Search", "--tasks", path, "--answers").output


def test_show_a_set_without_end() -> None:
    result = run("tasks", "show", "TextWorld", "-n", "2")
    assert result.exit_code == 0
    assert result.output.count("50 steps") == 2


def test_filter_and_use_what_it_keeps(tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    given = (
        "tasks",
        "filter",
        "TextWorld",
        "--n",
        "12",
        "--k",
        "4",
        "--epsilon",
        "0.6",
        "--max-steps",
        "20",
        "--out",
        out,
    )
    result = run(*given)
    assert result.exit_code == 0, result.output
    assert "kept (1 to 3 successes)" in result.output
    assert "never solved" in result.output
    before = out.read_bytes()
    assert run(*given).exit_code == 0
    assert out.read_bytes() == before
    kept = [json.loads(line)["id"] for line in before.decode().splitlines()[1:]]
    shown = run("tasks", "show", "TextWorld", "--tasks", out, "--n", "100")
    assert [line.split()[0] for line in shown.output.splitlines() if line.endswith(" steps")] == kept
    assert run("rollout", "TextWorld", "--tasks", out, "-n", "3").exit_code == 0


def test_filter_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    result = run("tasks", "filter", "TextWorld", "--n", "2", "--k", "2", "--epsilon", "0", "--out", out)
    assert result.exit_code == 1
    assert "always solved" in result.output
    assert not out.exists()


def test_errors(tmp_path: Path) -> None:
    given = ("tasks", "filter", "TextWorld", "--out", tmp_path / "x")
    assert "two numbers such as 1-7" in error_of(*given, "--keep", "some")
    assert "between 0 and 8" in error_of(*given, "--keep", "1-9")
    assert "--agent-model" in error_of(*given, "--agent", "llm")
    assert "Unknown agent" in error_of(*given, "--agent", "nobody")
    assert "Unknown task set" in error_of(*given, "--tasks", "nothing")
    assert "Unknown" in error_of("tasks", "show", "Nowhere")
