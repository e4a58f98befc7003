"""Copies of a sandbox: what they share, what they do not, and how deep they may be stacked."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from sandbox.support import descendants, small

from agentworld_envs.backends.sandbox.guest.frames import Kind
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox, NamespaceSnapshot
from agentworld_envs.interface import SandboxDead, SandboxError


def _layers(provider: NamespaceProvider) -> int:
    return len(provider.layers._users)


def test_a_fork_has_the_files_and_nothing_else(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    sandbox.run(
        "x=1; echo a > f; mkdir -p d; echo b > d/g; ln -s f l; ln f h; chmod 600 f; touch -d 2001-02-03 f; sleep 100 &"
    )
    sandbox.run("mkfifo p; echo t > /tmp/t; echo h > ~/h; printf '\\xff' > \"$(printf 'n\\xff')\"")
    with sandbox.fork() as fork:
        shown = (
            "ls -l --time-style=full-iso f; cat f d/g l h /tmp/t ~/h; stat -c '%h %F' f p; ls n*; echo $x; pgrep sleep"
        )
        assert fork.run(shown).stdout == sandbox.run(shown.replace("; pgrep sleep", "; echo -n")).stdout.replace(
            "\n1\n", "\n\n"
        )
        fork.run("echo changed > f; rm -r d; echo new > n")
        assert sandbox.run("cat f d/g; ls n").stdout == "a\nb\n"
        sandbox.run("echo other > f")
        assert fork.run("cat f").stdout == "changed\n"
    assert sandbox.run("pgrep -c sleep").stdout == "1\n"
    assert _layers(namespaces) == 0


def test_deletions_are_kept(sandbox: NamespaceSandbox, namespaces: NamespaceProvider) -> None:
    sandbox.run("mkdir d e; echo 1 > d/f; echo 1 > e/f; echo 1 > g")
    with sandbox.freeze() as first, first.start() as second:
        second.run("rm -r d g; rm -r e; mkdir e; echo 2 > e/g")
        with second.freeze() as third, third.start() as fourth:
            assert fourth.run("ls -R").stdout == ".:\ne\n\n./e:\ng\n"
    assert _layers(namespaces) == 0


def test_freeze_ends_the_sandbox(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    sandbox.run("echo kept > f; sleep 100 &")
    with sandbox.freeze() as snapshot:
        with pytest.raises(SandboxDead):
            sandbox.run("true")
        with pytest.raises(SandboxDead):
            sandbox.freeze()
        started = [snapshot.start() for _ in range(3)]
        for index, one in enumerate(started):
            one.run(f"echo {index} >> f")
        assert [one.run("cat f").stdout for one in started] == [f"kept\n{index}\n" for index in range(3)]
        for one in started:
            one.close()
    with pytest.raises(SandboxError, match="closed"):
        snapshot.start()
    assert _layers(namespaces) == 0


@pytest.mark.parametrize("depth", [20, 30])
def test_a_fork_of_a_fork_of_a_fork(namespaces: NamespaceProvider, depth: int) -> None:
    """Beyond 24 layers they are merged into one, with all deletions."""
    sandbox: NamespaceSandbox = namespaces.start()
    for index in range(depth):
        sandbox.run(f"echo {index} > f{index}; rm -f f{index - 3}; rm -rf d; mkdir d; echo {index} > d/g{index}")
        fork = sandbox.fork()
        sandbox.close()
        assert isinstance(fork, NamespaceSandbox)
        sandbox = fork
    last = depth - 1
    assert sandbox.run("ls; ls d; cat d/*").stdout == f"d\nf{last - 2}\nf{last - 1}\nf{last}\ng{last}\n{last}\n"
    sandbox.close()
    assert _layers(namespaces) == 0


def test_a_merged_stack_still_hides_the_root() -> None:
    """A file of the root file system that was deleted in the oldest layer does not come back."""
    with NamespaceProvider(small(writable=("/",))) as provider:
        sandbox: NamespaceSandbox = provider.start()
        if sandbox.run("rm /etc/shells").exit_code != 0:
            pytest.skip("the user may not write there")
        sandbox.run("rm -r /var/lib; mkdir /var/lib; touch /var/lib/mine")
        for _ in range(26):
            fork = sandbox.fork()
            sandbox.close()
            assert isinstance(fork, NamespaceSandbox)
            sandbox = fork
        assert sandbox.run("ls /etc/shells /var/lib").stdout == "/var/lib:\nmine\n"


def test_a_snapshot_of_a_full_sandbox(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    sandbox.run("head -c 500000000 /dev/zero > fill")
    with sandbox.fork() as fork:
        assert fork.run("stat -c %s fill").stdout == sandbox.run("stat -c %s fill").stdout
        assert fork.run("echo room > more; cat more").stdout == "room\n"


def test_a_snapshot_while_it_writes(sandbox: NamespaceSandbox) -> None:
    sandbox.run("date > log; (while :; do date >> log; done) & echo")
    for _ in range(3):
        with sandbox.fork() as fork:
            assert fork.run("sort -c log; wc -l < log").exit_code == 0
    assert sandbox.run("kill $!; echo alive").stdout == "alive\n"


_SWAPPER = """
import ctypes, itertools, os, random
libc = ctypes.CDLL(None)
pairs = [(f"p{i}".encode(), f"q{i}".encode()) for i in range(60)]
while True:
    for p, q in random.sample(pairs, 60):
        libc.renameat2(-100, p, -100, q, 2)
