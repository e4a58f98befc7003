"""`agentworld tasks`."""

from __future__ import annotations

import json
from pathlib import Path

from cli.test_commands import error_of, run
from search.datasets import samples

from agentworld_envs.domains.search.engine import build
from agentworld_envs.domains.search.pages import Page


def index(folder: Path) -> None:
    build([Page("1", "https://a.example/1", "Lyon", "Lyon lies on the Rhone.")], folder, kind="fts5")


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
    assert "Nothing kept, no file written." in result.output
    assert "Agent: noisy-expert" in result.output
    assert not out.exists()


def test_filter_has_an_agent_that_searches_where_answers_are_handed_in(tmp_path: Path) -> None:
    result = run(
        "tasks", "filter", "Search", "--tasks", "train@1:tiny", "--n", "1", "--k", "2", "--out", tmp_path / "x"
    )
    assert "Agent: searcher" in result.output
    assert json.loads((tmp_path / "x.report.json").read_text())["about"]["agent"]["name"] == "searcher"


def test_show_tells_answers_in_short_first(tmp_path: Path) -> None:
    path = samples.write_lines(tmp_path / "p.jsonl", [{"question": "q", "answer": ["Lyon", "Porto"]}])
    index(tmp_path / "index")
    shown = run("tasks", "show", "Search", "--tasks", f"{path}?index={tmp_path / 'index'}", "--answers").output
    assert "answer: any of: Lyon / Porto\nhidden: " in shown
    shown = run("tasks", "show", "Search", "--tasks", "train@1:tiny", "-n", "1", "--answers").output
    assert 0 < shown.index("answer: ") < shown.index('"level"') < shown.index('"sql"')


def test_errors(tmp_path: Path) -> None:
    given = ("tasks", "filter", "TextWorld", "--out", tmp_path / "x")
    assert "two numbers such as 1-7" in error_of(*given, "--keep", "some")
    assert "between 0 and 8" in error_of(*given, "--keep", "1-9")
    assert "--agent-model" in error_of(*given, "--agent", "llm")
    assert "Unknown agent" in error_of(*given, "--agent", "nobody")
    assert "Unknown task set" in error_of(*given, "--tasks", "nothing")
    assert "Unknown" in error_of("tasks", "show", "Nowhere")


def test_a_recording_whose_index_has_moved(tmp_path: Path) -> None:
    path = samples.write_lines(tmp_path / "p.jsonl", [{"question": "Where is Lyon?", "answer": "on the Rhone"}])
    index(tmp_path / "index")
    record = tmp_path / "t.jsonl"
    given = ("--tasks", f"{path}?index={tmp_path / 'index'}", "--agent", "expert", "-n", "1", "--record", record)
    assert run("rollout", "Search", *given).exit_code == 0
    assert run("replay", record, "--backend", "real").exit_code == 0
    (tmp_path / "index").rename(tmp_path / "moved")
    result = run("replay", record, "--backend", "real")
    shown = " ".join(result.output.split())
    assert result.exit_code == 1
    assert "step 0 failed, recorded None: " in shown
    assert "with the digest" in shown
    assert f"ln -s NEW_PLACE {tmp_path / 'index'}" in shown
    assert run("replay", record).exit_code == 0, "a recording answers for itself"


def test_check_says_what_it_cannot_verify(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "question": "Where is Lyon?", "answer": "on the Rhone"},
        {"id": "b", "question": "Where is Porto?", "answer": "on the Douro", "supporting": ["Porto"]},
    ]
    path = samples.write_lines(tmp_path / "p.jsonl", rows)
    index(tmp_path / "index")
    result = run("check", "Search", "--tasks", f"{path}?index={tmp_path / 'index'}")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "a: the answer stands on https://a.example/1",
        "b: NOT VERIFIED that it can be answered",
        "  the answer's text was not found on a page that is not masked: 'on the Douro'",
        "  supporting pages that are not in the index: 'Porto'",
        "2 tasks, 0 wrong, 1 not verified",
    ]
    result = run("check", "Search", "--tasks", "train:tiny", "-n", "1")
    assert "solved by its solution" in result.output
    assert "1 task, 0 wrong\n" in result.output
