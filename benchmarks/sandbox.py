"""What a sandbox costs, next to SWE-ReX: one run of everything, on this machine.

    python benchmarks/sandbox.py [--kinds namespace,docker] [--rounds 50] [--live 300] [--swe-rex PYTHON]

Every figure of every kind is taken right before or after those of the others, so that they share the weather. Columns:
the kinds, SWE-ReX, and how many times better the first kind is than that. `--swe-rex` (or AGENTWORLD_SWEREX_PYTHON) is
a Python that has it: `python3 -m venv V && V/bin/pip install swe-rex aiohttp`, then V/bin/python.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import sandbox_measures as measures

from agentworld_envs.backends.sandbox import Limits, Provider, sandbox_config
from agentworld_envs.interface import AgentWorldError

LIMITS = Limits(disk_mb=128)


class Row(NamedTuple):
    """One line of the table."""

    name: str
    measure: Callable[[Provider, int], list[float]]
    rounds: str
    """Which of the options says how often: `many` is ten times `--rounds`, `few` a fifth of it, `live`, or a number."""
    cut: int
    """Percentile of the values, from 1 to 99."""
    unit: str
    goal: str
    theirs: bool = True
    """Whether SWE-ReX can do it."""


ROWS = (
    Row("command `echo hi`, p50", measures.command, "many", 50, "ms", "< 1"),
    Row("command `echo hi`, p99", measures.command, "many", 99, "ms", ""),
    Row("program `/bin/true` apart from the shell, p50", measures.program, "rounds", 50, "ms", "", False),
    Row("keys `ls` into a terminal, until it is idle, p50", measures.screen, "rounds", 50, "ms", "", False),
    Row("1 MB of output, made by a pipeline, p50", measures.output, "few", 50, "ms", ""),
    Row("1 MB of output, from a file, p50", measures.stored, "rounds", 50, "ms", "< 15", False),
    Row("reset: start, command, close, p50", measures.reset, "rounds", 50, "ms", "<= 15"),
    Row("reset from a full pool, with a command, p50", measures.warm, "rounds", 50, "ms", "", False),
    Row("resets with several threads", measures.rate, "100", 50, "/s", ">= 100"),
    Row("past the deadline of a command, p95", measures.kill, "30", 95, "ms", "<= 10"),
    Row("sessions that answer after that", measures.usable_after_kill, "5", 50, "of 1", "1"),
    Row("fork of 50 MB, live: copy, command, close, p50", measures.fork_live, "few", 50, "ms", "<= 20", False),
    Row("fork of 50 MB, frozen, p50", measures.fork_frozen, "few", 50, "ms", "<= 20", False),
    Row("memory of each", measures.memory, "live", 50, "MiB", "<= 4"),
    Row("2,000 commands in many at once: lost or mixed up", measures.many, "live", 50, "", "0", False),
    Row("owner killed, 32 busy: until nothing is left, worst", measures.death, "10", 99, "ms", "< 1000", False),
)
"""In SWE-ReX a deployment on this machine isolates nothing; it is what it costs without a container."""
THEIR_MOST = {"command": 50, "reset": 5, "rate": 10, "kill": 5, "memory": 10, "usable_after_kill": 3, "output": 5}
"""It is so slow that fewer rounds have to do."""


class SweRex:
    """The other side: a process that measures when asked."""

    def __init__(self, python: str) -> None:
        worker = str(Path(__file__).with_name("swe_rex_worker.py"))
        self._process = subprocess.Popen(
            [python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.version = str(self._read()["version"])

    def _read(self) -> dict[str, object]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("it ended")
        answer: dict[str, object] = json.loads(line)
        return answer

    def measure(self, name: str, rounds: int) -> list[float]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"measure": name, "rounds": rounds}) + "\n")
        self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise RuntimeError(str(answer["error"]))
        return [float(value) for value in answer["values"]]  # type: ignore[attr-defined]

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def percentile(values: list[float], cut: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[cut - 1] if len(values) > 1 else values[0]


def attempt(work: Callable[[], list[float]], cut: int) -> float | None:
    """A figure, or nothing where this kind cannot do it."""
    try:
        return percentile(work(), cut)
    except (AgentWorldError, RuntimeError, AttributeError) as error:
        print(f"    ({str(error).splitlines()[0]})")
        return None


def shown(value: float | None, unit: str) -> str:
    return "-".rjust(12) if value is None else f"{value:7.2f} {unit:4}"


def ratio(row: Row, ours: float | None, theirs: float | None) -> str:
    if not ours or not theirs or row.unit not in ("ms", "/s", "MiB"):
        return ""
    return f"{ours / theirs if row.unit == '/s' else theirs / ours:7.1f}x"


def rounds_of(row: Row, options: argparse.Namespace) -> int:
    named = {"many": options.rounds * 10, "rounds": options.rounds, "few": options.rounds // 5, "live": options.live}
    return max(named.get(row.rounds) or int(row.rounds), 2)


def providers(kinds: list[str], stack: contextlib.ExitStack) -> dict[str, Provider]:
    """Those that work here."""
    found = {}
    for kind in kinds:
        try:
            provider = stack.enter_context(sandbox_config(kind, limits=LIMITS).build())
            usability = provider.probe()
        except AgentWorldError as error:
            print(f"{kind}: left out: {error}")
            continue
        print(f"{kind}: {usability.why} {usability.what_to_do}")
        if usability.usable:
            found[kind] = provider
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="namespace,docker", help="those that do not work here are left out")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--live", type=int, default=300)
    parser.add_argument("--swe-rex", default=os.environ.get("AGENTWORLD_SWEREX_PYTHON", ""))
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        ours = providers(options.kinds.split(","), stack)
        if not ours:
            raise SystemExit(1)
        theirs = None
        if options.swe_rex:
            theirs = SweRex(options.swe_rex)
            stack.callback(theirs.close)
            print(f"SWE-ReX {theirs.version}: LocalDeployment, which isolates nothing")
        else:
            print("SWE-ReX: left out; give --swe-rex a Python that has it: pip install swe-rex aiohttp")
        cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
        print(f"{cores} cores, load {load:.1f}, {options.live} live\n")
        print(f"{'':52}{''.join(f'{kind:>13}' for kind in ours)}  goal      {'SWE-ReX':>12}  better by")
        for row in ROWS:
            count = rounds_of(row, options)
            values = [
                attempt(lambda row=row, provider=provider, count=count: row.measure(provider, count), row.cut)  # type: ignore[misc]
                for provider in ours.values()
            ]
            other = None
            if theirs is not None and row.theirs:
                name = row.measure.__name__
                fewer = min(count, THEIR_MOST[name])
                other = attempt(lambda name=name, fewer=fewer: theirs.measure(name, fewer), row.cut)  # type: ignore[misc]
            columns = "".join(f" {shown(value, row.unit)}" for value in values)
            print(
                f"{row.name:52}{columns}  {row.goal:8} {shown(other, row.unit)}  {ratio(row, values[0], other)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
