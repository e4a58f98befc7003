"""Commands that want to do harm. After each the session goes on, or a typed error says why, and nothing is left.

Every sandbox here is small (`support.SMALL`), and that its bounds hold is seen before the first bomb goes off: should
one not hold on this machine, no bomb of this file is tried.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest
from sandbox.support import SLOW, SMALL, counts_memory, descendants

from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox
from agentworld_envs.interface import SandboxRefused, Tampered

_proven: list[bool] = []


@pytest.fixture
def caged(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> NamespaceSandbox:
    """A sandbox whose bounds were seen to hold."""
    if not _proven:
        assert "48" in sandbox.run("ulimit -u").stdout
        assert sandbox.run("df -m --output=size /workspace | tail -1").stdout.strip() == str(SMALL.disk_mb)
        assert sandbox.run("df --output=itotal /workspace | tail -1").stdout.strip() == str(SMALL.inodes)
        assert sandbox.run("ulimit -f").stdout.strip() == str(SMALL.disk_mb * 1024)
        data = sandbox.run("ulimit -d").stdout.strip()
        assert counts_memory(namespaces) or data == str(SMALL.memory_mb * 1024)
        started = sandbox.run("for i in $(seq 100); do sleep 20 & done; wait", 5.0, merge_stderr=True)
        assert "fork" in started.stdout
        _proven.append(True)
    return sandbox


def test_the_bounds_hold(caged: NamespaceSandbox) -> None:
    assert _proven
    assert caged.run("echo alive").stdout == "alive\n"


BOMBS = {
    "fork": ("f(){ f|f & }; f; sleep 5", 2.0),
    "fork in Python": (
        "python3 -c 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass'",
        2.0,
    ),
    "fork with new sessions": ('f(){ setsid -f bash -c "$(declare -f f); f"; f; }; f', 2.0),
    "memory": ("python3 -c 'x=[]\nwhile True: x.append(bytearray(10<<20))'", 10.0),
    "memory of many": (
        "for i in 1 2 3 4 5 6; do python3 -c 'import time; x=bytearray(60<<20); time.sleep(3)' & done; wait",
        10.0,
    ),
    "memory of the shell": ("x=aaaaaaaaaaaaaaaa; while :; do x=$x$x; done", 10.0),
    "shared memory": (
        "python3 -c 'import mmap\nx=[]\nwhile True: m=mmap.mmap(-1,10<<20); m.write(b\"x\"*(10<<20)); x.append(m)'",
        10.0,
    ),
    "anonymous files": (
        "python3 -c 'import os\nf=[]\nwhile True:\n  f.append(os.memfd_create(\"x\")); os.write(f[-1],bytes(5<<20))'",
        10.0,
    ),
    "disk": ("head -c 500000000 /dev/zero > /tmp/fill", 10.0),
    "disk in shm": ("head -c 500000000 /dev/zero > /dev/shm/fill", 10.0),
    "sparse file": ("truncate -s 100G /workspace/sparse", 5.0),
    "many files": ('python3 -c \'for i in range(100000): open(f"/tmp/f{i}","w").close()\'', 10.0),
    "deep folders": ('python3 -c \'import os\nfor i in range(5000): os.mkdir("d"); os.chdir("d")\'', 10.0),
    "descriptors": ("python3 -c 'import os\nwhile True: os.dup(0)'", 5.0),
    "terminals": ("python3 -c 'import os\nwhile True: os.openpty()'", 5.0),
    "CPU": ("for i in 1 2 3 4 5 6 7 8; do while :; do :; done & done; wait", 1.0),
    "endless output": ("yes", 10.0),
    "endless output of the shell": (
        "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
        10.0,
    ),
    "endless errors": ("yes >&2", 10.0),
    "zombies": ("for i in $(seq 500); do (sleep 0.01 &) ; done; wait", 5.0),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(caged: NamespaceSandbox, name: str) -> None:
    command, timeout_s = BOMBS[name]
    started = time.monotonic()
    result = caged.run(command, timeout_s)
    assert time.monotonic() - started < timeout_s + 2.5 * SLOW
    assert result.exit_code != 0 or result.out_of_memory or name == "zombies"
    assert "alive" in caged.run("echo alive", 5.0 * SLOW).stdout
    assert caged.exec(["echo", "alive"]).stdout == "alive\n"


def test_kept_bombs_do_not_outlive_the_sandbox(namespaces: NamespaceProvider) -> None:
    sandbox = namespaces.start()
    sandbox.run("for i in $(seq 30); do setsid nohup sh -c 'while :; do :; done' >/dev/null 2>&1 & done")
    assert len(descendants(sandbox.pid or 0)) > 20
    started = time.monotonic()
    sandbox.close()
    assert time.monotonic() - started < SLOW
    assert not descendants(namespaces.zygote.process_id) & descendants(os.getpid()) - {namespaces.zygote.process_id}


SPITE = {
    "unclosed quote": "echo 'abc",
    "unclosed heredoc": "cat <<EOF\nabc",
    "unclosed if": "if true; then",
    "lone parenthesis": ")",
    "standard input": "cat; read -r x; echo got=$x; python3 -c 'input()'; bash; sh",
    "prompt": "export PS1='P' PS2='Q' PS4='R' PROMPT_COMMAND='echo hi'; echo x",
    "debug trap": "trap 'echo dbg' DEBUG; echo x",
    "debug trap with return": "trap 'return 3' DEBUG; echo x",
    "exit trap": "trap 'echo bye' EXIT; echo x",
    "error trap": "trap 'echo err' ERR; false",
    "all traps": "trap '' TERM INT HUP USR1 USR2 PIPE CHLD; echo x",
    "no path": "export PATH=; echo x",
    "path of its own": "mkdir p; printf '#!/bin/sh\\necho evil' > p/echo; chmod +x p/echo; PATH=$PWD/p; echo x",
    "unset variables": "set -u; echo $NOT_THERE",
    "verbose": "set -vx; echo x",
    "no execution": "set -n",
    "posix": "set -o posix; echo x",
    "job control": "set -m; sleep 100 & echo x",
    "redirected": "exec >/dev/null 2>&1; echo hidden",
    "all descriptors closed": 'for i in $(seq 0 255); do eval "exec $i>&-"; done 2>/dev/null; echo a',
    "redefined": "printf(){ command echo pwn; }; read(){ return 1; }; trap(){ :; }; echo hi",
    "redefined builtin": "builtin(){ :; }; echo hi",
    "aliases": "shopt -s expand_aliases; alias builtin=false read=false .=false trap=false; echo hi",
    "disabled": "enable -n read printf trap . builtin; echo x",
    "its variable": "readonly __aw_go=1; echo x",
    "its other variable": "readonly __aw_nonce=1; echo x",
    "stops itself": "kill -STOP $$; echo x",
    "kills all": "kill -9 -1; echo x",
    "kills its group": "kill -9 0; echo x",
    "signals to the agent": "for s in 9 STOP TERM INT HUP QUIT USR1 USR2 SEGV ABRT ALRM CHLD XCPU; do kill -$s 1; done",
    "interrupt signal": "kill -USR1 $$; echo x",
    "exec of a shell": "exec bash",
    "coprocess": "coproc cat; echo x",
    "environment of 3 MB": "export BIG=$(head -c 100000 /dev/zero | tr '\\0' x); "
    "for i in $(seq 30); do export B$i=$BIG; done; /bin/true",
    "escape sequences": "printf '\\033]0;title\\007\\033[2J\\033c\\033[?1049h'",
    "cannot be read": "chmod 000 /workspace; cd /workspace",
    "removes its folder": "mkdir x; cd x; rmdir $PWD; echo x",
    "removes everything": "rm -rf --no-preserve-root / 2>/dev/null; echo x",
}


@pytest.mark.parametrize("name", SPITE)
def test_spite(caged: NamespaceSandbox, name: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(Tampered):
        caged.run(SPITE[name], 2.0)
    assert time.monotonic() - started < 4 * SLOW
    # Its own settings may go on to bother it, but the session answers, in time, and programs apart from it do not care.
    caged.run("echo alive", 2.0)
    caged.run("echo alive", 2.0)
    assert caged.exec(["/bin/echo", "alive"]).stdout == "alive\n"
    caged.run("kill -9 $$", 2.0 * SLOW)
    assert caged.run("echo alive", 2.0 * SLOW).stdout == "alive\n"


def test_an_environment_of_ten_megabytes(caged: NamespaceSandbox) -> None:
    with pytest.raises(SandboxRefused):
        caged.exec(["true"], env={"BIG": "x" * 200_000_000})
    assert caged.exec(["true"], env={"BIG": "x" * 10_000_000}).exit_code == 127
    result = caged.run("export BIG=" + "x" * 10_000_000, 10.0)
    assert result.exit_code == 0
    assert caged.run("/bin/true").exit_code == 126
    assert caged.run("unset BIG; /bin/true").exit_code == 0


def test_a_command_of_one_megabyte(caged: NamespaceSandbox) -> None:
    assert caged.run(f"echo {'x' * 1_000_000} | wc -c", 10.0).stdout == "1000001\n"


TREES = {
    "pipeline": "sleep 100 | sleep 100 | cat",
    "builtin loop": "while :; do :; done",
    "function in function": "f(){ g; }; g(){ while :; do sleep 0.01; done; }; f",
    "many": "for i in $(seq 20); do sleep 100 & done; wait",
    "daemon": "setsid sh -c 'sleep 1000 & sleep 1000' >/dev/null 2>&1 & sleep 100",
    "double fork": "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
    "time.sleep(1000)'; sleep 100",
    "deaf": "trap '' TERM INT HUP; python3 -c 'import signal,time\nfor s in (1,2,15): signal.signal(s,signal.SIG_IGN)\n"
    "time.sleep(100)'",
    "named pipe": "mkfifo p; cat p",
    "its own trap": "trap 'echo gotcha' USR1; while :; do :; done",
    "deaf to the unwinding": "trap '' USR1; while :; do :; done",
    "stopped": "kill -STOP $$",
}


@pytest.mark.parametrize("name", TREES)
def test_nothing_outlives_a_deadline(caged: NamespaceSandbox, name: str) -> None:
    """Not a daemon, not a process in another session, not one that is deaf to signals."""
    caged.run("x=kept; sleep 0.05")
    result = caged.run(TREES[name], 0.3)
    assert result.timed_out
    deaf = name in ("its own trap", "deaf to the unwinding")
    assert result.duration_s < (1.5 if deaf else 0.8) * SLOW
    processes = caged.exec(["ps", "-A", "-o", "pid=,stat=,args="]).stdout.splitlines()
    living = [line for line in processes if line.split()[1][0] != "Z"]
    assert len(living) == 2 + (not result.shell_restarted), living  # the agent, the shell, ps
    kept = caged.run("echo $x").stdout
    assert kept == ("\n" if result.shell_restarted else "kept\n")
    assert result.shell_restarted == deaf


def test_memory_is_bounded_and_said(caged: NamespaceSandbox) -> None:
    """Whoever was faster: the agent, which looks now and then, the kernel, or the limit of one process."""
    for _ in range(3):
        result = caged.run("python3 -c 'x=[]\nwhile True: x.append(bytearray(1<<20))'", 10.0 * SLOW)
        assert "MemoryError" in result.stderr or (result.exit_code == 137 and result.out_of_memory)
    assert not caged.run("true").out_of_memory


def test_the_kernel_counts_the_memory(namespaces: NamespaceProvider, caged: NamespaceSandbox) -> None:
    if not counts_memory(namespaces):
        pytest.skip("needs control groups")
    peak = Path("/sys/fs/cgroup")  # wherever it is mounted, the group of this sandbox is below the zygote's
    found = [folder for folder, _, files in os.walk(peak) if "memory.limit_in_bytes" in files or "memory.max" in files]
    ours = [
        Path(folder) for folder in found if f"agentworld-{os.getpid()}-" in folder and folder.rsplit("/")[-1].isdigit()
    ]
    assert ours
    for folder in ours:
        file = next(folder.glob("memory.limit_in_bytes"), None) or folder / "memory.max"
        assert int(file.read_text()) == (SMALL.memory_mb + SMALL.disk_mb) * 2**20
