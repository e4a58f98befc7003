"""The five checks of a virtual web that forces a search, on fictional worlds: goals beside what is measured.

    python benchmarks/search_checks.py [--tasks 200] [--levels]

Determinism and speed of searches, masks, what masks force, snippets, and the pass@8 filter (LiteResearcher). Seeds are
fixed. Ends with 1 when a goal is missed. With `--levels` also the searcher's success by level and visits.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[0] = str(TESTS)  # in place of this file's own folder, where another file has the name of that package

from search.checks import determinism, masking, passk, success  # noqa: E402
from search.checks.tasksets import tasks  # noqa: E402

from agentworld_envs.agents import Searcher  # noqa: E402

QUERIES = 200
SIZE, PAGES = "large", 5_000
FILTERED = 300


@dataclass(frozen=True)
class Row:
    """A goal, and what was measured."""

    name: str
    goal: str
    measured: str
    met: bool


def at_least(name: str, goal: float, value: float) -> Row:
    return Row(name, f">= {goal:g}", f"{value:.3f}", value >= goal)


def at_most(name: str, goal: float, value: float, unit: str = "") -> Row:
    return Row(name, f"<= {goal:g}{unit}", f"{value:.3f}{unit}", value <= goal)


def deterministic() -> Iterator[Row]:
    first = determinism.transcript(QUERIES, SIZE)
    again = determinism.transcript(QUERIES, SIZE).digest == first.digest
    other = determinism.elsewhere(QUERIES, SIZE) == first.digest
    yield Row(f"1 {QUERIES} queries twice", "same bytes", "same" if again else "OTHER", again)
    yield Row(f"1 {QUERIES} queries in another process", "same bytes", "same" if other else "OTHER", other)
    yield at_least("1 pages of that world", PAGES, first.pages)
    yield at_most("1 p50 of a search through env.step", 50.0, first.median_s * 1e3, " ms")


def masks() -> Iterator[Row]:
    leaks = masking.look(60)
    shown = "; ".join(leaks.found[:3])
    yield Row("2 leaks of a masked page", "0", f"{len(leaks.found)} of {leaks.outputs} {shown}", not leaks.found)


def forces(count: int) -> Iterator[Row]:
    rates = success.rates(count)
    yield at_least("3 main page by its address, unmasked", 0.95, rates.direct)
    yield at_most("3 main page by its address, masked", 0.1, rates.direct_masked)
    yield at_least("3 one page that it finds, unmasked", 0.95, rates.one)
    yield Row("3 one page that it finds, masked", "", f"{rates.one_masked:.3f}", True)
    yield Row("3 eight pages, unmasked", "", f"{rates.eight:.3f}", True)
    yield at_least("3 eight pages, masked", 0.7, rates.eight_masked)
    yield at_most("4 no page, from snippets, unmasked", 0.05, rates.none)
    yield at_most("4 no page, from snippets, masked", 0.05, rates.none_masked)


def filtered() -> Iterator[Row]:
    result = passk.run(FILTERED)
    wrong = [count for count in result.kept if not 1 <= count <= passk.ATTEMPTS - 1]
    degenerate = sum(deviation == 0.0 for deviation in result.deviations) / max(len(result.kept), 1)
    split = f"{len(result.kept)} kept, {result.never} never solved, {result.always} always, of {FILTERED}"
    yield Row("5 kept tasks solved 1 to 7 times of 8", "all", split, not wrong and bool(result.kept))
    yield at_most("5 groups without variance among the kept", 0.0, degenerate)
    yield Row("5 every task is kept or counted", "all", str(result.total), result.total == FILTERED)


def levels(count: int) -> Iterator[Row]:
    for level in (1, 2, 3):
        for masked in (False, True):
            played = tasks(level, count, masked=masked)
            for visits in (1, 4, 8):
                name = f"level {level}, {visits} visits, {'masked' if masked else 'unmasked'}"
                yield Row(name, "", f"{success.success(Searcher(visits), played):.3f}", True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", type=int, default=200, help="Questions of checks 3 and 4, and of each level.")
    parser.add_argument("--levels", action="store_true", help="Also success by level and visits.")
    options = parser.parse_args()
    parts = [deterministic(), masks(), forces(options.tasks), filtered()]
    if options.levels:
        parts.append(levels(options.tasks))
    missed, started = 0, time.perf_counter()
    print(f"{'check':46} {'goal':>12}  measured")
    for part in parts:
        for row in part:
            missed += not row.met
            print(f"{row.name:46} {row.goal:>12}  {row.measured}{'' if row.met else '   MISSED'}", flush=True)
    print(f"{missed} goals missed, {time.perf_counter() - started:.0f} s")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
