"""Official games: `game.tw-pddl` files, folders of them, and the data set below `$ALFWORLD_DATA`."""

from __future__ import annotations

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

from agentworld_envs.domains.text_world.generate import KINDS, SPLITS
from agentworld_envs.domains.text_world.goal import Goal
from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.pddl import read_problem
from agentworld_envs.interface import ConfigError, Task, TaskError, TaskSource, unknown_name

GAME_FILE = "game.tw-pddl"
"""Name of every game file in the official layout."""
_SENTENCE = re.compile(r'Your task is to: ((?:[^"\\]|\\.)*)"')
_OLD_PUT = "put {o} in/on {r}"
_LARGEST = 64 * 2**20  # bytes; official files have some 100 kB

log = logging.getLogger(__name__)


def read_game(path: Path, task_id: str) -> Task:
    """Read one game.

    Args:
        path: a file of ALFWorld's `json_2.1.x_tw-pddl`: JSON with `pddl_problem`, `grammar` and, optionally,
            `solvable`. The rules in its `pddl_domain` are taken to be those of ALFWorld.
        task_id: id of the task.

    Raises:
        TaskError: the file cannot be read or played; says where and what was expected.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise TaskError(f"{path}: larger than {_LARGEST} bytes; expected a game file.")
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path}: expected UTF-8 text, found other bytes at offset {error.start}.") from error
    except json.JSONDecodeError as error:
        raise TaskError(f"{path}, line {error.lineno}, column {error.colno}: broken JSON: {error.msg}.") from error
    except RecursionError as error:
        raise TaskError(f"{path}: JSON nested too deeply; expected a flat object.") from error
    except ValueError as error:  # a number with thousands of digits
        raise TaskError(f"{path}: expected a JSON object of texts: {error}.") from error
    if not isinstance(data, dict):
        raise TaskError(f"{path}: expected a JSON object, found {type(data).__name__}.")
    for key in ("pddl_problem", "grammar"):
        if not isinstance(data.get(key), str):
            raise TaskError(f"{path}: expected the text {key!r}, found {type(data.get(key)).__name__}.")
    if data.get("solvable") is False:
        raise TaskError(f"{path}: marked as unsolvable by its author.")
    sentence = _SENTENCE.search(data["grammar"])
    if sentence is None:
        raise TaskError(f"{path}: 'grammar' has no \"Your task is to: ...\"; expected the grammar of an ALFWorld game.")
    try:
        instruction = str(json.loads(f'"{sentence[1]}"', strict=False))
        state, goal = read_problem(data["pddl_problem"])
        if _OLD_PUT in data["grammar"]:
            state["put"] = True
        Goal(goal, Household(state))
    except TaskError as error:
        raise TaskError(f"{path}: {error}") from error
    except ValueError as error:
        raise TaskError(f"{path}: the task sentence {sentence[1]!r:.80} is not readable: {error}.") from error
    except RecursionError as error:
        raise TaskError(f"{path}: 'pddl_problem' is nested too deeply.") from error
    kind = next((name for name in KINDS if any(part.startswith(name) for part in path.parts)), "other")
    return Task(
        id=task_id,
        domain="text_world",
        instruction=instruction,
        initial_state=state,
        verifier={"goal": goal},
        max_steps=50,
        tags=(kind, "official"),
    )


class GameFiles(TaskSource):
    """Games on disk. The files are listed at once and read when they are asked for."""

    def __init__(self, root: Path, paths: list[Path], name: str) -> None:
        """Args: root: folder that ids are relative to. paths: at least one file. name: what the user typed."""
        self.name = name
        self.skipped: dict[str, str] = {}
        """Games that turned out to be unreadable, with the reason."""
        self._paths = {path.relative_to(root).as_posix(): path for path in paths}
        self._ids = tuple(self._paths)

    @property
    def size(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> Task:
        """The game at `index`; an unreadable one is logged, noted in `skipped` and replaced by the next.

        Raises:
            IndexError: outside of the list.
            TaskError: there is no readable game, or the only one is unreadable.
        """
        start = range(len(self._ids))[index]
        first: TaskError | None = None
        for step in range(len(self._ids)):
            name = self._ids[(start + step) % len(self._ids)]
            try:
                return read_game(self._paths[name], name)
            except TaskError as error:
                first = first or error
                if name not in self.skipped:
                    self.skipped[name] = str(error)
                    log.warning("Skipping a game (%d skipped so far): %s", len(self.skipped), error)
        raise TaskError(f"None of the {len(self._ids)} games of {self.name!r} can be played; the first one: {first}")

    def find(self, task_id: str) -> Task:
        """The game of that id.

        Raises:
            ConfigError: no such game.
            TaskError: there is, but it is unreadable.
        """
        if task_id not in self._paths:
            raise unknown_name("task id", task_id, self._ids)
        return read_game(self._paths[task_id], task_id)


def games_at(path: Path, name: str | None = None) -> GameFiles:
    """Games of a file or of a folder with everything below it, sorted by path.

    Folders with `movable` in their name are left out: no command of the game puts an object into another one.

    Raises:
        ConfigError: there are none.
    """
    path = path.resolve()
    if path.is_file():
        return GameFiles(path.parent.parent, [path], name or str(path))
    found = []
    for folder, below, files in os.walk(path):
        below[:] = sorted(part for part in below if "movable" not in part)
        if GAME_FILE in files:
            found.append(Path(folder, GAME_FILE))
    if not found:
        raise ConfigError(f"No {GAME_FILE} below {str(path)!r}. Expected folders as ALFWorld's download unpacks them.")
    return GameFiles(path, sorted(found), name or str(path))


def official_games(split: str, name: str) -> GameFiles:
    """The official games of a split.

    Args:
        split: `train`, `valid_seen` or `valid_unseen`.
        name: what the user typed.

    Raises:
        ConfigError: unknown split, `ALFWORLD_DATA` is not set, or there is nothing there.
    """
    if split not in SPLITS:
        raise unknown_name("split of the official games", split, SPLITS)
    root = os.environ.get("ALFWORLD_DATA")
    if not root:
        raise ConfigError(
            "The official games need ALFWORLD_DATA: set it to the folder that holds json_2.1.1, which "
            "`pip install alfworld` and `alfworld-download` provide. The generated sets need nothing."
        )
    folder = Path(root).expanduser() / "json_2.1.1" / split
    if not folder.is_dir():
        raise ConfigError(f"ALFWORLD_DATA is {root!r}, but {str(folder)!r} is not a folder. Run `alfworld-download`.")
    return games_at(folder, name)
