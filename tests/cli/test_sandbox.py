"""`agentworld sandbox`: building and cleaning up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agentworld_envs.backends.sandbox.roots.build import Built
from agentworld_envs.cli import sandbox
from agentworld_envs.cli.app import build


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(), ["sandbox", *arguments])


@pytest.mark.parametrize("command", [[], ["build"], ["cleanup"]])
def test_help(command: list[str]) -> None:
    assert "Usage" in run(*command, "--help").output


def test_a_folder_is_built_and_its_digest_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def build_folder(folder: str, extra: tuple[str, ...], mirror: str) -> Built:
        asked.append((folder, extra, mirror))
        return Built(folder, "sha256:1", "packages")

    monkeypatch.setattr(sandbox, "build_folder", build_folder)
    folder = str(tmp_path / "root")
    result = run("build", "--folder", folder, "--with", "gcc", "--with", "vim", "--mirror", "http://mirror.invalid")
    assert (result.exit_code, result.stdout) == (0, f"{folder} sha256:1\n")
    assert asked == [(folder, ("gcc", "vim"), "http://mirror.invalid")]
    (tmp_path / "root" / "usr").mkdir(parents=True)
    assert "there already" in run("build", "--folder", folder, "--if-missing").stdout
    assert len(asked) == 1


@pytest.mark.parametrize("name", ["noname", "a@sha256:1"])
def test_an_image_needs_a_name(name: str) -> None:
    result = run("build", "--image", name)
    assert result.exit_code == 2
    assert "repository:tag" in result.stderr


def test_without_a_daemon(tmp_path: Path) -> None:
    pytest.importorskip("docker")
    host = f"unix://{tmp_path}/none"
    for command in (["build"], ["build", "--if-missing"]):
        result = run(*command, "--host", host)
        assert result.exit_code == 2
        assert "There is no Docker daemon" in result.stderr
        assert "Traceback" not in result.output
    result = run("cleanup", "--host", host)
    assert result.exit_code == 0
    assert "Containers were not looked at" in result.stderr
    assert "0 removed." in result.stdout


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "docker", None)
    result = run("build")
    assert result.exit_code == 2
    assert "agentworld-envs[docker]" in " ".join(result.stderr.split())


def test_cleanup_tells_what_it_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    from agentworld_envs.backends.sandbox.docker import removal
    from agentworld_envs.backends.sandbox.docker.owner import Lease, new_folder

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(removal.Daemon, "containers", lambda *_: [])
    me = Lease.new()
    dead = new_folder(me._replace(owner=me.owner._replace(pid=2**22 - 1, start=1)))
    mine = new_folder(me)
    result = run("cleanup")
    assert f"removed {dead}" in " ".join(result.stdout.split())
    assert os.listdir(tmp_path) == [os.path.basename(mine)]
