"""`agentworld check`: what it tells those who write tasks."""

from __future__ import annotations

from pathlib import Path

from terminal.conftest import need
from typer.testing import CliRunner

from agentworld_envs.cli.app import build

TASK = """
instruction = "Write 3 to /workspace/out.txt."
solution = "echo {number} > out.txt"
[checks]
kind = "file"
path = "{path}"
text = "3"
"""


def _check(folder: Path, number: int = 3, path: str = "/workspace/out.txt") -> tuple[int, str]:
    (folder / "t").mkdir(exist_ok=True)
    (folder / "t/agentworld.toml").write_text(TASK.format(number=number, path=path))
    result = CliRunner().invoke(build(), ["check", "Terminal", "--tasks", str(folder)])
    return result.exit_code, " ".join(result.output.split())


def test_a_right_task(tmp_path: Path) -> None:
    need("namespace")
    assert _check(tmp_path) == (0, "t: solved by its solution 1 task, 0 wrong")


def test_a_wrong_solution_is_explained(tmp_path: Path) -> None:
    need("namespace")
    code, output = _check(tmp_path, 4)
    assert code == 1
    assert "NOT SOLVED by its solution DOES NOT HOLD: file /workspace/out.txt found" in output
    assert "b'4\\n'" in output


def test_checks_that_ask_for_nothing(tmp_path: Path) -> None:
    need("namespace")
    folder = tmp_path / "t"
    folder.mkdir()
    text = "instruction = 'x'\nsolution = 'true'\n[[checks]]\nkind = 'absent'\npath = '/workspace/x'\n"
    (folder / "agentworld.toml").write_text(text)
    result = CliRunner().invoke(build(), ["check", "Terminal", "--tasks", str(tmp_path)])
    assert result.exit_code == 1
    assert "SOLVED BY DOING NOTHING" in result.output


def test_a_relative_path_is_refused(tmp_path: Path) -> None:
    code, output = _check(tmp_path, path="out.txt")
    assert code == 2
    assert "absolute" in output
