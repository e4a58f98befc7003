"""Copies of a container: all that a file is survives, and nothing can change it meanwhile."""

from __future__ import annotations

import mmap
import os
import threading
import time
from typing import Any

import pytest
from sandbox import test_snapshots
from sandbox.support import SLOW, SMALL, descendants
from sandbox.test_snapshots import (  # noqa: F401 - collected here once more, with this file's fixtures
    test_a_fork_has_the_files_and_nothing_else,
    test_a_process_whose_first_thread_ended_is_stopped_and_killed_too,
    test_a_snapshot_while_it_writes,
    test_deletions_are_kept,
    test_freeze_ends_the_sandbox,
    test_nothing_outruns_the_freezing,
    test_what_does_not_come_to_rest_is_not_copied,
)

from agentworld_envs.backends.sandbox.docker.layer import Layer
from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox, DockerSnapshot
from agentworld_envs.backends.sandbox.guest.frames import Frame, Kind
from agentworld_envs.interface import SandboxDead, SandboxError


@pytest.fixture
def namespaces(dockers: DockerProvider, monkeypatch: pytest.MonkeyPatch) -> DockerProvider:
    monkeypatch.setattr(test_snapshots, "_layers", lambda provider: len(provider._kept))
    return dockers


@pytest.fixture
def sandbox(container: DockerSandbox) -> DockerSandbox:
    return container


SHOWN = (
    "cd /; find workspace tmp home/agent var/tmp -printf '%p|%y|%m|%U|%G|%n|%s|%T@|%l\\n' "
    "| grep -v -e '^tmp|' -e '^var/tmp|' | sort; "  # these two are root's, whose times nobody else sets
    "find workspace -type f -exec cat {} + 2>/dev/null | md5sum; stat -c %a tmp var/tmp; "
    "find workspace -type f -printf '%b\\n' | sort -n | tail -1; "
    "find workspace -links +1 -type f -printf '%i\\n' | sort -u | wc -l; cd /workspace"
)

SPECIAL = {
    "links that lead out": "ln -s /etc/passwd a; ln -s ../../../../etc b; ln -s nowhere c; ln -s . d; "
    "touch -h -d 2001-01-01 a",
    "modes": "for m in 0000 0111 0400 0222 0777 4755 2755 1777; do echo $m > f$m; mkdir d$m; echo x > d$m/in; "
    "chmod $m f$m d$m; done",
    "the folder itself": "mkdir -p x/y/z; touch x/y/z/f; chmod 500 x/y; chmod 311 /workspace; "
    "touch -d 2003-01-01 /workspace",
    "times": "touch -d 1990-01-01 old; touch -d 2099-12-31T23:59:59.123456789 new; mkdir d; "
    "touch d/f; touch -d 2000-01-01 d",
    "empty folders": "mkdir -p a/b/c/d e; touch a/b/empty",
    "names": "touch -- -rf $'new\\nline' ' ' $'\\xff\\xfe' 'ü' '*' '\"' \"'\" ...; "
    "mkdir $'d\\xff'; touch $'d\\xff/\\xfe'",
    "many names of one file": "echo x > a; ln a b; mkdir d; ln a d/c; chmod 640 a; "
    "mkdir z; chmod 700 z; ln a z/y; chmod 000 z",
    "pipes and sockets": "mkfifo -m 620 p; python3 -c 'import socket; socket.socket(1).bind(\"s\")'; ln -s p l",
    "holes": "truncate -s 30M sparse; printf x | dd of=sparse bs=1 seek=10000000 conv=notrunc 2>/dev/null; "
    "truncate -s 0 empty",
    "elsewhere": "echo 1 > /tmp/t; mkdir ~/.config; echo 2 > ~/.config/c; echo 3 > /var/tmp/v; chmod 700 /home/agent",
    "git": "git init -q . && git -c user.name=a -c user.email=a@a commit -q --allow-empty -m x && git gc -q",
    "nothing": "true",
}


@pytest.mark.parametrize("name", SPECIAL)
def test_everything_that_a_file_is_survives(container: DockerSandbox, name: str) -> None:
    container.run(SPECIAL[name])
    before = container.run(SHOWN).stdout
    with container.snapshot() as snapshot, snapshot.start() as copy:
        assert copy.run(SHOWN).stdout == before
        assert container.run(SHOWN).stdout == before
        with copy.freeze() as again, again.start() as second:
            assert second.run(SHOWN).stdout == before


def test_attributes_survive(container: DockerSandbox) -> None:
    code = "import os; open('f', 'w'); os.setxattr('f', 'user.a', b'\\0b'); print(os.getxattr('f', 'user.a'))"
    done = container.exec(["python3", "-c", code])
    if done.exit_code != 0:
        pytest.skip("no attributes in this kernel's tmpfs")
    with container.fork() as fork:
        assert fork.exec(["python3", "-c", "import os; print(os.getxattr('f', 'user.a'))"]).stdout == done.stdout


def test_no_depth_is_too_deep(container: DockerSandbox) -> None:
    """Deeper than a path may be long, and than Python can call itself."""
    code = "import os\nfor i in range(1500): os.mkdir('deep'); os.chdir('deep')\nopen('f', 'w').write('x')"
    assert container.exec(["python3", "-c", code]).exit_code == 0
    look = "import os\nn = 0\nwhile os.path.isdir('deep'): os.chdir('deep'); n += 1\nprint(n, open('f').read())"
    with container.fork() as fork:
        assert fork.exec(["python3", "-c", look]).stdout == "1500 x\n"


