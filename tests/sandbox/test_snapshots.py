"""Copies of a sandbox: what they share, what they do not, and how deep they may be stacked."""

from __future__ import annotations

import pytest
from sandbox.support import small

from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox
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
