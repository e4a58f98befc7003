"""`agentworld doctor`: reports, whatever is broken."""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from terminal.conftest import need
from typer.testing import CliRunner, Result

from agentworld_envs.cli import doctor, probes
from agentworld_envs.cli.app import build


def run(*arguments: str) -> Result:
    return CliRunner().invoke(build(), ["doctor", *arguments])


class Models(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        good = self.path == "/v1/models"
        body = b'{"data": [{"id": "tiny"}]}' if good else b"not json"
        self.send_response(200 if good or self.path == "/text/models" else 404)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    httpd = HTTPServer(("127.0.0.1", 0), Models)
    thread = threading.Thread(target=httpd.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    thread.join()
    httpd.server_close()


def test_report() -> None:
    need("namespace")
    result = run()
    assert result.exit_code == 0, result.output
    for word in ("Python", "gymnasium", "domain text_world", "backend world_model", "engine openai", "$ALFWORLD_DATA"):
        assert word in result.output
    assert "domain terminal" in result.output
    for bound in ("network", "privileges", "host_files", "disk"):
        assert f"namespace {bound}" in result.output
    assert "Tried: only lo" in " ".join(result.output.split())


def test_missing_packages_come_with_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    original = importlib.metadata.version

    def version(name: str) -> str:
        if name == "aiohttp":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.1" if name == "typer" else original(name)

    monkeypatch.setattr(probes.importlib.metadata, "version", version)
    output = " ".join(run().output.split())
    assert "pip install 'agentworld-envs[openai]' (aiohttp is not installed)" in output
    assert "typer 0.1 is older than 0.12" in output


def test_alfworld_data(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", f"{tmp_path}/none")
    assert run().exit_code == 1
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    assert run().exit_code == 0


def test_a_broken_check_is_a_finding_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def boom() -> tuple[str | None, str]:
        raise OSError("libcudart is missing")

    monkeypatch.setattr(doctor, "torch_devices", boom)
    result = run()
    assert result.exit_code == 1
    assert "libcudart is missing" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("model", "code", "message"),
    [
        ("openai:{url}/v1#tiny", 0, "is reachable"),
        ("openai:{url}/v1#huge", 1, "serves tiny, not huge"),
        ("openai:{url}#tiny", 1, "answers 404"),
        ("openai:{url}/text#tiny", 1, "does not answer with JSON"),
        ("openai:http://127.0.0.1:9/v1#tiny", 1, "is not reachable"),
        ("openai:nonsense", 1, "Malformed model"),
        ("transformers:./nowhere", 1, "There is no model"),
        ("scripted:oracle", 0, "can be loaded"),
    ],
)
def test_model(server: str, model: str, code: int, message: str) -> None:
    pytest.importorskip("aiohttp")
    result = run("--model", model.format(url=server))
    assert message in " ".join(result.output.split())
    assert result.exit_code == code
