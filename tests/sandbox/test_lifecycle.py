"""Whoever dies, in whatever way: nothing is left."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox.support import SLOW, SMALL, descendants, groups, mounts, parents, small

from agentworld_envs.backends.sandbox import LocalConfig, Pool, leases, sweep
from agentworld_envs.backends.sandbox.leases import Owner
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox
from agentworld_envs.interface import SandboxDead, SandboxError

OWNER = """
import site, sys, threading, time
sys.path[:0] = {path!r}
[site.addsitedir(path) for path in {path!r} if path.endswith("site-packages")]
from agentworld_envs.backends.sandbox import Limits, sandbox_config
limits = Limits(memory_mb=64, disk_mb=16, inodes=1000, pids=32)
provider = sandbox_config({kind!r}, limits=limits).build()
sandboxes = [provider.start() for _ in range({count})]
for sandbox in sandboxes:
    sandbox.run("head -c 1000000 /dev/zero > f; setsid sleep 1000 & sleep 1000 & trap '' TERM HUP")
work = [threading.Thread(target=sandbox.run, args=("while :; do sleep 0.01; done", 100), daemon=True)
        for sandbox in sandboxes]
[thread.start() for thread in work]
time.sleep(0.2)
print("busy", flush=True)
time.sleep(100)
"""


def _until(condition: Callable[[], bool], seconds: float) -> float:
    """Seconds until something is so; fails when it takes longer than it may."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds, "it took too long"
        time.sleep(0.005)
    return time.monotonic() - started


def _busy_owner(kind: str, count: int) -> subprocess.Popen[str]:
    code = OWNER.format(path=sys.path, kind=kind, count=count)
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "busy\n"
    return owner


@pytest.mark.parametrize(("kind", "count"), [("namespace", 10), ("local", 2)])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_owner_is_killed(namespaces: NamespaceProvider, kind: str, count: int, how: int) -> None:
    mounted = mounts()
    owner = _busy_owner(kind, count)
    below = descendants(owner.pid)
    assert len(below) >= 4 * count  # agent, shell, two sleepers; the short sleep of the loop may be between two
    owner.send_signal(how)
    owner.wait(5 * SLOW)
    _until(lambda: not below & parents().keys(), SLOW)
    _until(lambda: not groups(owner.pid), SLOW)
    _until(lambda: not glob.glob(f"{tempfile.gettempdir()}/agentworld-local.agentworld-{owner.pid}-*"), SLOW)
    assert mounts() == mounted
    assert owner.stdout is not None
    owner.stdout.close()


