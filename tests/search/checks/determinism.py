"""Check 1: the same queries have the same results, byte for byte, again and in another process."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from search.checks.tasksets import DOMAIN, tasks

from agentworld_envs.env import AgentWorldEnv

TESTS = Path(__file__).resolve().parents[2]
ODD = ('"AND" OR NOT (', "NEAR/3 *", "ünïcödé 漢字 Привет", "a" * 400, "title:x -y", "0", "the of in")
"""Queries that have operators, other scripts, or nothing to find."""


@dataclass(frozen=True)
class Transcript:
    """What a number of searches came to."""

    digest: str
    """Of all observations, in order."""
    median_s: float
    """Median seconds of one `env.step`."""
    pages: int
    """Of the world."""


def queries(count: int, size: str) -> list[str]:
    """Questions as they are asked, some of their words, and odd ones; a pure function of the arguments."""
    rng = np.random.default_rng([count, 0])
    texts = [task.instruction for task in tasks(1, count // 2, masked=False, size=size, worlds=1)]
    found = list(ODD) + texts
    while len(found) < count:
        words = texts[int(rng.integers(len(texts)))].split()
        kept = sorted(rng.choice(len(words), size=min(len(words), int(rng.integers(1, 5))), replace=False))
        found.append(" ".join(words[i] for i in kept))
    return found[:count]


def transcript(count: int, size: str) -> Transcript:
    """Search in a world of that size through `env.step`."""
    [task] = tasks(1, 1, masked=False, size=size, worlds=1)
    digest, times = hashlib.sha256(), []
    with closing(AgentWorldEnv(DOMAIN, max_steps=count + 1)) as env:
        env.reset(seed=0, options={"task": task})
        for query in queries(count, size):
            action = json.dumps({"name": "web_search", "arguments": {"query": query}})
            started = time.perf_counter()
            observation = env.step(action)[0]
            times.append(time.perf_counter() - started)
            digest.update(observation.encode() + b"\0")
    return Transcript(digest.hexdigest(), statistics.median(times), len(DOMAIN.world(task).place.index))


def elsewhere(count: int, size: str) -> str:
    """The digest of the same transcript, made by a process of its own with another hash seed."""
    code = f"from search.checks.determinism import transcript; print(transcript({count}, {size!r}).digest)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return done.stdout.strip()