"""


def test_links_that_are_swapped_in_lead_nowhere(
    namespaces: NamespaceProvider, sandbox: NamespaceSandbox, tmp_path: Path
) -> None:
    """The copy of a sandbox that was not even held still: folders become links to the host's while it looks."""
    for index in range(2):
        (tmp_path / f"f{index}").write_text("secret of the host")
    sandbox.run(
        f"for i in $(seq 0 59); do mkdir p$i; touch p$i/f0 p$i/f1; ln -s {tmp_path} q$i; done; "
        f"ln -s ../../../../../../../..{tmp_path} up; ln -s /etc/shadow shadow"
    )
    sandbox.write("/workspace/swapper.py", _SWAPPER.encode())
    sandbox.run("for i in 1 2; do setsid python3 swapper.py >/dev/null 2>&1 & done; sleep 0.3")
    copied = 0
    for _ in range(25):
        try:
            layer = namespaces.zygote.copy(sandbox._number, 2**25, 2000)
        except SandboxError:  # what it listed was not there any more
            continue
        copied += 1
        with NamespaceSnapshot(namespaces, [layer]) as snapshot, snapshot.start() as other:
            assert "secret" not in other.exec(["grep", "-r", "secret", "/workspace"], 20.0).stdout
    assert copied or sandbox.alive


def test_nothing_outruns_the_freezing(sandbox: NamespaceSandbox) -> None:
    """Processes that replace themselves all the time, and wake one another."""
    code = (
        "import os, signal\n"
        "for _ in range(6):\n"
        "  if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while True:\n"
        "      try:\n"
        "        os.kill(-1, signal.SIGCONT)\n"
        "        if os.fork(): os._exit(0)\n"
        "      except OSError: pass\n"
    )
    sandbox.exec(["python3", "-c", code], 20.0)
    for _ in range(3):
        if sandbox._ask(Kind.FREEZE, {}, timeout_s=30.0).header["quiet"]:
            looks = []
            for _ in range(2):
                below = descendants(sandbox.pid or 0)
                looks.append(sorted(below))
                assert {Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in below} == {"T"}
                time.sleep(0.05)
            assert looks[0] == looks[1]
        sandbox._ask(Kind.THAW, {}, timeout_s=30.0)


def test_what_does_not_come_to_rest_is_not_copied(
    namespaces: NamespaceProvider, sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = sandbox._ask
    monkeypatch.setattr(
        sandbox,
        "_ask",
        lambda kind, header, **more: ask(kind, header, **more)._replace(header={"quiet": False}),
    )
    with pytest.raises(SandboxError, match="rest"):
        sandbox.snapshot()
    assert _layers(namespaces) == 0


def test_a_process_whose_first_thread_ended_is_stopped_and_killed_too(sandbox: NamespaceSandbox) -> None:
    """It looks like a zombie."""
    code = (
        "import ctypes, threading, time\n"
        "def work():\n"
        "  while True: open('/workspace/n', 'a').write('x'); time.sleep(0.01)\n"
        "threading.Thread(target=work).start(); time.sleep(0.2)\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    sandbox.run(f'setsid python3 -c "{code}" >/dev/null 2>&1 & sleep 0.6')
    assert sandbox._ask(Kind.FREEZE, {}, timeout_s=30.0).header["quiet"]
    size = len(sandbox.read("/workspace/n"))
    time.sleep(0.2)
    assert size == len(sandbox.read("/workspace/n")) > 0
    sandbox._ask(Kind.THAW, {}, timeout_s=30.0)
    sandbox._ask(Kind.KILL, {}, timeout_s=30.0)
    size = len(sandbox.read("/workspace/n"))
    time.sleep(0.2)
    assert size == len(sandbox.read("/workspace/n"))


def test_a_link_in_a_layer_does_not_lead_a_new_sandbox_out(tmp_path: Path) -> None:
    """A writable folder inside of another: the enemy moves its parent away and puts a link to the host there."""
    tmp_path.chmod(0o755)
    with NamespaceProvider(small(writable=("/workspace", "/workspace/a/b", "/tmp"))) as provider:
        with provider.start() as sandbox:
            sandbox.run(f"mv a c; ln -s {tmp_path} a; ls")
            snapshot = sandbox.freeze()
        with snapshot, contextlib.suppress(SandboxError):
            snapshot.start().close()
    assert list(tmp_path.iterdir()) == []