def test_the_owner_is_killed_while_a_child_holds_its_sockets(namespaces: NamespaceProvider) -> None:
    """A forked worker inherits every socket, so that their other ends do not see the owner's death."""
    code = OWNER.format(path=sys.path, kind="namespace", count=2).replace(
        'print("busy"', 'import os\nif os.fork() == 0: os.setsid(); time.sleep(20); os._exit(0)\nprint("busy"'
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "busy\n"
    below = {pid for pid in descendants(owner.pid) if descendants(pid)}
    owner.kill()
    owner.wait(5 * SLOW)
    _until(lambda: not below & parents().keys(), SLOW)
    owner.stdout.close()


def test_the_agent_is_killed_from_outside(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    sandbox.run("setsid sleep 1000 &")
    pid = sandbox.pid
    assert pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxDead):
        sandbox.run("echo lost")
    assert not sandbox.alive
    with namespaces.start() as other:
        assert other.run("echo fine").stdout == "fine\n"


def test_the_agent_hangs(namespaces: NamespaceProvider) -> None:
    with namespaces.start() as sandbox:
        os.kill(sandbox.pid or 0, signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(SandboxDead, match="did not answer"):
            sandbox.ping(0.3)
        assert time.monotonic() - started < SLOW


def test_the_zygote_is_killed() -> None:
    with NamespaceProvider(small()) as provider:
        sandbox = provider.start()
        zygote = provider.zygote.process_id
        below = descendants(zygote)
        os.kill(zygote, signal.SIGKILL)
        _until(lambda: not below & parents().keys(), SLOW)
        with pytest.raises(SandboxDead):
            sandbox.run("true")
        with pytest.raises(SandboxError, match=r"ended|answer"):
            provider.start()


def test_a_forked_child_cannot_use_it(sandbox: NamespaceSandbox) -> None:
    child = os.fork()
    if child == 0:
        try:
            sandbox.run("true")
        except SandboxError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert sandbox.run("echo fine").stdout == "fine\n"


def test_shutdown_ends_all(namespaces: NamespaceProvider) -> None:
    provider = NamespaceProvider(small())
    sandboxes = [provider.start() for _ in range(5)]
    sandboxes[0].snapshot()
    zygote = provider.zygote.process_id
    below = descendants(zygote)
    provider.shutdown()
    provider.shutdown()
    assert not (below | {zygote}) & parents().keys()
    with pytest.raises(SandboxDead):
        sandboxes[0].run("true")
    sandboxes[0].close()
    with pytest.raises(SandboxError, match="shut down"):
        provider.start()


def test_an_owner_is_told_from_a_later_process_with_its_pid() -> None:
    me = Owner.this_process()
    assert not me.is_dead()
    assert me._replace(start=me.start + 1).is_dead()
    assert me._replace(boot="0" * 12).is_dead()
    assert not Owner.this_process()._replace(pid=1, start=0, boot=me.boot).is_dead() or os.path.exists("/proc/1/stat")
    assert Owner.of_group(me.group()) == me
    assert Owner.of_group("docker-1-2-3") is None


def test_a_sweep_removes_what_the_dead_left_and_nothing_else(namespaces: NamespaceProvider) -> None:
    with namespaces.start() as sandbox:
        mine = groups(os.getpid())
        if not mine:
            pytest.skip("no control groups here")
        me = Owner.this_process()
        dead = me._replace(pid=2**22 - 1, start=1)
        left = [os.path.join(os.path.dirname(folder), dead.group()) for folder in mine]
        for folder in left:
            os.makedirs(f"{folder}/1")
        assert sorted(sweep()) == sorted(left)
        assert groups(os.getpid()) == mine
        assert sandbox.run("echo alive").stdout == "alive\n"


def test_a_pool_hands_out_living_sandboxes_once(namespaces: NamespaceProvider) -> None:
    before = descendants(namespaces.zygote.process_id)
    with Pool(namespaces, 4) as pool:
        assert pool.wait_full(20 * SLOW)
        os.kill(pool._ready[0].pid or 0, signal.SIGKILL)  # type: ignore[attr-defined]
        taken = [pool.take() for _ in range(6)]
        assert [sandbox.run("echo $BASHPID; touch used; ls").stdout for sandbox in taken] == ["2\nused\n"] * 6
        for sandbox in taken:
            sandbox.close()
        assert pool.wait_full(20 * SLOW)
    assert descendants(namespaces.zygote.process_id) <= before
    with pytest.raises(SandboxError, match="closed"):
        pool.take()


def test_local_leaves_no_folder(caplog: pytest.LogCaptureFixture) -> None:
    with LocalConfig(limits=SMALL).build() as provider, provider.start() as sandbox:
        home = sandbox.run("pwd; setsid sleep 1000 & touch x").stdout.strip()
        assert os.path.isdir(home)
        below = descendants(sandbox._process.pid) | {sandbox._process.pid}
    assert "isolates nothing" in caplog.text
    assert not os.path.exists(home)
    _until(lambda: not below & parents().keys(), SLOW)


def test_a_local_folder_is_removed_however_deep_it_is() -> None:
    before = set(glob.glob(f"{tempfile.gettempdir()}/agentworld-local.*"))
    with LocalConfig(limits=SMALL).build() as provider, provider.start() as sandbox:
        sandbox.run("for i in $(seq 1500); do mkdir d; cd d; done; chmod 0 .", 60)
    assert set(glob.glob(f"{tempfile.gettempdir()}/agentworld-local.*")) <= before


def test_a_sweep_removes_folders_of_the_dead_and_follows_no_link(tmp_path: Path) -> None:
    dead = leases.Owner(2**22 - 3, 1, leases.boot_id())
    folder = Path(tempfile.gettempdir(), f"agentworld-local.{dead.group()}")
    (folder / "inner").mkdir(parents=True)
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o500)
    link = Path(tempfile.gettempdir(), f"agentworld-local.{dead.group()}")
    link.symlink_to(kept)
    living = Path(leases.new_folder())
    try:
        assert str(folder) in leases.sweep()
        assert not folder.exists()
        assert kept.stat().st_mode & 0o777 == 0o500
        assert living.exists()
    finally:
        link.unlink()
        living.rmdir()


def test_a_pool_whose_provider_fails_says_why(namespaces: NamespaceProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> NamespaceSandbox:
        raise OSError("no descriptors left")

    with monkeypatch.context() as patched:
        patched.setattr(namespaces, "start", fail)
        with Pool(namespaces, 2) as pool:
            assert pool.wait_full(20 * SLOW)  # it gave up
            assert len(pool) == 0
            with pytest.raises(OSError, match="no descriptors"):
                pool.take()
            patched.undo()
            pool.take().close()
            assert pool.wait_full(20 * SLOW)


def test_requests_that_fail_leave_no_descriptors(sandbox: NamespaceSandbox) -> None:
    for _ in range(SMALL.open_files // 2 + 10):
        with pytest.raises(SandboxError, match="refused a request"):
            sandbox.exec(["true"], env={"NUMBER": 1})  # type: ignore[dict-item]
    assert sandbox.exec(["echo", "fine"]).stdout == "fine\n"
