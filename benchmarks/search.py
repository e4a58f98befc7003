"""The search engine beside `bm25s` and SQLite FTS5 used plainly: one run, the same pages and queries for everyone.

    python benchmarks/search.py [--sizes 10000 100000 1000000] [--systems tantivy fts5 'plain fts5' bm25s]

`tantivy` and `fts5` are the two engines of this package, with snippets; `bm25s` (pip install bm25s PyStemmer) gives
page numbers only. Every system is built in one process and measured in a fresh one: open time, memory, latency of each
query alone, then queries a second on one and two threads. Lines with `step` are the same through `env.step`, from the
text of an action to the observation; those with `x8` ask eight queries in one action, as the tools allow, and give the
latency of the eight. Two threads can only show what a second CPU is free for: the last line says how
much faster two threads hash than one, without Python's lock. Pages are synthetic, 100 to 150 words by Zipf's law.
Goals: p50 <= 1 ms at 100k and <= 5 ms at 1 M, 5,000 queries a second on two threads at 100k, open < 0.2 s.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from search_corpus import pages, queries
from search_systems import SYSTEMS, Ours

SECONDS = 20.0
"""After so long, a system has shown enough queries."""


def build(name: str, size: int, folder: Path) -> dict[str, Any]:
    """Build, in this process: seconds and the most memory."""
    started = time.perf_counter()
    for _ in pages(size):
        pass
    made = time.perf_counter() - started
    started = time.perf_counter()
    SYSTEMS[name].build(pages(size), folder)
    seconds = time.perf_counter() - started - made
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"build_s": seconds, "build_rss": peak, "disk": disk}


def measure(name: str, size: int, folder: Path, step: bool = False, width: int = 1) -> dict[str, Any]:
    """Open and search, in this fresh process; through `env.step` with `step`, `width` queries in one action."""
    asked: list[Any] = queries(2000, size)
    if width > 1:
        asked = [asked[at : at + width] for at in range(0, len(asked), width)]
    before, _ = memory()
    started = time.perf_counter()
    system = SYSTEMS[name]
    search = system.step(folder) if step and isinstance(system, Ours) else system.open(folder)
    opened = time.perf_counter() - started
    search(asked[0])
    first = time.perf_counter() - started
    cut = time.perf_counter() + SECONDS
    latencies = []
    for query in asked:
        at = time.perf_counter()
        search(query)
        now = time.perf_counter()
        latencies.append(now - at)
        if now > cut:
            break
    latencies.sort()
    rate = [width * per_second(search, asked, threads) for threads in (1, 2)]
    rss, anonymous = memory()
    return {
        "open_s": opened,
        "first_s": first,
        "queries": len(latencies),
        "p50_ms": 1e3 * latencies[len(latencies) // 2],
        "p99_ms": 1e3 * latencies[int(len(latencies) * 0.99)],
        "one": rate[0],
        "two": rate[1],
        "rss": rss - before,
        "anonymous": anonymous,
    }


def per_second(search: Callable[[Any], Any], asked: list[Any], threads: int) -> float:
    """Calls a second, every thread through the same queries from another start, for at least two seconds."""
    done = [0] * threads
    end = time.perf_counter() + 3.0

    def run(number: int) -> None:
        at = number * len(asked) // threads
        while time.perf_counter() < end:
            search(asked[at % len(asked)])
            at += 1
            done[number] += 1

    workers = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(done) / (time.perf_counter() - started)


def memory() -> tuple[int, int]:
    """Bytes of this process in memory, with files that are mapped, and without."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return 1024 * int(fields["VmRSS"].split()[0]), 1024 * int(fields["RssAnon"].split()[0])


def child(task: str, name: str, size: int, folder: Path) -> dict[str, Any] | None:
    """Run `build` or `measure` in a process of its own."""
    command = [sys.executable, __file__, "--child", task, name, str(size), str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        print(f"{name} at {size:,}: {task} failed: {result.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--folder", type=Path, help="Where the indexes are built; removed afterwards.")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        task, name, size, folder = options.child
        work: dict[str, Callable[..., Any]] = {"build": build, "measure": measure, "step": partial(measure, step=True)}
        work["step x8"] = partial(measure, step=True, width=8)
        print(json.dumps(work[task](name, int(size), Path(folder))))
        return
    print(
        f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}"
    )
    head = f"{'pages':>9} {'system':<16}{'p50 ms':>8}{'p99 ms':>9}{'q/s 1':>8}{'q/s 2':>8}{'open s':>8}"
    print(head + f"{'build s':>9}{'build MB':>10}{'RSS MB':>8}{'own MB':>8}{'disk MB':>9}")
    root = Path(tempfile.mkdtemp(prefix="search-benchmark-", dir=options.folder))
    try:
        for size in options.sizes:
            for name in options.systems:
                show(name, size, root / "index")
                shutil.rmtree(root / "index", ignore_errors=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    blocks = ["x" * 300_000]
    one, two = (per_second(lambda block: hashlib.blake2b(block.encode()), blocks, threads) for threads in (1, 2))
    print(f"* without snippets. Load {os.getloadavg()[0]:.1f}; two threads hash {two / one:.2f} times as fast as one.")


def show(name: str, size: int, folder: Path) -> None:
    """The lines of the table for one index."""
    built = child("build", name, size, folder)
    for task in ("measure", "step", "step x8") if SYSTEMS[name].steps else ("measure",):
        found = child(task, name, size, folder) if built else None
        if built is None or found is None:
            return
        shown = name + (f" {task}" if task != "measure" else "") + ("" if SYSTEMS[name].snippets else " *")
        print(
            f"{size:>9,} {shown:<16}{found['p50_ms']:>8.3f}{found['p99_ms']:>9.2f}{found['one']:>8,.0f}"
            f"{found['two']:>8,.0f}{found['open_s']:>8.3f}{built['build_s']:>9.1f}{built['build_rss'] / 1e6:>10,.0f}"
            f"{found['rss'] / 1e6:>8,.0f}{found['anonymous'] / 1e6:>8,.0f}{built['disk'] / 1e6:>9,.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
