"""The session's shell: where it is, what it leaves behind, and what of it can be carried into another sandbox."""

from __future__ import annotations

import random
import time

import pytest
from sandbox.support import SLOW, until

from agentworld_envs.backends.sandbox import Sandbox
from agentworld_envs.backends.sandbox.guest import shell_state
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider, NamespaceSandbox
from agentworld_envs.interface import SandboxRefused, SessionLost


def test_where_the_shell_is(anything: Sandbox) -> None:
    home = anything.run("pwd").stdout.rstrip("\n")
    assert anything.run("mkdir a; ln -s a l; cd l").cwd == f"{home}/l"
    assert anything.run("cd -P .").cwd == f"{home}/a"
    assert anything.run("(cd /)").cwd == f"{home}/a"
    assert anything.run("PWD=/usr").cwd == f"{home}/a"
    assert anything.run("unset PWD; set -u").cwd == f"{home}/a"
    assert anything.run("cd /tmp; sleep 100", 0.2).cwd == "/tmp"
    assert anything.exec(["pwd"]).cwd == ""
    ended = anything.run("cd /; exit 3")
    assert ended.shell_restarted
    assert anything.run("pwd").stdout == f"{ended.cwd}\n"
    assert anything.run("mkdir -p \"$(printf 'x\\xff\\ny')\"; cd x*").cwd.endswith("x\\xff\ny")
    assert anything.run("cd /tmp; PWD=$(head -c 3000000 /dev/zero | tr '\\0' /)").cwd == "/tmp"
    assert anything.run("echo alive").stdout == "alive\n"


def test_the_exit_code_is_remembered(anything: Sandbox) -> None:
    anything.run("(exit 7)")
    assert anything.run("echo $?").stdout == "7\n"
    assert anything.run("echo $?").stdout == "0\n"
    anything.run("(exit 3)")
    anything.shell_state()
    assert anything.run("echo $?").stdout == "3\n"


def test_late_output_is_nobodys(anything: Sandbox) -> None:
    """Not even while the next commands run."""
    anything.run("(while :; do echo late; sleep 0.01; done) & echo started")
    for index in range(9):
        assert anything.run(f"sleep 0.05; echo {index}").stdout == f"{index}\n"
    assert anything.run("kill %1 2>/dev/null || kill $!; echo done").stdout == "done\n"


def test_processes(anything: Sandbox) -> None:
    assert anything.processes() == []
    anything.run("sleep 1000 & (exec -a $'odd\\xff name' sleep 1001 &)")
    end = time.monotonic() + SLOW
    while any(process.args[0] == "bash" for process in anything.processes()) and time.monotonic() < end:
        time.sleep(0.01)  # the shell's child is about to become the program
    found = {process.args: process for process in anything.processes()}
    assert set(found) == {("sleep", "1000"), ("odd\\xff name", "1001")}
    assert anything.run("echo $!").stdout == f"{found['sleep', '1000'].pid}\n"
    anything.run("kill $!; wait; cd /; exec -a x sleep 0.2")
    anything.run("kill $(pgrep -f 1001) 2>/dev/null; pkill -f 'name 1001'")
    end = time.monotonic() + SLOW
    while anything.processes() and time.monotonic() < end:
        time.sleep(0.01)
    assert anything.processes() == []


def test_a_shell_that_became_another_program_is_a_process(sandbox: NamespaceSandbox) -> None:
    pytest.importorskip("pyte")
    sandbox.screen("", 20.0, until_idle=True)
    assert sandbox.processes() == []
    sandbox.screen("exec sleep 1000\r", 0.5)
    until(lambda: [process.args for process in sandbox.processes()] == [("sleep", "1000")], SLOW)


CHANGES = [
    "cd {home}/d/e",
    "cd {home}/l",
    "pushd {home}/d; pushd /tmp",
    "x=1; y='two words'; z=$'a\\nb\\t\\x01'; é=1; w='hé世'",
    "export x; export E='quote\"s $HOME `a` \\'",
    "a=(1 'two words' [7]=x); declare -A m=([k v]='v v' [']']=\"'\")",
    "declare -i i=5; declare -r fixed=1; declare -u up=abc; declare -n ref=x",
    'f() {{ echo "f $1 ${{x-}}"; }}; g() {{ [[ $1 == @(a|b) ]]; }} 2>/dev/null; export -f f',
    "shopt -s extglob expand_aliases",
    "h() {{ case $1 in +([0-9])) echo digits;; *) echo none;; esac; }}",
    "alias ll='ls -l' say='echo said'; alias odd=\"echo 'q'\"",
    "ls() {{ echo mine; }}",
    "set -u",
    "set -o pipefail",
    "set -f",
    "set -e; :",
    "umask 027",
    "trap 'echo int\n'\\''' INT; trap 'echo \"it'\"'\"'s err\"' ERR",
    "trap '' HUP",
    "set -- one 'two words' ''",
    "ulimit -n 200",
    "ulimit -S -c 0",
    "unset LANG PATH; PATH=/usr/bin:/bin",
    "unset HOME",
    "enable -n kill",
    "(exit 9)",
    "RANDOM=42; SECONDS=100",
    "IFS=,; OPTIND=3; PS1='x> '",
    "set -o posix",
    "echo $1; shift 2>/dev/null; :",
    'declare() {{ builtin declare "$@"; }}; cd() {{ builtin cd "$@"; }}; trap() {{ :; }}; set() {{ echo no; }}',
]
_NAMES = "PID|RANDOM|SECONDS|REALTIME|HISTCMD|LINENO|GROUPS|BREAKS|STATUS|DIRSTACK|BASHOPTS|BASH_[A-Z0-9]*|_"
OWN = f"-E -e __aw -e ' [A-Z_]*({_NAMES})(=|$)'"
"""Variables of the shell itself or of its driver."""
PROBES = [
    "echo $? ${PIPESTATUS[*]} $-",
    'pwd; echo "$PWD ${OLDPWD-none}"; builtin dirs -l -p',
    f"builtin declare -p | grep -v {OWN}",
    "builtin declare -f; builtin declare -F",
    "builtin alias -p; builtin shopt -p; builtin set +o; builtin umask; builtin trap -p; builtin enable -n",
    "ulimit -a; ulimit -Ha",
    'echo $# "$@"; echo ${x-} ${a[1]-} ${m[k v]-}',
    "ll / 2>&1 | head -2; say hi; odd",
    "f a; g a; echo $?; h 12",
    "env | sort | grep -v '^_='",
    "cd / && pwd && x=changed; echo ${ref-}; i=3+4; echo $i",
    "touch new; stat -c %a new",
]


