"""What can be seen and reached from inside of a container. The commands of `test_isolation`, and a few more."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from sandbox.support import SLOW, small_docker, until
from sandbox.test_isolation import (  # noqa: F401 - collected here once more, with this file's fixtures
    test_abstract_sockets_of_the_host_are_not_seen,
    test_no_privileges,
    test_refused,
    test_sockets_other_than_ordinary_ones_are_refused,
    test_tracing_is_refused,
)

from agentworld_envs.backends.sandbox import DockerConfig
from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox
from agentworld_envs.backends.sandbox.guest.dial import FILTER
from agentworld_envs.interface import SandboxError


@pytest.fixture
def sandbox(container: DockerSandbox) -> DockerSandbox:
    return container


def test_no_network_but_loopback(container: DockerSandbox) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code = (
            f"import socket\nfor a in (('127.0.0.1', {port}), ('1.1.1.1', 53), ('169.254.169.254', 80)):\n"
            "  try: socket.create_connection(a, 2); print('connected')\n  except OSError as e: print(e.errno)"
        )
        assert container.exec(["python3", "-c", code]).stdout.split() == ["111", "101", "101"]


def test_its_own_name_and_no_other_is_known(container: DockerSandbox) -> None:
    assert container.run("getent hosts sandbox").stdout.split()[0] == "127.0.1.1"
    assert container.run("cat /etc/resolv.conf 2>/dev/null").stdout == ""
    serve = (
        "import socket as s; l = s.create_server(('localhost', 0)); s.create_connection(l.getsockname()); print('ok')"
    )
    assert container.exec(["python3", "-c", serve]).stdout == "ok\n"


def test_nobody_answers_at_the_door(container: DockerSandbox) -> None:
    """The socket that the agent came through is gone, and so is what it lay in."""
    assert container.run("ls -A /run/agentworld/door").stdout == ""
    assert container.run("touch /run/agentworld/door/x /run/agentworld/guest/x").exit_code == 1
    assert container.run("ls -A /run/agentworld/guest | grep -c agent.py").stdout == "1\n"


@pytest.mark.parametrize("folder", ["/workspace", "/home/agent", "/tmp", "/var/tmp", "/dev/shm"])
def test_what_can_be_written_to_is_bounded(container: DockerSandbox, folder: str) -> None:
    assert (
        container.run(f"echo x > {folder}/f; printf '#!/bin/sh\\necho ran' > {folder}/p; chmod +x {folder}/p").exit_code
        == 0
    )
    assert container.run(f"{folder}/p").stdout == "ran\n"
    assert "No space left" in container.run(f"for i in 1 2 3; do head -c 30000000 /dev/zero > {folder}/$i; done").stderr
    assert "nosuid" in container.run(f"grep ' {folder} ' /proc/self/mounts").stdout


def test_nothing_else_can_be_written_to(container: DockerSandbox) -> None:
    found = container.run(
        "find / -xdev -writable -not -type l -not -path '/proc/*' 2>/dev/null; "
        "find /etc/hosts /etc/hostname /etc/resolv.conf -writable; find /dev -xdev -type f -writable"
    ).stdout
    writable = {line for line in found.splitlines() if not line.startswith(("/dev/", "/proc"))}
    assert writable == set(DockerConfig().writable)


def test_nothing_of_the_host_shows(container: DockerSandbox) -> None:
    seen = container.run("ls -A /home /root /mnt /srv /opt /run /tmp; cat /etc/passwd; ps -A -o args=; env").stdout
    for secret in (os.getcwd(), "pytest", socket.gethostname(), container.container[:12], FILTER):
        assert secret not in seen
    assert container.run("ls /home").stdout == "agent\n"
    assert container.run("cat /proc/*/environ 2>/dev/null | grep -c AGENTWORLD").stdout == "0\n"


def test_sandboxes_do_not_see_each_other(dockers: DockerProvider, container: DockerSandbox) -> None:
    with dockers.start() as other:
        other.run("echo mine > /workspace/f; echo mine > /tmp/f; echo mine > /dev/shm/f; sleep 100 &")
        seen = container.run("ls -A /workspace /tmp /dev/shm; pgrep sleep").stdout
        assert seen == "/dev/shm:\n\n/tmp:\n\n/workspace:\n"


def test_many_threads_get_their_own_answers(dockers: DockerProvider) -> None:
    answers: dict[int, list[str]] = {}

    def work(index: int) -> None:
        with dockers.start() as sandbox:
            answers[index] = [sandbox.run(f"echo {index} {step}").stdout for step in range(10)]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert answers == {index: [f"{index} {step}\n" for step in range(10)] for index in range(12)}


def test_every_bound_is_told_and_kept(dockers: DockerProvider) -> None:
    bounds = {bound.name: bound for bound in dockers.bounds()}
    assert [name for name, bound in bounds.items() if not bound.kept] == ["cpu_seconds"]
    assert {"memory", "swap", "pids", "cpu", "disk", "open_files", "network", "privileges"} <= bounds.keys()
    assert "not bounded" in {b.name: b for b in DockerProvider(small_docker(read_only=False)).bounds()}["disk"].how


def test_the_agent_keeps_its_priority(container: DockerSandbox) -> None:
    code = (
        "import os\n"
        "for work in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.sched_setaffinity(1, {0}),\n"
        "  lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))):\n"
        "  try: work(); print('done')\n"
        "  except PermissionError: pass"
    )
    assert container.exec(["python3", "-c", code]).stdout == ""
    assert os.getpriority(os.PRIO_PROCESS, container.pid or 0) == os.getpriority(os.PRIO_PROCESS, 0)


def test_what_a_root_is_made_of(dockers: DockerProvider) -> None:
    told = dockers.describe()
    assert told["kind"] == "docker"
    assert told["digest"].startswith("sha256:")
    assert told["image_id"].startswith("sha256:")
    assert told == dockers.describe()


def test_a_writable_root(dockers: DockerProvider) -> None:
    """Still not root's files."""
    with DockerProvider(small_docker(read_only=False, warm=0)) as provider:
        with provider.start() as sandbox:
            assert sandbox.run("touch /etc/x").exit_code == 1
            assert sandbox.run("echo x > /workspace/y; cat /workspace/y").stdout == "x\n"
        until(lambda: provider.daemon.state(sandbox.container) is None, 2 * SLOW)


def test_an_image_without_python(dockers: DockerProvider, tmp_path: Path) -> None:
    """A clear word, and nothing is left."""
    import io
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("etc/nothing")
        archive.addfile(info, io.BytesIO())
    name = f"agentworld-test-empty:{os.getpid()}"
    buffer.seek(0)
    dockers.daemon.load_root(buffer, name)
    try:
        with DockerProvider(small_docker(image=name, warm=0)) as provider, pytest.raises(SandboxError, match="python3"):
            provider.start()
        assert not dockers.daemon.containers(f"agentworld.lease={provider.lease.name}")
    finally:
        dockers.daemon.api.remove_image(name)
