"""What is measured of a kind of sandbox, whatever its provider. Milliseconds where nothing else is said."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentworld_envs.backends.sandbox import Pool, Provider, Sandbox, leases
from agentworld_envs.backends.sandbox.docker.owner import LEASE

PIECE = "head -c 1000000 /dev/zero | tr '\\0' x | fold -w 99"
FILL = "for i in $(seq 100); do head -c 500000 /dev/urandom > f$i; done"
"""50 MB in 100 files."""


def repeated(action: Callable[[], object], rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        taken.append((time.perf_counter() - started) * 1e3)
    return taken


def command(provider: Provider, rounds: int) -> list[float]:
    with provider.start() as sandbox:
        sandbox.run(":")
        return repeated(lambda: sandbox.run("echo hi"), rounds)


def program(provider: Provider, rounds: int) -> list[float]:
    with provider.start() as sandbox:
        return repeated(lambda: sandbox.exec(["/bin/true"]), rounds)


def output(provider: Provider, rounds: int) -> list[float]:
    with provider.start() as sandbox:
        return repeated(lambda: sandbox.run(PIECE), rounds)


def stored(provider: Provider, rounds: int) -> list[float]:
    """1 MB of output that only has to be read."""
    with provider.start() as sandbox:
        sandbox.run(f"{PIECE} > mb")
        return repeated(lambda: sandbox.run("cat mb"), rounds)


def screen(provider: Provider, rounds: int) -> list[float]:
    with provider.start() as sandbox:
        sandbox.screen("", 10.0, until_idle=True)
        return repeated(lambda: sandbox.screen("ls\n", 10.0, until_idle=True), rounds)


def one_life(provider: Provider) -> None:
    with provider.start() as sandbox:
        sandbox.run(":")


def reset(provider: Provider, rounds: int) -> list[float]:
    one_life(provider)
    return repeated(lambda: one_life(provider), rounds)


def warm(provider: Provider, rounds: int) -> list[float]:
    """A reset from a pool that is full."""
    taken = []
    with Pool(provider, 8) as pool:
        for _ in range(rounds):
            pool.wait_full(60)
            started = time.perf_counter()
            with pool.take() as sandbox:
                sandbox.run(":")
                taken.append((time.perf_counter() - started) * 1e3)
    return taken


def kill(provider: Provider, rounds: int) -> list[float]:
    """Past the deadline: a pipeline, a loop of builtins, and twenty processes."""
    commands = ("sleep 5 | cat", "while :; do :; done", "for i in $(seq 20); do sleep 5 & done; wait")
    taken = []
    with provider.start() as sandbox:
        sandbox.run(":")
        for index in range(rounds):
            started = time.perf_counter()
            sandbox.run(commands[index % len(commands)], 0.1)
            taken.append((time.perf_counter() - started - 0.1) * 1e3)
    return taken


def usable_after_kill(provider: Provider, rounds: int) -> list[float]:
    """1 for each session that answers after a command that ran out of time."""
    answered = []
    for _ in range(rounds):
        with provider.start() as sandbox:
            sandbox.run("sleep 5 | cat", 0.1)
            answered.append(float(sandbox.run("echo alive", 1.0).stdout == "alive\n"))
    return answered


def fork_live(provider: Provider, rounds: int) -> list[float]:
    """A copy of a running sandbox, a command in it, its end."""
    with provider.start() as sandbox:
        sandbox.run(FILL)

        def fork() -> None:
            with sandbox.fork() as other:
                other.run(":")

        return repeated(fork, rounds)


def fork_frozen(provider: Provider, rounds: int) -> list[float]:
    sandbox = provider.start()
    sandbox.run(FILL)
    with sandbox.freeze() as snapshot:

        def fork() -> None:
            with snapshot.start() as other:
                other.run(":")

        return repeated(fork, rounds)


def rate(provider: Provider, rounds: int) -> list[float]:
    """Resets a second, from several threads."""
    with ThreadPoolExecutor(2 * len(os.sched_getaffinity(0))) as threads:
        started = time.perf_counter()
        list(threads.map(lambda _: one_life(provider), range(rounds)))
        return [rounds / (time.perf_counter() - started)]


def memory(provider: Provider, rounds: int) -> list[float]:
    """MiB for each of many, with its shell, by what the machine has less of."""
    before = available()
    sandboxes = started(provider, rounds)
    value = (before - available()) / rounds / 2**20
    ended(sandboxes)
    return [value]


def many(provider: Provider, rounds: int) -> list[float]:
    """How many of 2,000 answers were lost or mixed up with `rounds` sandboxes at once."""
    sandboxes = started(provider, rounds)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda job: sandboxes[job % rounds].run(f"echo {job}").stdout, range(2000)))
    ended(sandboxes)
    return [float(sum(answer != f"{job}\n" for job, answer in enumerate(answers)))]


def death(provider: Provider, rounds: int) -> list[float]:
    """Milliseconds until nothing is left of 32 busy sandboxes whose owner was killed: no process, container, control
    group or temporary folder. (A zombie counts as gone: it only waits for the machine's own first process.)"""
    config = provider.config.model_dump_json()  # type: ignore[attr-defined]
    code = (
        "import json, sys, threading, time\n"
        "from agentworld_envs.backends.sandbox import sandbox_config\n"
        f"provider = sandbox_config(**json.loads({config!r})).build()\n"
        "boxes = [provider.start() for _ in range(32)]\n"
        "[box.run('sleep 1000 & setsid sleep 1000 &') for box in boxes]\n"
        "work = 'while :; do sleep 0.01; done'\n"
        "[threading.Thread(target=box.run, args=(work, 99), daemon=True).start() for box in boxes]\n"
        "print('busy', flush=True); time.sleep(99)"
    )
    taken = []
    for _ in range(rounds):
        owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert owner.stdout is not None
        owner.stdout.readline()
        below = descendants(owner.pid) | contained(owner.pid)
        owner.send_signal(signal.SIGKILL)
        begun = time.perf_counter()
        owner.wait()
        while any(lives(pid) for pid in below) or leftovers(owner.pid):
            time.sleep(0.005)
        taken.append((time.perf_counter() - begun) * 1e3)
        owner.stdout.close()
    return taken


def started(provider: Provider, count: int) -> list[Sandbox]:
    def start(_: int) -> Sandbox:
        sandbox = provider.start()
        sandbox.run(":")
        return sandbox

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
        return list(threads.map(start, range(count)))


def ended(sandboxes: list[Sandbox]) -> None:
    for sandbox in sandboxes:
        sandbox.close()


def available() -> int:
    """Bytes of memory that the machine could still give."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")


def lives(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def containers(pid: int, form: str) -> list[str]:
    """What Docker says of the containers of an owner; nothing where there is no Docker."""
    shown = f'{{{{.Label "{LEASE}"}}}} {form}'
    argv = ["docker", "ps", "--all", "--no-trunc", "--filter", f"label={LEASE}", "--format", shown]
    try:
        listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line.partition(" ")[2] for line in listed if f"-{pid}-" in line.partition(" ")[0]]


def contained(pid: int) -> set[int]:
    """The processes in an owner's containers, as this machine counts."""
    found = set()
    for name in containers(pid, "{{.ID}}"):
        listed = subprocess.run(["docker", "top", name, "-eo", "pid"], capture_output=True, text=True, check=False)
        found |= {int(word) for word in listed.stdout.split()[1:]}
    return found


def leftovers(pid: int) -> list[str]:
    """What an owner has left besides processes."""
    folders = glob.glob(f"{tempfile.gettempdir()}/agentworld*-{pid}-*")
    return folders + leases.cgroups.find_groups(f"agentworld-{pid}-") + containers(pid, "{{.ID}}")


def descendants(pid: int) -> set[int]:
    """The processes below one."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    tree = [pid]
    for one in tree:
        tree += [child for child, parent in parents.items() if parent == one]
    return set(tree[1:])
