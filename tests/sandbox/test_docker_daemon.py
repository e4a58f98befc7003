"""A daemon that is missing, deaf, or restarted in the middle of it: every failure is told in time and in words."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox.support import SLOW, all_mounts, mounts, parents, small_docker, until

from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.removal import sweep
from agentworld_envs.interface import MissingExtraError, SandboxDead, SandboxError


def _why(**fields: object) -> str:
    with DockerProvider(small_docker(**fields)) as provider:
        started = time.monotonic()
        usability = provider.probe()
        assert not usability.usable
        with pytest.raises(SandboxError):
            provider.start()
        assert time.monotonic() - started < 2 * SLOW
    return f"{usability.why} | {usability.what_to_do}"


def test_there_is_no_daemon(tmp_path: Path) -> None:
    pytest.importorskip("docker")
    why = _why(host=f"unix://{tmp_path}/none")
    assert "There is no Docker daemon" in why
    assert "| Start it" in why


def test_nobody_listens_there(tmp_path: Path) -> None:
    pytest.importorskip("docker")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
    assert "not reachable" in _why(host=f"unix://{tmp_path}/s")


def test_a_daemon_that_does_not_answer(tmp_path: Path) -> None:
    pytest.importorskip("docker")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen(8)
        assert "did not answer within" in _why(host=f"unix://{tmp_path}/s", api_timeout_s=0.5)


def test_a_daemon_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    assert "not on this machine" in _why()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    provider = DockerProvider(small_docker())
    usability = provider.probe()
    assert not usability.usable
    assert "agentworld-envs[docker]" in usability.what_to_do + usability.why
    with pytest.raises(MissingExtraError):
        provider.start()


def test_an_image_that_is_not_there(dockers: DockerProvider) -> None:
    why = _why(image="agentworld-test:nowhere")
    assert "agentworld-test:nowhere" in why
    assert why.endswith("agentworld sandbox build")


class _OwnDaemon:
    """A second daemon that shares nothing with the machine's own."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.socket = f"{folder}/docker.sock"
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        # Where nobody reaps orphans, the containerd of a killed daemon seems to live, and is waited for.
        Path(f"{self.folder}/exec/containerd/containerd.pid").unlink(missing_ok=True)
        with open(f"{self.folder}/log", "ab") as log:
            self.process = subprocess.Popen(
                [
                    "unshare",  # without a bridge, a daemon would remove that of the machine's own
                    "--net",
                    "dockerd",
                    f"--host=unix://{self.socket}",
                    f"--data-root={self.folder}/data",
                    f"--exec-root={self.folder}/exec",
                    f"--pidfile={self.folder}/pid",
                    "--bridge=none",
                    "--iptables=false",
                    "--ip6tables=false",
                    "--shutdown-timeout=2",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self._answers, 20 * SLOW)
        return self.process

    def _answers(self) -> bool:
        assert self.process.poll() is None, Path(f"{self.folder}/log").read_text()[-2000:]
        with socket.socket(socket.AF_UNIX) as stream, contextlib.suppress(OSError):
            stream.settimeout(1)
            stream.connect(self.socket)
            stream.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return b"200 OK" in stream.recv(100)
        return False

    def end(self, how: int) -> None:
        self.process.send_signal(how)
        self.process.wait(10 * SLOW)


@pytest.fixture
def own(dockers: DockerProvider) -> Iterator[_OwnDaemon]:
    if os.geteuid() != 0 or None in (shutil.which("dockerd"), shutil.which("unshare")):
        pytest.skip("needs root and dockerd for a daemon of its own")
    mounted = mounts()
    folder = tempfile.mkdtemp(prefix="awd-", dir="/tmp")  # sockets have short names
    try:
        daemon = _OwnDaemon(folder)
        try:
            image = dockers.daemon.api.get_image(dockers.config.image)
            loaded = subprocess.Popen(
                ["docker", "--host", f"unix://{daemon.socket}", "load", "--quiet"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
            assert loaded.stdin is not None
            for piece in image:
                loaded.stdin.write(piece)
            loaded.stdin.close()
            assert loaded.wait(60 * SLOW) == 0
            yield daemon
        finally:
            if daemon.process.poll() is None:
                daemon.end(signal.SIGTERM)
    finally:
        for pid in _naming(folder):  # what a killed daemon left, when a test failed
            os.kill(pid, signal.SIGKILL)
        for path in sorted((path for path in all_mounts() if path.startswith(folder)), reverse=True):
            subprocess.run(["umount", "-l", path], check=False)
        until(lambda: _removed(folder), 5 * SLOW)
    assert mounts() == mounted


def _naming(word: str) -> list[int]:
    """Processes with a word in their arguments."""
    found = []
    for pid in parents():
        with contextlib.suppress(OSError):
            if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def _removed(folder: str) -> bool:
    shutil.rmtree(folder, ignore_errors=True)  # the containerd of a killed daemon may still write there
    return not os.path.exists(folder)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_the_daemon_is_restarted_in_the_middle(own: _OwnDaemon, how: int) -> None:
    with DockerProvider(small_docker(host=f"unix://{own.socket}", warm=1, api_timeout_s=5.0)) as provider:
        sandbox = provider.start()
        assert sandbox.run("echo before > f; cat f").stdout == "before\n"
        snapshot = sandbox.snapshot()
        own.end(how)
        if how == signal.SIGTERM:  # it ends its containers
            with pytest.raises(SandboxDead):
                sandbox.run("echo lost", 10.0)
        else:  # nobody needs it for a container that runs
            assert sandbox.run("cat f").stdout == "before\n"
        started = time.monotonic()
        with contextlib.suppress(SandboxError):
            provider.start()  # a warm one may still be there
        with pytest.raises(SandboxError, match=r"not reachable|no Docker daemon"):
            provider.start()
        assert time.monotonic() - started < 5 * SLOW
        sandbox.close()
        own.start()
        with provider.start() as other:
            assert other.run("echo after").stdout == "after\n"
        with snapshot.start() as other:
            assert other.run("cat f").stdout == "before\n"
        sweep(provider.daemon)
    with DockerProvider(small_docker(host=f"unix://{own.socket}", warm=0)) as provider:
        until(lambda: provider.daemon.containers("agentworld.lease") == [], 3 * SLOW)
