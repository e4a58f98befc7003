"""The commands of `test_hostile`, in containers."""

from __future__ import annotations

import time

import pytest
from sandbox.support import SLOW, SMALL, counts_memory, descendants, parents, until
from sandbox.test_hostile import (  # noqa: F401 - collected here once more, with this file's fixtures
    test_a_command_of_one_megabyte,
    test_an_environment_of_ten_megabytes,
    test_bombs,
    test_memory_is_bounded_and_said,
    test_nothing_outlives_a_deadline,
    test_spite,
)

from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox
from agentworld_envs.backends.sandbox.docker.spec import total_memory

_proven: list[bool] = []


@pytest.fixture
def caged(dockers: DockerProvider, container: DockerSandbox) -> DockerSandbox:
    """A container whose bounds were seen to hold. Without that no bomb goes off."""
    if not _proven:
        settings = dockers.daemon.api.inspect_container(container.container)["HostConfig"]
        assert settings["PidsLimit"] == SMALL.pids + 1
        assert settings["Memory"] == settings["MemorySwap"] == total_memory(dockers.config)
        assert counts_memory(dockers)
        assert container.run("df -m --output=size /workspace | tail -1").stdout.strip() == str(SMALL.disk_mb)
        assert container.run("df --output=itotal /workspace | tail -1").stdout.strip() == str(SMALL.inodes)
        assert container.run("ulimit -f").stdout.strip() == str(SMALL.disk_mb * 1024)
        started = container.run("for i in $(seq 100); do sleep 20 & done; wait", 5.0, merge_stderr=True)
        assert "fork" in started.stdout
        _proven.append(True)
    return container


def test_kept_bombs_do_not_outlive_the_sandbox(dockers: DockerProvider) -> None:
    sandbox = dockers.start()
    sandbox.run("for i in $(seq 30); do setsid nohup sh -c 'while :; do :; done' >/dev/null 2>&1 & done")
    below = descendants(sandbox.pid or 0)
    assert len(below) > 20
    started = time.monotonic()
    sandbox.close()
    assert time.monotonic() - started < SLOW
    until(lambda: not below & parents().keys(), 2 * SLOW)


def test_all_folders_full_do_not_starve_the_agent(caged: DockerSandbox) -> None:
    fill = "for d in /workspace /tmp /home/agent /var/tmp /dev/shm; do head -c 100000000 /dev/zero > $d/fill; done"
    assert "No space left" in caged.run(fill, 20.0).stderr
    caged.run("python3 -c 'x=[]\nwhile True: x.append(bytearray(1<<20))'", 10.0 * SLOW)
    assert caged.run("echo alive").stdout == "alive\n"
    with caged.fork() as fork:
        assert fork.run("stat -c %s /workspace/fill").stdout == caged.run("stat -c %s /workspace/fill").stdout
