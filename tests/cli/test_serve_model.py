"""`agentworld serve-model`: what it prints, and that what it starts ends with it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentworld_envs.cli.server_command import ServerCommand
from agentworld_envs.interface import ConfigError

QWEN = "Qwen/Qwen-AgentWorld-35B-A3B"
SERVER = """
import http.server, json, os, subprocess, sys
arguments = sys.argv[1:]
port, name = (arguments[arguments.index(option) + 1] for option in ("--port", "--served-model-name"))
child = subprocess.Popen(["sleep", "1000"])
open(os.environ["STUB_PIDS"], "w").write(f"{os.getpid()} {child.pid}")
if name == "broken":
    sys.exit(3)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": [{"id": name}]}).encode())
print("x" * 200_000, flush=True)
http.server.HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


def printed(model: str, **fields: object) -> list[str]:
    fields = {"engine": "vllm", "loras": (), **fields}
    return shlex.split(str(ServerCommand.of(model, **fields)))  # type: ignore[arg-type]


def test_qwen_agentworld_on_vllm() -> None:
    words = printed(QWEN, python="python")
    assert words[:3] == ["python", "-m", "vllm.entrypoints.openai.api_server"]
    options = " ".join(words)
    for option in (
        f"--model {QWEN}",
        "--reasoning-parser qwen3",
        "--language-model-only",
        "--max-model-len 262144",
        "--tensor-parallel-size 4",
        "--enable-prefix-caching",
    ):
        assert option in options
    assert "--trust-remote-code" not in options
    assert "--tensor-parallel-size 1 " in " ".join(printed(QWEN, gpus=1))
    assert "--max-model-len 32768" in " ".join(printed(QWEN, context=32768))


def test_qwen_agentworld_on_sglang() -> None:
    options = " ".join(printed(QWEN, engine="sglang"))
    assert "-m sglang.launch_server" in options
    assert "--reasoning-parser qwen3" in options
    assert "--context-length 262144" in options


def test_other_models(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    command = ServerCommand.of(str(tmp_path / "tiny"), "vllm", (), cpu=True, port=9000)
    assert command.model_string == "openai:http://127.0.0.1:9000/v1#tiny"
    assert str(command).startswith("VLLM_CPU_KVCACHE_SPACE=2 ")
    options = " ".join(command.arguments)
    assert "--enforce-eager" in options
    assert "reasoning" not in options
    assert "--max-model-len" not in options
    assert "--reasoning-parser qwen3" in " ".join(printed("Qwen/Qwen3-8B"))
    assert "--reasoning-parser" not in " ".join(printed("Qwen/Qwen3-4B-Instruct-2507"))


def test_adapters(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 20}))
    words = printed("m", loras=[f"mine={tmp_path}"])
    assert words[words.index("--lora-modules") + 1] == f"mine={tmp_path}"
    assert words[words.index("--max-lora-rank") + 1] == "32"
    for wrong in ("mine", "=x", "mine=", "mine=/nowhere"):
        with pytest.raises(ConfigError, match=r"mine|NAME=PATH"):
            printed("m", loras=[wrong])


@pytest.mark.parametrize(("model", "engine"), [("m", "vlm"), ("openai:http://h/v1#m", "vllm"), (" ", "vllm")])
def test_mistakes(model: str, engine: str) -> None:
    with pytest.raises(ConfigError):
        ServerCommand.of(model, engine, ())


class Run:
    """`serve-model --start` with a stand-in for the server, which has a child of its own."""

    def __init__(self, folder: Path, name: str = "stub", parent: bool = False) -> None:
        (folder / "server.py").write_text(SERVER)
        python = folder / "python"
        python.write_text(
            f'#!/bin/sh\n[ "$1" = -c ] && exit 0\nshift 2\nexec {sys.executable} {folder}/server.py "$@"\n'
        )
        python.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.pids = folder / "pids"
        command = [sys.executable, "-m", "agentworld_envs.cli", "serve-model", name, "--start"]
        command += ["--port", str(self.port), "--python", str(python)]
        if parent:
            command = ["sh", "-c", f"{shlex.join(command)} & wait"]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, "STUB_PIDS": str(self.pids)}, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def ready(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"openai:http://127.0.0.1:{self.port}/v1#stub\n"

    def gone(self) -> bool:
        pids = [int(pid) for pid in self.pids.read_text().split()]
        end = time.monotonic() + 15
        while any(map(_runs, pids)) and time.monotonic() < end:
            time.sleep(0.1)
        return not any(map(_runs, pids))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    run.ready()
    yield run
    run.process.kill()
    run.process.wait()
    assert run.process.stdout is not None
    run.process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_ends_with_the_command(run: Run, number: signal.Signals) -> None:
    run.process.send_signal(number)
    code = run.process.wait(30)
    assert code == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    assert run.gone()


def test_the_port_is_taken(run: Run) -> None:
    command = [sys.executable, "-m", "agentworld_envs.cli", "serve-model", "m", "--start", "--port", str(run.port)]
    done = subprocess.run(
        [*command, "--python", str(run.pids.parent / "python")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "choose another --port" in done.stderr


def test_it_ends_with_whoever_called_the_command(tmp_path: Path) -> None:
    run = Run(tmp_path, parent=True)
    run.ready()
    run.process.kill()
    run.process.wait()
    assert run.gone()
    assert run.process.stdout is not None
    run.process.stdout.close()


def test_a_server_that_ends_at_once(tmp_path: Path) -> None:
    run = Run(tmp_path, name="broken")
    assert run.process.communicate(timeout=60)[0] == ""
    assert run.process.returncode == 2
    assert "ended before it was ready" in (tmp_path / "log").read_text()
    assert run.gone()
