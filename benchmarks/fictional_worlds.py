"""Fictional worlds, checked: every question reachable by tools alone, unique, and not to be had without reading.

    python benchmarks/fictional_worlds.py --worlds 1000

For every world it takes questions of each level and lets the scripted expert answer them over a real index, once with
all pages and once with the main pages of the last fact masked. It prints one table.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.fiction.audit import audit
from agentworld_envs.domains.search.fiction.lexicon import GENERIC
from agentworld_envs.domains.search.fiction.world import FictionalWorld

NAMES = Path(__file__).parents[1] / "tests" / "search" / "fiction" / "real_names.txt"


def real_names(path: Path = NAMES) -> set[str]:
    """The list of real names and their words, in lower case."""
    lines = [line for line in path.read_text("utf-8").splitlines() if line and line[0] not in "#["]
    names = {name.strip() for line in lines for name in line.split(";")} - {""}
    return names | {word for name in names for word in re.split(r"[ '-]+", name) if len(word) > 3}


def collisions(world: FictionalWorld, real: set[str]) -> list[str]:
    """Names of a world, and invented words of them, that are real."""
    names = [name.lower() for found in world.entities.values() for name in found]
    names += [entity.alias.lower() for entity in world.population.entities if entity.alias]
    words = {word for name in names for word in name.split()} - GENERIC
    return sorted((words | set(names)) & real)


def digest(seed: int, size: str) -> str:
    """Of everything about a world: database, pages, questions."""
    world = FictionalWorld(seed, size)
    connection = world.connect()
    text = "\n".join(connection.iterdump())
    connection.close()
    questions = [world.question(number, level) for level in (1, 2, 3) for number in range(6)]
    return hashlib.sha256(repr((text, world.pages, questions)).encode()).hexdigest()


def check(seed: int, size: str, each: int) -> tuple[Counter[str], list[str]]:
    """Counts of one world, and what was not as it should be."""
    examples: list[str] = []
    count: Counter[str] = Counter()
    start = time.perf_counter()
    world = FictionalWorld(seed, size)
    pages = world.pages
    made = time.perf_counter()
    index = memory_index(pages)
    indexed = time.perf_counter()
    count["generation µs"] = int((made - start) * 1e6)
    count["index µs"] = int((indexed - made) * 1e6)
    count["pages"] = len(pages)
    count["worlds"] = 1
    count["real names"] = len(collisions(world, real_names()))
    for level in (1, 2, 3):
        # Other numbers in other worlds: all kinds are met, whatever `each` is.
        for number in range(seed * each, (seed + 1) * each):
            question = world.question(number, level)
            for masked in (False, True):
                found = audit(world, index, question, question.sources if masked else ())
                count["masked seen"] += found.masked_seen
                for group in (f"level {level}", question.kind):
                    key = f"{group}{' masked' if masked else ''}"
                    count[f"{key}/asked"] += 1
                    count[f"{key}/solved"] += found.solved
                    count[f"{key}/unique"] += found.unique
                    count[f"{key}/leaking"] += bool(found.leaks)
                    count[f"{key}/guessed"] += found.guessed
                    count[f"{key}/searches"] += found.searches
                    count[f"{key}/visits"] += found.visits
                for what, bad in (("unsolved", not found.solved), ("leak", found.leaks), ("guessed", found.guessed)):
                    if bad:
                        at = (
                            f"{what}: world {seed}, level {level}, number {number}, {question.kind}{' masked' * masked}"
                        )
                        examples.append(f"{at}: {question.text} {found.leaks[:1]}")
    index.close()
    return count, examples


def same_elsewhere(seeds: list[int], size: str) -> int:
    """How many worlds differ in another process with another hash seed."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import fictional_worlds as f\n"
    code += "for seed in sys.argv[3:]: print(f.digest(int(seed), sys.argv[2]))"
    arguments = [sys.executable, "-c", code, str(Path(__file__).parent), size, *map(str, seeds)]
    done = subprocess.run(
        arguments, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "4711"}
    )
    return sum(one != digest(seed, size) for one, seed in zip(done.stdout.split(), seeds, strict=True))


def report(count: Counter[str]) -> None:
    """Print the table."""
    worlds = count["worlds"]
    made, indexed = (count[what] / worlds / 1e3 for what in ("generation µs", "index µs"))
    print(
        f"\n{worlds} worlds, {count['pages'] / worlds:.0f} pages each: {made:.1f} ms to write, {indexed:.1f} to index"
    )
    print(f"names that are real: {count['real names']}; masked pages seen: {count['masked seen']}")
    print(
        f"{'questions':22}{'asked':>8}{'solved':>9}{'unique':>9}{'leaking':>9}{'guessed':>9}{'searches':>10}{'visits':>8}"
    )
    for key in [name[:-6] for name in count if name.endswith("/asked")]:
        asked = count[f"{key}/asked"]
        shares = [
            f"{100 * count[f'{key}/{what}'] / asked:8.2f}%" for what in ("solved", "unique", "leaking", "guessed")
        ]
        means = f"{count[f'{key}/searches'] / asked:10.1f}{count[f'{key}/visits'] / asked:8.1f}"
        print(f"{key:22}{asked:8}{''.join(shares)}{means}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first one")
    parser.add_argument("--size", default="small")
    parser.add_argument("--questions", type=int, default=6, help="of each level in each world")
    parser.add_argument("--elsewhere", type=int, default=20, help="worlds compared with another process")
    parser.add_argument("--show", type=int, default=10, help="most examples of what was not as it should be")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    count: Counter[str] = Counter()
    shown: list[str] = []
    seeds = range(chosen.first, chosen.first + chosen.worlds)
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for one, examples in pool.map(partial(check, size=chosen.size, each=chosen.questions), seeds, chunksize=5):
            count.update(one)
            shown += examples
    print("\n".join(shown[: chosen.show]))
    report(count)
    sample = list(seeds[:: max(1, chosen.worlds // max(1, chosen.elsewhere))])[: chosen.elsewhere]
    if sample:
        print(f"worlds that differ in another process: {same_elsewhere(sample, chosen.size)} of {len(sample)}")


if __name__ == "__main__":
    main()