@pytest.mark.parametrize("seed", range(12))
def test_a_fork_answers_as_the_original(namespaces: NamespaceProvider, sandbox: NamespaceSandbox, seed: int) -> None:
    chance = random.Random(seed)
    sandbox.run("mkdir -p d/e; ln -s d l; touch {1..3}.txt")
    for change in chance.sample(CHANGES, chance.randint(3, 14)):
        sandbox.run(change.format(home="/workspace"), 20.0)
    state = sandbox.shell_state()
    with sandbox.snapshot() as snapshot, snapshot.start() as fork:
        fork.restore_shell(state)
        for probe in PROBES:
            ours, theirs = (one.run(probe, 20.0, merge_stderr=True) for one in (sandbox, fork))
            assert (ours.stdout, ours.exit_code, ours.cwd) == (theirs.stdout, theirs.exit_code, theirs.cwd), probe


def test_to_ask_for_the_state_changes_nothing(namespaces: NamespaceProvider, sandbox: NamespaceSandbox) -> None:
    setup = "RANDOM=42; set -u; trap 'n=$((n+1))' USR2; n=0; set -- a b; false | true | (exit 3)"
    probe = "echo $? $RANDOM $n $# $BASHPID $$; sh -c 'echo $$'; "
    probe += f"builtin declare -p | grep -v {OWN}"
    with namespaces.start() as other:
        for one in (sandbox, other):
            one.run(setup)
        states = [sandbox.shell_state() for _ in range(3)]
        assert states[1] == states[2]
        assert sandbox.run(probe).stdout == other.run(probe).stdout


def test_the_state_of_a_shell_of_another_kind_of_sandbox(anything: Sandbox) -> None:
    anything.run("x=1; cd /tmp; f() { echo f$x; }")
    state = anything.shell_state()
    anything.run("x=2; cd /; f() { :; }; sleep 1000 & y=3")
    anything.restore_shell(state)
    assert anything.run("f; pwd; echo ${y-unset}").stdout == "f1\n/tmp\nunset\n"
    until(lambda: [process.args for process in anything.processes()] == [("sleep", "1000")], SLOW)


def test_states_that_are_none(sandbox: NamespaceSandbox) -> None:
    good = sandbox.shell_state()
    for bad in (b"", b"x", good[:-1], good + b"\0", b"\0" * 100, good.replace(b"\0", b"", 1)):
        with pytest.raises(SandboxRefused, match="not the state"):
            sandbox.restore_shell(bad)
    with pytest.raises(SandboxRefused, match="at most"):
        sandbox.restore_shell(bytes(shell_state.MOST_STATE + 1))
    sandbox.run("big=$(head -c 5000000 /dev/zero | tr '\\0' x)")
    with pytest.raises(SandboxRefused, match="more than"):
        sandbox.shell_state()
    assert sandbox.run("echo ${#big}").stdout == "5000000\n"


HOSTILE = ["while :; do :; done", "exit 3", "kill -9 $$", "exec sleep 100", "set -n", "'", "{", "read x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_state_that_is_an_attack(sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("agentworld_envs.backends.sandbox.guest_sandbox.STATE_TIMEOUT_S", 1.0)
    sections = sandbox.shell_state().split(b"\0")
    sections[2] += text.encode() + b"\n"
    try:
        sandbox.restore_shell(b"\0".join(sections))
    except SessionLost:
        assert sandbox.run("echo alive", 20.0).stdout == "alive\n"
    sandbox.run("echo alive", 1.0)
    assert sandbox.exec(["echo", "alive"]).stdout == "alive\n"
    sandbox.restore_shell(b"\0".join(sandbox_state(sandbox)))
    assert sandbox.run("echo alive", 20.0).stdout == "alive\n"


def sandbox_state(sandbox: NamespaceSandbox) -> list[bytes]:
    """The state of a new shell."""
    sandbox.run("kill -9 $$", 2.0)
    return sandbox.shell_state().split(b"\0")


def test_a_shell_that_cannot_tell_is_replaced(sandbox: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentworld_envs.backends.sandbox.guest_sandbox.STATE_TIMEOUT_S", 0.5)
    sandbox.run("sleep 1000 & (sleep 0.3; kill -STOP $$) & echo")
    time.sleep(0.6)
    with pytest.raises(SessionLost):
        sandbox.shell_state()
    assert sandbox.run("echo alive").stdout == "alive\n"
    assert len(sandbox.processes()) == 1
