"""Ingredients of generated tasks: choices that are pure functions of a generator, invented names, and usual checks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import numpy as np

from agentworld_envs.domains.terminal.checks import Check, FileCheck, LinkCheck
from agentworld_envs.domains.terminal.scenario import Entry

T = TypeVar("T")

COMPANIES = (
    "Pellinor Freight", "Quillfen Press", "Tindral Mills", "Ostrelle Optics", "Varrick Foods", "Bramblecot Toys",
    "Selvane Energy", "Dunmarrow Rail", "Kestwick Labs", "Mirefold Games", "Calder & Thrush", "Yarrowby Travel",
)  # fmt: skip
LOGINS = (
    "amund", "brisk", "corvane", "delph", "eskar", "fennel", "gorsel", "hollin", "ivorn", "jessop", "korrin", "lunde",
    "marl", "nessic", "orrin", "pavic", "quent", "rask", "sorrel", "tamsin",
)  # fmt: skip
SERVICES = ("billing", "catalog", "checkout", "gateway", "inventory", "mailer", "notify", "search", "shipping", "users")
TOWNS = ("Aldmere", "Brackton", "Cold Fen", "Dunhollow", "Eastwick", "Farrow", "Greyford", "Harth", "Ilvery", "Jarrow")
GOODS = (
    "anvil", "basket", "candle", "drill", "easel", "flask", "goblet", "hammer", "inkwell", "jug", "kettle", "lantern",
    "mallet", "needle", "oilcan", "paddle", "quill", "rivet", "saddle", "teapot",
)  # fmt: skip
_OPENINGS = (
    "",
    "{0} needs your help. ",
    "This machine belongs to {0}. ",
    "You look after the machines of {0}. ",
    "A colleague at {0} left you this request. ",
    "A ticket from {0}: ",
)


def pick(rng: np.random.Generator, choices: Sequence[T]) -> T:
    """One of them."""
    return choices[int(rng.integers(len(choices)))]


def some(rng: np.random.Generator, choices: Sequence[T], count: int) -> list[T]:
    """`count` different ones, in random order."""
    return [choices[int(index)] for index in rng.permutation(len(choices))[:count]]


def between(rng: np.random.Generator, low: int, high: int) -> int:
    """A whole number, both ends included."""
    return int(rng.integers(low, high + 1))


def shuffled(rng: np.random.Generator, things: Sequence[T]) -> list[T]:
    """All of them in random order."""
    return some(rng, things, len(things))


def lines(texts: Iterable[object]) -> str:
    """A text of these lines, each with its end."""
    return "".join(f"{text}\n" for text in texts)


def opening(rng: np.random.Generator) -> str:
    """A sentence that sets the scene, or none; ends in a blank."""
    return pick(rng, _OPENINGS).format(pick(rng, COMPANIES))


def answer_path(rng: np.random.Generator, ending: str = "txt") -> str:
    """Where the answer shall be written; nothing is there."""
    return f"/workspace/{pick(rng, ('answer', 'result', 'report', 'out', 'summary', 'findings'))}.{ending}"


def moments(rng: np.random.Generator, count: int, gap: int, start_hour: int = 0) -> list[datetime]:
    """Ascending times of one day in early 2024, UTC, with at most `gap` seconds between two."""
    day = datetime(2024, between(rng, 1, 4), between(rng, 1, 28), start_hour, tzinfo=UTC)
    steps = np.cumsum(rng.integers(1, gap + 1, size=count))
    return [day + timedelta(seconds=int(step)) for step in steps]


def unchanged(files: Mapping[str, Entry]) -> list[Check]:
    """Checks that these files and links are as they were."""
    found: list[Check] = []
    for path, entry in sorted(files.items()):
        if entry.link is not None:
            found.append(LinkCheck(path=path, target=entry.link))
        elif entry.data is not None:
            found.append(FileCheck(path=path, text=hashlib.sha256(entry.data).hexdigest(), compare="sha256"))
    return found