def test_what_is_frozen_does_not_change(container: DockerSandbox) -> None:
    """Everything has ended before the first file is read."""
    container.run(
        "for i in $(seq 8); do (setsid sh -c 'while :; do echo x >> f; echo y >> g; done' &) ; done; sleep 0.1"
    )
    pid = container.pid or 0
    ask = container._ask
    seen: list[int] = []

    def watched(kind: Kind, header: dict[str, Any], blob: bytes = b"", **more: Any) -> Frame:
        if kind == Kind.EXPORT:
            seen.append(len(descendants(pid)))
        return ask(kind, header, blob, **more)

    container._ask = watched  # type: ignore[method-assign]
    with container.freeze() as snapshot, snapshot.start() as one, snapshot.start() as two:
        assert set(seen) == {0}
        sizes = "stat -c %s f g"
        assert one.run(sizes).stdout == two.run(sizes).stdout


def test_no_other_request_comes_in_between(container: DockerSandbox) -> None:
    container.run("head -c 20000000 /dev/urandom > f")
    results: list[str] = []
    done = threading.Event()

    def other() -> None:
        while not done.is_set():
            results.append(container.exec(["sh", "-c", "date +%N > g; cat g"], 20.0).stdout)

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(5):
        with container.fork() as fork:
            assert fork.run("md5sum < f").stdout == container.run("md5sum < f").stdout
    done.set()
    thread.join(60)
    assert results
    assert all(results)


def test_fifty_megabytes(dockers: DockerProvider) -> None:
    limits = SMALL.model_copy(update={"disk_mb": 64})
    with DockerProvider(dockers.config.model_copy(update={"limits": limits})) as big, big.start() as sandbox:
        sandbox.run("head -c 50000000 /dev/urandom > f")
        pool = big._begun().pool
        assert pool is not None
        assert pool.wait_full(20 * SLOW)
        started = time.monotonic()
        with sandbox.fork() as fork:
            assert time.monotonic() - started < 0.35 * SLOW
            assert fork.run("md5sum < f").stdout == sandbox.run("md5sum < f").stdout


def test_a_fork_of_a_fork_of_a_fork(dockers: DockerProvider) -> None:
    sandbox = dockers.start()
    for index in range(8):
        sandbox.run(f"echo {index} > f{index}; rm -f f{index - 3}; rm -rf d; mkdir d; echo {index} > d/g{index}")
        fork = sandbox.fork()
        sandbox.close()
        assert isinstance(fork, DockerSandbox)
        sandbox = fork
    assert sandbox.run("ls; cat d/*").stdout == "d\nf5\nf6\nf7\n7\n"
    sandbox.close()
    assert not dockers._kept


LIES: dict[str, bytes] = {
    "nothing": b"",
    "no records": b"\xff" * 100,
    "no JSON": b"\x03\0\0\0abc",
    "a name that leads out": b"\x1e\0\0\0"
    + b'["root","/workspace",493,0,{}]'
    + b"\x16\0\0\0"
    + b'["link","../x","/x",0]',
    "an unknown record": b"\x1e\0\0\0" + b'["root","/workspace",493,0,{}]' + b"\x0b\0\0\0" + b'["what",""]',
    "another root": b"\x18\0\0\0" + b'["root","/etc",493,0,{}]',
}


@pytest.mark.parametrize("name", LIES)
def test_a_snapshot_that_was_forged(dockers: DockerProvider, name: str) -> None:
    """By an agent that was taken over: the new sandbox refuses it, and the machine never looks into it."""
    layer = Layer()
    fd = layer.open()
    os.write(fd, LIES[name])
    os.close(fd)
    layer.seal(len(LIES[name]))
    with DockerSnapshot(dockers, layer) as snapshot, pytest.raises(SandboxError):
        snapshot.start()
    assert not os.path.exists("/x")


@pytest.mark.parametrize("about", [Kind.SIZE, Kind.EXPORT])
@pytest.mark.parametrize("lie", [-1, 2**40, None, "x", float("inf")])
def test_an_agent_that_lies_about_its_files(container: DockerSandbox, about: Kind, lie: object) -> None:
    ask = container._ask

    def lying(kind: Kind, header: dict[str, Any], blob: bytes = b"", **more: Any) -> Frame:
        answer = ask(kind, header, blob, **more)
        return answer._replace(header={"size": lie}) if kind == about else answer

    container._ask = lying  # type: ignore[method-assign]
    with pytest.raises(SandboxDead, match="more than"):
        container.snapshot()
    assert not container._provider._kept


def test_a_layer_cannot_be_changed_later() -> None:
    """Not by the guest that wrote it, which may still have it open."""
    layer = Layer()
    theirs = layer.open()
    os.write(theirs, b"saved")
    layer.seal(5)
    for change in (
        lambda: os.pwrite(theirs, b"x", 0),
        lambda: os.ftruncate(theirs, 0),
        lambda: os.ftruncate(theirs, 100),
        lambda: mmap.mmap(theirs, 5),
    ):
        with pytest.raises(PermissionError):
            change()
    assert os.pread(theirs, 10, 0) == b"saved"
    os.close(theirs)
    layer.close()
    with pytest.raises(ValueError, match="closed"):
        layer.open()


def test_a_layer_that_somebody_may_still_write_is_refused() -> None:
    layer = Layer()
    theirs = layer.open()
    layer.reserve(4096)
    with mmap.mmap(theirs, 4096), pytest.raises(OSError, match="busy"):
        layer.seal(4096)
    os.close(theirs)
    layer.close()
