"""`GeneratedTasks`: the unlimited task sets: questions about fictional worlds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.interface import ConfigError, Task, TaskError, TaskSource, unknown_name

SPLITS = ("train", "valid")
LEVELS = (1, 2, 3)
"""Difficulty: 1 is one hop; 2 is two or three, comparisons and counts; 3 is four or five, aggregates, time, lists."""
SIZES = ("tiny", "small", "medium", "large")
DEFAULT_SIZE = "small"
QUESTIONS_PER_WORLD = 16
"""Of one level; so many consecutive tasks of a level are about the same world, which is built once for all of them."""
MAX_STEPS = {1: 40, 2: 60, 3: 100}
"""By level; half as many more where pages are masked. LiteResearcher trains with 40 and 60 turns."""
_STRIDE = 16
"""World seeds of a split are this far apart, so that no world is in two splits."""
_NAME = re.compile(
    r"(?P<split>[a-z]+)(?:@(?P<levels>[0-9]+(?:,[0-9]+)*))?(?::(?P<size>[a-z]+))?(?P<options>(?:\+[a-z]+(?:=[0-9]{1,9})?)*)"
)
_READ = re.compile(r"[a-z]+(?:@[0-9]+(?:,[0-9]+)*)?(?::[a-z]+)?(?:\+[a-z]+(?:=[0-9]{1,9})?)*")
"""As much of a name as can be read."""
SYNTAX = "SPLIT[@LEVELS][:SIZE][+masked][+worlds=N]"
_ID = re.compile(r"(?P<split>[a-z]+)@(?P<level>[0-9])(?P<variant>[a-z:+]*)/(?P<number>[0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a set is made of."""

    split: str = "train"
    levels: tuple[int, ...] = LEVELS
    size: str = DEFAULT_SIZE
    masked: bool = False
    """Whether the pages that tell the answer directly are masked: it has to be found where it is told in passing."""
    worlds: int | None = None
    """Number of different worlds; `None`: without end."""

    @property
    def variant(self) -> str:
        """What an id says of it beside split and level: nothing for the usual size without masks."""
        return f"{'' if self.size == DEFAULT_SIZE else ':' + self.size}{'+masked' if self.masked else ''}"

    @property
    def name(self) -> str:
        """What a user types."""
        levels = "" if self.levels == LEVELS else "@" + ",".join(map(str, self.levels))
        worlds = "" if self.worlds is None else f"+worlds={self.worlds}"
        return f"{self.split}{levels}{self.variant}{worlds}"

    @classmethod
    def of(cls, name: str) -> Choice | None:
        """Read a name such as `train`, `valid@3`, `train@1,2:large+masked+worlds=8`; `None` when it is no such name.

        Raises:
            ConfigError: the form is right, but there is no such level, size or option.
        """
        match = _NAME.fullmatch(name.strip())
        if match is None or match["split"] not in SPLITS:
            return None
        levels = tuple(sorted({int(level) for level in (match["levels"] or "").split(",") if level}))
        for level in levels:
            if level not in LEVELS:
                raise unknown_name("level", str(level), map(str, LEVELS))
        size = match["size"] or DEFAULT_SIZE
        if size not in SIZES:
            raise unknown_name("size of a world", size, SIZES)
        options = dict(_options(match["options"]))
        worlds = options.get("worlds")
        return cls(match["split"], levels or LEVELS, size, "masked" in options, worlds)


def misspelt(name: str) -> ConfigError | None:
    """What is wrong with a name that begins with a split and goes on in no form; `None` when it does not."""
    name = name.strip()
    if not name.startswith(tuple(split + mark for split in SPLITS for mark in "@:+")):
        return None
    match = _READ.match(name)
    assert match is not None, "it begins with letters"
    rest = name[match.end() :]
    return ConfigError(
        f"Expected a task set {SYNTAX}, such as 'train@1,2:large+masked+worlds=8', got {name[:200]!r}: "
        f"{rest[:100]!r} after {match[0][:100]!r} cannot be read."
    )


