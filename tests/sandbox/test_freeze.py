"""Attempts to go on while one is held for a copy, or to make the copy lead somewhere else."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sandbox.support import SLOW, descendants, parents, small

from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox
from agentworld_envs.interface import SandboxError

WAKER = """
import ctypes, signal, time
signal.signal(signal.SIGCONT, lambda *_: None)
libc = ctypes.CDLL(None, use_errno=True)
event = (ctypes.c_int * 16)()
event[2] = 18  # SIGCONT; the notification is a signal
timer = ctypes.c_void_p()
assert libc.timer_create(1, event, ctypes.byref(timer)) == 0
often = (ctypes.c_long * 4)(0, 20_000_000, 0, 20_000_000)
assert libc.timer_settime(timer, 0, often, None) == 0
n, files = 0, [open(name, "r+b", buffering=0) for name in ("a", "z")]
while True:
    n += 1
    for file in files:
        file.seek(0)
        file.write(b"%20d" % n)
    time.sleep(0.0002)
"""
"""The kernel wakes it fifty times a second, whoever stopped it, and it goes on to write."""


def _start(sandbox: NamespaceSandbox, code: str) -> None:
    sandbox.write("/workspace/code.py", code.encode())
    sandbox.run("setsid python3 code.py >/dev/null 2>&1 & sleep 0.3")


def _count(sandbox: NamespaceSandbox) -> bytes:
    return sandbox.read("/workspace/z")


def _late_copies(sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch, attempts: int) -> tuple[int, int]:
    """How many copies were refused, and how many have what was written after all was held; ends with one of those."""
    refused = late = 0
    at_first = b""
    zygote = sandbox._provider.zygote
    copy = zygote.copy

    def take_long(number: int, disk: int, inodes: int) -> int:
        nonlocal at_first
        at_first = _count(sandbox)
        time.sleep(0.15)
        return copy(number, disk, inodes)

    monkeypatch.setattr(zygote, "copy", take_long)
    for _ in range(attempts):
        sandbox.run("pkill -9 python3; : > a; : > z")
        _start(sandbox, WAKER)  # anew: whoever is stopped just when his timer goes off loses it
        try:
            with sandbox.snapshot() as snapshot, snapshot.start() as fork:
                late += _count(fork) != at_first
        except SandboxError:
            refused += 1
        if late:
            break
    return refused, late


def test_a_process_that_the_kernel_wakes_is_found_out(
    sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does outrun the freeze: it was seen at rest twice, and goes on. No copy is made of what it then does."""
    with monkeypatch.context() as patched:
        refused, late = _late_copies(sandbox, patched, 6)
        assert refused
        assert not late
    with monkeypatch.context() as patched:  # without the look at the end such copies are made
        thaw = sandbox._thaw
        patched.setattr(sandbox, "_thaw", lambda: [thaw(), True][1])
        assert _late_copies(sandbox, patched, 30)[1]
    sandbox.run("pkill -9 python3")
    sandbox.snapshot().close()


def test_one_that_waits_for_a_child_of_vfork_does_not_hinder(sandbox: NamespaceSandbox) -> None:
    """Builds start programs all the time; the parent cannot be stopped until the child is another program."""
    code = "import os; os.posix_spawn('/bin/true', ['true'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, 'p', 0, 0)])"
    sandbox.run("mkfifo p; echo kept > f")
    sandbox.write("/workspace/code.py", code.encode())
    sandbox.run("setsid python3 code.py >/dev/null 2>&1 & sleep 0.5")
    assert "D" in sandbox.exec(["ps", "-A", "-o", "stat="]).stdout
    with sandbox.fork() as fork:
        assert fork.run("cat f; test -p p && echo pipe").stdout == "kept\npipe\n"
    assert sandbox.run(": > p").exit_code == 0
    end = time.monotonic() + SLOW
    while sandbox.processes():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_busy_processes_go_on_after_a_copy(sandbox: NamespaceSandbox) -> None:
    sandbox.run("touch a z")
    _start(sandbox, WAKER.replace("often = (ctypes.c_long * 4)(0, 20_000_000, 0, 20_000_000)", "often = None"))
    sandbox.run("(while :; do /bin/true; done) & (while :; do :; done) & echo")
    for _ in range(5):
        with sandbox.fork() as fork:
            assert fork.run("echo fine").stdout == "fine\n"
    assert len(sandbox.processes()) >= 2


