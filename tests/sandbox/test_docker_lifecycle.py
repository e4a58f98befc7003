"""Whoever dies, in whatever way: no container, process or folder is left, and nobody waits forever."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest
from sandbox.support import (
    SLOW,
    all_mounts,
    containers,
    descendants,
    docker_folders,
    mounts,
    parents,
    small_docker,
    until,
)
from sandbox.test_lifecycle import OWNER

from agentworld_envs.backends.sandbox import Pool
from agentworld_envs.backends.sandbox.docker.owner import LEASE, Lease, new_folder
from agentworld_envs.backends.sandbox.docker.provider import DockerProvider
from agentworld_envs.backends.sandbox.docker.removal import sweep
from agentworld_envs.backends.sandbox.docker.sandbox import DockerSandbox
from agentworld_envs.backends.sandbox.docker.spec import DOOR, HOSTS, settings
from agentworld_envs.interface import SandboxDead, SandboxError


def _owner(count: int, more: str = "") -> subprocess.Popen[str]:
    code = OWNER.format(path=sys.path, kind="docker", count=count).replace('print("busy"', f'{more}\nprint("busy"')
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "busy\n"
    return owner


def _agents(dockers: DockerProvider, owner: int) -> set[int]:
    """Processes of all containers of an owner."""
    found = set()
    for name in containers(owner):
        state = dockers.daemon.state(name)
        if state is not None and state["Pid"]:
            found |= {state["Pid"]} | descendants(state["Pid"])
    return found


def _root(dockers: DockerProvider, name: str) -> str | None:
    """Where the root of a running container is mounted, when its driver mounts it."""
    facts = dockers.daemon.api.inspect_container(name)
    data = facts["GraphDriver"]["Data"] or {}
    return data.get("MergedDir") if facts["State"]["Running"] else None


def _nothing_is_left(owner: int, below: set[int], seconds: float) -> float:
    return until(lambda: not below & parents().keys() and not containers(owner) and not docker_folders(owner), seconds)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_owner_is_killed(dockers: DockerProvider, how: int) -> None:
    mounted = mounts()
    owner = _owner(4)
    below = _agents(dockers, owner.pid) | descendants(owner.pid)
    assert len(below) >= 4 * 4
    roots = {str(path) for path in map(partial(_root, dockers), containers(owner.pid)) if path}
    assert roots <= set(all_mounts())
    owner.send_signal(how)
    owner.wait(5 * SLOW)
    _nothing_is_left(owner.pid, below, 3 * SLOW)
    assert not roots & set(all_mounts())
    assert mounts() == mounted
    assert owner.stdout is not None
    owner.stdout.close()


def test_the_owner_is_killed_while_a_child_holds_its_sockets(dockers: DockerProvider) -> None:
    """A forked worker inherits every socket, so that the agents do not see the owner's death. The janitor does."""
    owner = _owner(2, "import os\nif os.fork() == 0: os.setsid(); time.sleep(20); os._exit(0)")
    below = _agents(dockers, owner.pid)
    owner.kill()
    owner.wait(5 * SLOW)
    _nothing_is_left(owner.pid, below, 3 * SLOW)
    assert owner.stdout is not None
    owner.stdout.close()


def test_the_owner_is_killed_while_it_starts_containers(dockers: DockerProvider) -> None:
    """At any moment: also with containers that are made but not yet started."""
    code = (
        f"import site, sys; sys.path[:0] = {sys.path!r}\n"
        f"[site.addsitedir(path) for path in {sys.path!r} if path.endswith('site-packages')]\n"
        "from agentworld_envs.backends.sandbox import DockerConfig\n"
        "provider = DockerConfig(warm=6).build(); provider.start(); print('begun', flush=True); sys.stdin.read()"
    )
    dice = random.Random(1)
    for _ in range(5):
        owner = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == "begun\n"
            time.sleep(dice.uniform(0, 0.5))
            owner.kill()
        _nothing_is_left(owner.pid, set(), 4 * SLOW)


def test_the_owner_and_its_janitor_are_killed(dockers: DockerProvider) -> None:
    owner = _owner(2)
    below = _agents(dockers, owner.pid)
    for pid in descendants(owner.pid) | {owner.pid}:
        os.kill(pid, signal.SIGKILL)
    owner.wait(5 * SLOW)
    until(lambda: not below & parents().keys(), 3 * SLOW)
    until(lambda: all("Created" in _status(dockers, name) for name in containers(owner.pid)), 3 * SLOW)
    sweep(dockers.daemon)
    _nothing_is_left(owner.pid, set(), SLOW)
    assert owner.stdout is not None
    owner.stdout.close()


def _status(dockers: DockerProvider, name: str) -> str:
    state = dockers.daemon.state(name)
    return "Created" if state is None else str(state["Status"]).capitalize()