def _options(text: str) -> Iterator[tuple[str, int | None]]:
    for option in filter(None, text.split("+")):
        key, _, value = option.partition("=")
        if key not in ("masked", "worlds"):
            raise unknown_name("option of a task set", key, ("masked", "worlds"))
        if (key == "worlds") != bool(value) or value == "0":
            raise ConfigError(f"Expected '+masked' or '+worlds=N' with N of at least 1, got {'+' + option!r}.")
        yield key, int(value) if value else None


class GeneratedTasks(TaskSource):
    """Questions about fictional worlds: levels in turn, `QUESTIONS_PER_WORLD` of each level about one world.

    Holds nothing. A task is made when it is asked for, which builds its world where nobody has done so yet.
    """

    def __init__(self, choice: Choice) -> None:
        """Args: choice: splits have different worlds; the questions of a world depend on its seed and size alone."""
        self._choice = choice
        self.name = choice.name

    @property
    def size(self) -> None:
        return None

    def __getitem__(self, index: int) -> Task:
        if index < 0:
            raise IndexError(f"Task sets of this domain have no end to count back from; got index {index}.")
        number, level = divmod(index, len(self._choice.levels))
        return make_task(self._choice, self._choice.levels[level], number)

    def find(self, task_id: str) -> Task:
        choice = self._choice
        match = _ID.fullmatch(task_id)
        if match is not None and match["split"] == choice.split and match["variant"] == choice.variant:
            level = int(match["level"])
            task = make_task(choice, level, int(match["number"])) if level in choice.levels else None
            if task is not None and task.id == task_id:
                return task
        near = _id(choice, choice.levels[0], 0)
        raise ConfigError(
            f"Unknown task id {task_id!r} in the set {self.name!r}. Ids are split, level and a number of six digits, "
            f"e.g. {near!r}."
        )


def _id(choice: Choice, level: int, number: int) -> str:
    return f"{choice.split}@{level}{choice.variant}/{number:06d}"


def place_of(choice: Choice, number: int) -> tuple[int, int]:
    """Seed of the world, and number of the question about it, of the `number`-th task of a level."""
    world, question = divmod(number, QUESTIONS_PER_WORLD)
    if choice.worlds is not None:
        lap, world = divmod(world, choice.worlds)
        question += lap * QUESTIONS_PER_WORLD
    return _STRIDE * world + SPLITS.index(choice.split), question


def make_task(choice: Choice, level: int, number: int) -> Task:
    """The task of an id, made anew; a pure function of the arguments.

    Raises:
        TaskError: its world has no such question, which happens in tiny ones.
    """
    seed, asked = place_of(choice, number)
    fiction = LIBRARY.fiction(seed, choice.size).fiction
    assert fiction is not None, "the library made it of one"
    try:
        question = fiction.question(asked, level)
    except ConfigError as error:  # a rare world has none: the others go on
        raise TaskError(f"Task {_id(choice, level, number)!r} cannot be had: {error}") from error
    return Task(
        id=_id(choice, level, number),
        domain="search",
        instruction=question.text,
        initial_state={
            "world": {"seed": seed, "size": choice.size},
            "mask": sorted(question.sources) if choice.masked else [],
        },
        verifier={"answer": dict(question.answer)},
        hidden={
            "sql": question.sql,
            "program": json.dumps(question.program, ensure_ascii=False, default=str),
            "number": asked,
            "level": level,
            "answer": answer_values(question.answer),
        },
        max_steps=MAX_STEPS[level] * (3 if choice.masked else 2) // 2,
        tags=(choice.split, f"level-{level}", question.kind, f"hops-{question.hops}")
        + (("masked",) if choice.masked else ()),
    )


def answer_values(spec: Mapping[str, Any]) -> Any:
    """What an answer says, without how it is compared: one value, a list of them, or rows of them."""
    kind = spec.get("kind")
    if kind == "list":
        return [answer_values(value) if isinstance(value, Mapping) else value for value in spec["values"]]
    if kind == "table":
        return [[cell[0] if isinstance(cell, list) and cell else cell for cell in row] for row in spec["rows"]]
    return spec["value"]
