"""What a sandbox costs: one run of everything, on this machine.

    python benchmarks/sandbox.py [--rounds 50] [--live 100]

Goals (namespace): command p50 below 1 ms, reset p50 at most 15 ms, fork of 50 MB at most 20 ms, 100 sandboxes a
second, kill overhead p95 at most 10 ms, 1 MB of output below 15 ms.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agentworld_envs.backends.sandbox import Limits, NamespaceConfig, Pool, Sandbox
from agentworld_envs.backends.sandbox.namespace import NamespaceProvider

Timing = tuple[float, float, float]


def measure(action: Callable[[], object], rounds: int) -> Timing:
    """Milliseconds: p50, p95, p99."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        taken.append((time.perf_counter() - started) * 1e3)
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    return cuts[49], cuts[94], cuts[98]


def show(name: str, timing: Timing, goal: str = "") -> None:
    print(f"{name:44} {timing[0]:8.2f} {timing[1]:8.2f} {timing[2]:8.2f}   {goal}")


def commands(sandbox: Sandbox, rounds: int) -> None:
    """Single commands in a running session."""
    show("command `echo hi`", measure(lambda: sandbox.run("echo hi"), rounds * 10), "p50 < 1")
    show("command `/bin/ls`", measure(lambda: sandbox.run("/bin/ls"), rounds * 2))
    show("exec `/bin/true`", measure(lambda: sandbox.exec(["/bin/true"]), rounds * 2))
    show("ping", measure(sandbox.ping, rounds * 10))
    show("1 MB of output", measure(lambda: sandbox.run("cat /workspace/mb"), rounds), "p50 < 15")
    show("write 1 kB", measure(lambda: sandbox.write("/workspace/k", b"x" * 1000), rounds * 2))
    show("read 1 MB", measure(lambda: sandbox.read("/workspace/mb"), rounds))


def overrun(sandbox: Sandbox, command: str) -> float:
    started = time.perf_counter()
    sandbox.run(command, 0.1)
    return (time.perf_counter() - started - 0.1) * 1e3


def kills(sandbox: Sandbox, rounds: int) -> None:
    """Milliseconds past the deadline."""
    cases = {
        "sleep pipeline": "sleep 100 | cat",
        "loop of builtins": "while :; do :; done",
        "20 processes": "for i in $(seq 20); do sleep 100 & done; wait",
    }
    for name, command in cases.items():
        taken = [overrun(sandbox, command) for _ in range(rounds)]
        cuts = statistics.quantiles(taken, n=100, method="inclusive")
        show(f"past the deadline: {name}", (cuts[49], cuts[94], cuts[98]), "p95 <= 10")


def reset(provider: NamespaceProvider) -> None:
    sandbox = provider.start()
    sandbox.run(":")
    sandbox.close()


def forks(provider: NamespaceProvider, rounds: int) -> None:
    """A layer of 50 MB in 100 files."""
    with provider.start() as sandbox:
        sandbox.run("for i in $(seq 100); do head -c 500000 /dev/urandom > f$i; done")

        def live() -> None:
            with sandbox.fork() as fork:
                fork.run(":")

        show("fork of 50 MB, live: copy, start, close", measure(live, rounds))
        with sandbox.freeze() as snapshot:

            def frozen() -> None:
                with snapshot.start() as fork:
                    fork.run(":")

            show("fork of 50 MB, frozen: start, command, close", measure(frozen, rounds), "p50 <= 20")


def scale(provider: NamespaceProvider, live: int) -> None:
    """Many at once."""
    cores = len(os.sched_getaffinity(0))
    for workers in (1, cores, 2 * cores):
        started = time.perf_counter()
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda _: reset(provider), range(live)))
        print(f"{f'reset: {workers} threads':44} {live / (time.perf_counter() - started):8.1f} /s   >= 100")
    before = available()
    started = time.perf_counter()
    with ThreadPoolExecutor(cores) as pool:
        sandboxes = list(pool.map(lambda _: provider.start(), range(live)))
        print(f"{'started and kept':44} {live / (time.perf_counter() - started):8.1f} /s   >= 100")
        started = time.perf_counter()
        answers = list(pool.map(lambda job: sandboxes[job % live].run(f"echo {job}").stdout, range(live * 10)))
        seconds = time.perf_counter() - started
    wrong = sum(answer != f"{job}\n" for job, answer in enumerate(answers))
    print(f"{f'{live} live, {len(answers)} commands':44} {len(answers) / seconds:8.0f} /s   {wrong} lost or mixed up")
    print(f"{'memory each, with its shell':44} {(before - available()) / live / 2**20:8.2f} MiB")
    started = time.perf_counter()
    for sandbox in sandboxes:
        sandbox.close()
    print(f"{'closed':44} {live / (time.perf_counter() - started):8.1f} /s")


def available() -> int:
    """Bytes of memory that the machine could still give."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/meminfo has no MemAvailable")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--live", type=int, default=100)
    arguments = parser.parse_args()
    with NamespaceProvider(NamespaceConfig(limits=Limits(disk_mb=128))) as provider:
        usability = provider.probe()
        print(usability.why, usability.what_to_do)
        if not usability.usable:
            raise SystemExit(1)
        load = os.getloadavg()[0]
        print(f"{len(os.sched_getaffinity(0))} cores, load {load:.1f}; milliseconds   p50      p95      p99   goal")
        with provider.start() as sandbox:
            sandbox.run("head -c 1000000 /dev/zero | tr '\\0' x > mb")
            commands(sandbox, arguments.rounds)
            kills(sandbox, max(arguments.rounds // 2, 10))
        show("reset: start, command, close", measure(lambda: reset(provider), arguments.rounds), "p50 <= 15")
        with Pool(provider, 8) as pool:

            def warm() -> None:
                pool.wait_full(10)
                started = time.perf_counter()
                sandbox = pool.take()
                sandbox.run(":")
                taken.append((time.perf_counter() - started) * 1e3)
                sandbox.close()

            taken: list[float] = []
            for _ in range(arguments.rounds):
                warm()
            cuts = statistics.quantiles(taken, n=100, method="inclusive")
            show("reset from a warm pool, with a command", (cuts[49], cuts[94], cuts[98]))
        forks(provider, arguments.rounds)
        scale(provider, arguments.live)


if __name__ == "__main__":
    main()