def test_a_sweep_removes_what_the_dead_left_and_nothing_else(
    dockers: DockerProvider, container: DockerSandbox, tmp_path: Path
) -> None:
    me = dockers.lease
    leases = {
        "dead": me._replace(owner=me.owner._replace(pid=2**22 - 1, start=1)),
        "another boot": me._replace(owner=me.owner._replace(boot="0" * 12)),
        "another machine's": me._replace(machine="0" * 12, owner=me.owner._replace(boot="0" * 12)),
        "unknown machine's": me._replace(machine="", owner=me.owner._replace(boot="0" * 12)),
        "unseen": me._replace(space=1, owner=me.owner._replace(pid=2**22 - 1)),
        "mine": me._replace(key="0" * 12),
    }
    (tmp_path / DOOR).mkdir()
    (tmp_path / HOSTS).touch()
    made = {}
    try:
        for what, lease in leases.items():
            assert Lease.of(lease.name) == lease
            assert Lease.of_labels(lease.labels()) == lease
            body = settings(dockers.config, str(tmp_path), lease.labels())
            made[what] = dockers.daemon.create(f"{lease.name}-1", body)
        body = settings(dockers.config, str(tmp_path), {LEASE: "somebody-1-2-3", "agentworld.pid": "1"})
        made["foreign"] = dockers.daemon.create("agentworld-docker-foreign", body)
        folders = {what: new_folder(lease) for what, lease in leases.items()}
        removed = sweep(dockers.daemon)
        gone = {"dead", "another boot"} if me.machine else {"dead"}
        assert {what for what, name in made.items() if dockers.daemon.state(name) is None} == gone
        assert {what for what, folder in folders.items() if not os.path.exists(folder)} == gone
        assert len(removed) == 2 * len(gone)
        assert container.run("echo alive").stdout == "alive\n"
        for what, folder in folders.items():
            if what not in gone:
                os.rmdir(folder)
    finally:
        for name in made.values():
            dockers.daemon.remove(name)


def test_the_agent_is_killed_from_outside(dockers: DockerProvider, container: DockerSandbox) -> None:
    container.run("setsid sleep 1000 &")
    os.kill(container.pid or 0, signal.SIGKILL)
    with pytest.raises(SandboxDead):
        container.run("echo lost")
    assert not container.alive
    with pytest.raises(SandboxDead):
        container.freeze()
    with dockers.start() as other:
        assert other.run("echo fine").stdout == "fine\n"


def test_the_agent_hangs(container: DockerSandbox) -> None:
    """It is removed all the same, see the fixture."""
    os.kill(container.pid or 0, signal.SIGSTOP)
    with pytest.raises(SandboxDead, match="did not answer"):
        container.ping(0.3)


def test_the_container_is_removed_by_somebody(dockers: DockerProvider, container: DockerSandbox) -> None:
    dockers.daemon.remove(container.container)
    with pytest.raises(SandboxDead):
        container.run("echo lost")


def test_the_container_is_paused_by_somebody(dockers: DockerProvider, container: DockerSandbox) -> None:
    dockers.daemon.api.pause(container.container)
    with pytest.raises(SandboxDead, match="did not answer"):
        container.ping(0.3)


def test_a_forked_child_cannot_use_it(dockers: DockerProvider, container: DockerSandbox) -> None:
    child = os.fork()
    if child == 0:
        codes = 0
        for work in (lambda: container.run("true"), dockers.start):
            try:
                work()
            except SandboxError:
                codes += 1
            except BaseException:  # noqa: BLE001 - a forked child may not return into pytest
                os._exit(9)
        os._exit(codes)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert container.run("echo fine").stdout == "fine\n"


def test_shutdown_ends_all(dockers: DockerProvider) -> None:
    provider = DockerProvider(small_docker(warm=3))
    sandboxes = [provider.start() for _ in range(3)]
    snapshot = sandboxes[0].snapshot()
    label = f"{LEASE}={provider.lease.name}"
    assert len(dockers.daemon.containers(label)) >= 3
    threads = {thread.name for thread in threading.enumerate()}
    assert "sandbox-pool" in threads
    provider.shutdown()
    provider.shutdown()
    assert dockers.daemon.containers(label) == []
    with pytest.raises(SandboxDead):
        sandboxes[0].run("true")
    sandboxes[0].close()
    for start in (provider.start, snapshot.start):
        with pytest.raises(SandboxError, match=r"shut down|closed"):
            start()
    snapshot.close()


def test_a_pool_around_it(dockers: DockerProvider) -> None:
    with Pool(dockers, 3) as pool:
        assert pool.wait_full(20 * SLOW)
        started = time.monotonic()
        taken = pool.take()
        assert time.monotonic() - started < 0.005 * SLOW
        assert taken.run("touch used; ls").stdout == "used\n"
        taken.close()
    assert len(containers(os.getpid())) <= 2 * dockers.config.warm + 4


def test_a_start_is_a_warm_one(dockers: DockerProvider) -> None:
    pool = dockers._begun().pool
    assert pool is not None
    assert pool.wait_full(20 * SLOW)
    started = time.monotonic()
    sandbox = dockers.start()
    assert time.monotonic() - started < 0.005 * SLOW
    sandbox.close()
    assert time.monotonic() - started < 0.02 * SLOW


def test_interrupted_starts_leave_nothing(dockers: DockerProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    with DockerProvider(small_docker(warm=0)) as provider:
        for place in ("create", "start"):
            with monkeypatch.context() as patched:
                original = getattr(provider.daemon, place)

                def interrupt(*arguments: object, original: object = original) -> None:
                    original(*arguments)  # type: ignore[operator]
                    raise KeyboardInterrupt

                patched.setattr(provider.daemon, place, interrupt)
                with pytest.raises(KeyboardInterrupt):
                    provider.start()
        label = f"{LEASE}={provider.lease.name}"
        until(lambda: not dockers.daemon.containers(label), 2 * SLOW)
