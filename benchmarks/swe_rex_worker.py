"""Measures SWE-ReX as `sandbox_measures` measures ours. Runs in a Python that has it, driven line by line: reads
`{"measure": NAME, "rounds": N}`, writes `{"values": [...]}` or `{"error": "..."}`.

It is used as its documentation says: a deployment on this machine, a bash session in it, commands in the session.
Values are milliseconds where nothing else is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import AsyncIterator
from importlib import metadata

from swerex.deployment.local import LocalDeployment
from swerex.exceptions import CommandTimeoutError
from swerex.runtime.abstract import BashAction, CreateBashSessionRequest

logging.disable(logging.CRITICAL)


@contextlib.asynccontextmanager
async def session() -> AsyncIterator[LocalDeployment]:
    deployment = LocalDeployment()
    await deployment.start()
    await deployment.runtime.create_session(CreateBashSessionRequest())
    try:
        yield deployment
    finally:
        await deployment.stop()


async def run(deployment: LocalDeployment, command: str, timeout: float = 60.0) -> str:
    return str((await deployment.runtime.run_in_session(BashAction(command=command, timeout=timeout))).output)


async def repeated(command: str, rounds: int) -> list[float]:
    async with session() as deployment:
        taken = []
        for _ in range(rounds):
            started = time.perf_counter()
            await run(deployment, command)
            taken.append((time.perf_counter() - started) * 1e3)
        return taken


async def command(rounds: int) -> list[float]:
    return await repeated("echo hi", rounds)


async def output(rounds: int) -> list[float]:
    return await repeated("head -c 1000000 /dev/zero | tr '\\0' x | fold -w 99", rounds)


async def reset(rounds: int) -> list[float]:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        async with session() as deployment:
            await run(deployment, ":")
        taken.append((time.perf_counter() - started) * 1e3)
    return taken


async def kill(rounds: int) -> list[float]:
    """A session is of no use after a command that ran out of time, so that each has its own."""
    taken = []
    for _ in range(rounds):
        async with session() as deployment:
            started = time.perf_counter()
            with contextlib.suppress(CommandTimeoutError):
                await run(deployment, "sleep 5 | cat", 0.1)
            taken.append((time.perf_counter() - started - 0.1) * 1e3)
    return taken


async def usable_after_kill(rounds: int) -> list[float]:
    """1 for each session that answers after a command that ran out of time."""
    answered = []
    for _ in range(rounds):
        async with session() as deployment:
            with contextlib.suppress(CommandTimeoutError):
                await run(deployment, "sleep 5 | cat", 0.1)
            try:
                answered.append(float("alive" in await run(deployment, "echo alive", 1.0)))
            except CommandTimeoutError:
                answered.append(0.0)
    return answered


async def rate(rounds: int) -> list[float]:
    """Sessions started, used for one command and ended, a second, all at once."""

    async def one() -> None:
        async with session() as deployment:
            await run(deployment, ":")

    started = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(rounds)))
    return [rounds / (time.perf_counter() - started)]


async def memory(rounds: int) -> list[float]:
    """MiB for each session of many."""
    async with contextlib.AsyncExitStack() as stack:
        before = own_memory()
        for _ in range(rounds):
            await stack.enter_async_context(session())
        return [(own_memory() - before) / rounds / 2**20]


def own_memory() -> int:
    """Bytes of this process and those below it; shared pages are divided among those that share them."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
            parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    tree = [os.getpid()]
    for pid in tree:
        tree += [child for child, parent in parents.items() if parent == pid]
    total = 0
    for pid in tree:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup") as file:
            total += sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    return total


MEASURES = {name.__name__: name for name in (command, output, reset, kill, usable_after_kill, rate, memory)}


def main() -> None:
    print(json.dumps({"version": metadata.version("swe-rex")}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: dict[str, object] = {"values": asyncio.run(MEASURES[request["measure"]](request["rounds"]))}
        except Exception as error:  # noqa: BLE001 - whatever it is, the benchmark goes on without this figure
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