def test_a_link_on_the_way_to_a_writable_folder(tmp_path: Path) -> None:
    """A folder inside of another: its parent is moved away, and a link makes it another folder of the sandbox."""
    with NamespaceProvider(small(writable=("/workspace", "/workspace/a/etc", "/tmp"))) as provider:
        with provider.start() as sandbox:
            assert sandbox.run("mv a b && ln -s / a; touch a/etc/x").exit_code != 0
            snapshot = sandbox.freeze()
        with snapshot, pytest.raises(SandboxError, match="link is on the way"):
            snapshot.start()
        with provider.start() as sandbox:
            sandbox.run("mv a b && ln -s / a")
            with pytest.raises(SandboxError, match="link is on the way"):
                sandbox.fork()
            assert not provider.layers._users
        with provider.start() as other:
            assert other.run("touch /workspace/a/etc/x /tmp/x").exit_code == 0
            assert other.run("touch /etc/x").exit_code != 0


def test_marks_of_overlays_cannot_be_forged(sandbox: NamespaceSandbox) -> None:
    """A folder that claims to be another one, or to hide what is below, in both of the kernel's name spaces."""
    code = (
        "import os\n"
        "os.makedirs('/workspace/d')\n"
        "for space in ('user', 'trusted'):\n"
        "  for name, value in (('redirect', b'/etc'), ('opaque', b'y'), ('metacopy', b''), ('whiteout', b'y')):\n"
        "    for path in ('/workspace/d', '/workspace/f', '/var/tmp'):\n"
        "      try: open('/workspace/f', 'a').close(); os.setxattr(path, f'{space}.overlay.{name}', value)\n"
        "      except OSError: pass\n"
        "open('/workspace/d/own', 'w').close(); open('/workspace/f', 'w').write('text')"
    )
    assert sandbox.exec(["python3", "-c", code]).exit_code == 0
    with sandbox.snapshot() as snapshot, snapshot.start() as fork, fork.freeze() as second, second.start() as third:
        assert third.run("ls d; cat f").stdout == "own\ntext"


def test_the_owner_dies_while_a_copy_is_made(namespaces: NamespaceProvider) -> None:
    code = (
        "import site, sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        f"[site.addsitedir(path) for path in {sys.path!r} if path.endswith('site-packages')]\n"
        "from agentworld_envs.backends.sandbox import Limits, sandbox_config\n"
        "limits = Limits(memory_mb=256, disk_mb=200, inodes=45000)\n"
        "sandbox = sandbox_config('namespace', limits=limits).build().start()\n"
        "sandbox.exec(['python3', '-c', 'for i in range(40000): open(f\"/workspace/{i}\", \"w\").close()'])\n"
        "print('busy', flush=True)\n"
        "while True: sandbox.snapshot().close()\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "busy\n"
    time.sleep(0.3)
    below = descendants(owner.pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    started = time.monotonic()
    while below & parents().keys():
        assert time.monotonic() - started < SLOW
        time.sleep(0.01)
    owner.stdout.close()


def test_a_fork_whose_copy_fails_leaves_nothing(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    """It was being started already."""
    sandbox.run("head -c 1000000 /dev/zero > f; sleep 1000 &")
    before = descendants(namespaces.zygote.process_id)
    for _ in range(3):
        with pytest.raises(SandboxError, match="No space"):
            namespaces.zygote.fork(sandbox._number, {**namespaces._spec([]), "disk": 2**16})
    end = time.monotonic() + SLOW
    while descendants(namespaces.zygote.process_id) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert descendants(namespaces.zygote.process_id) == before
    with sandbox.fork() as fork:
        assert fork.run("stat -c %s f").stdout == "1000000\n"


def test_deep_folders_are_copied(sandbox: NamespaceSandbox) -> None:
    """Deeper than any path may be long."""
    code = "import os\nfor i in range(900): os.mkdir('deeper'); os.chdir('deeper')\nopen('f', 'w').write('deep')"
    assert sandbox.exec(["python3", "-c", code], 20.0, cwd="/workspace").exit_code == 0
    look = "import os\nfor i in range(900): os.chdir('deeper')\nprint(open('f').read())"
    with sandbox.fork() as fork:
        assert fork.exec(["python3", "-c", look], 20.0, cwd="/workspace").stdout == "deep\n"
