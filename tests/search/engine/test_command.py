"""`agentworld corpus`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from agentworld_envs.cli.app import build


def _run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(build(), ["corpus", *words])
    return result.exit_code, result.output


def test_build_info_search(tmp_path: Path) -> None:
    source, index = tmp_path / "pages.jsonl", str(tmp_path / "new" / "folder" / "index")
    source.write_text('{"id": 1, "text": "A pear [tree].", "metadata": {"date": "2031"}}\n{bad\n')
    code, shown = _run("build", str(source), index, "--engine", "fts5")
    assert code == 0
    assert "1 pages, fts5" in shown
    assert "left out: 1 not JSON (line 2)" in shown
    code, shown = _run("info", index)
    assert code == 0
    assert "fts5" in shown
    assert "1 not JSON" in shown
    code, shown = _run("search", index, "pears", "OR", "(")
    assert code == 0
    assert "[1] https://corpus.local/1\nTitle: A pear [tree].\nSnippet: A pear [tree].\nDate: 2031" in shown
    assert _run("search", index, "zebra") == (0, "Nothing found.\n")


def test_errors(tmp_path: Path) -> None:
    assert _run("build", str(tmp_path / "none.jsonl"), str(tmp_path / "index"))[0] == 2
    code, shown = _run("search", str(tmp_path), "pear")
    assert code == 2
    assert "agentworld corpus build" in shown.replace("\n", " ")
