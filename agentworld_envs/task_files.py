"""Chosen tasks of a set, in a file: what `agentworld tasks filter` writes, and every environment opens.

A file of JSON lines: a header that names the set that the tasks are of, then a line per task with its `id`.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from agentworld_envs.interface import ConfigError, Domain, Task, TaskSource, unknown_name

FORMAT: Final = "agentworld-tasks"
VERSION: Final = 1
MOST_NESTED: Final = 16
"""Files that name a file that names a file; more are a circle."""


class ChosenTasks(TaskSource):
    """Some tasks of another source, in an order of their own."""

    def __init__(self, base: TaskSource, ids: Sequence[str], name: str) -> None:
        """Choose; no task is made yet.

        Args:
            base: where the tasks are found by their ids.
            ids: at least one, all different.
            name: what a user types to get this source.

        Raises:
            ConfigError: no id, or one that is there twice.
        """
        if not ids:
            raise ConfigError(f"The task file {name} has no tasks; expected at least one line with an id.")
        self.name, self.base = name, base
        self._ids = list(ids)
        self._known = frozenset(ids)
        if len(self._known) != len(self._ids):
            raise ConfigError(f"The task file {name} has {len(self._ids) - len(self._known)} ids more than once.")

    @property
    def size(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: int) -> Task:
        if not 0 <= index < len(self._ids):
            raise IndexError(f"The task file {self.name} has {len(self._ids)} tasks, got index {index}.")
        return self.base.find(self._ids[index])

    def find(self, task_id: str) -> Task:
        if task_id not in self._known:
            raise unknown_name("task id", task_id, self._known)
        return self.base.find(task_id)


def named_tasks(domain: Domain, name: str | None) -> TaskSource:
    """The task source of a name: a file of chosen tasks, or whatever the domain knows under it.

    Raises:
        ConfigError: no such set or path, or a file of chosen tasks that is broken or of another domain.
    """
    return _named(domain, name, 0)


def write_task_file(
    path: str | os.PathLike[str],
    domain: str,
    tasks: str | None,
    lines: Iterable[Mapping[str, Any]],
    about: Mapping[str, Any],
) -> None:
    """Write chosen tasks, all or nothing.

    Args:
        path: of the file. A file of chosen tasks that is there already is replaced.
        domain: name of the domain.
        tasks: name of the set that they are of, `None` for the domain's default. Paths in it are written down as
            absolute ones.
        lines: one per task, each with its `id`, and whatever else is to be known of it.
        about: how they were chosen; goes into the header.

    Raises:
        ConfigError: it cannot be written, a file of another kind is there, or it is the set itself.
    """
    path = Path(path)
    check_task_file(path)
    if tasks is not None and _is_file(Path(tasks)) and _same(Path(tasks), path):
        raise ConfigError(f"{path} is the set that the tasks are of, and cannot name itself. Choose another place.")
    base = None if tasks is None else absolute_name(tasks)
    header = {"format": FORMAT, "version": VERSION, "domain": domain, "tasks": base, **about}
    write_whole(path, "".join(json.dumps(line) + "\n" for line in (header, *lines)))


def write_whole(path: Path, text: str) -> None:
    """Write a file, all or nothing; nothing that stands beside it is touched.

    Raises:
        ConfigError: it cannot be written.
    """
    draft = path.with_name(f".{path.name[:200]}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("x", encoding="utf-8") as file:
                file.write(text)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error


def check_task_file(path: Path, source: TaskSource | None = None) -> None:
    """Make sure that a file of chosen tasks may be written there.

    Args:
        path: where.
        source: the set that they are chosen of. A file that it is read from is not overwritten.

    Raises:
        ConfigError: something else is there, or the set itself.
    """
    if path.exists() and (path.is_dir() or (path.stat().st_size and _header(path) is None)):
        raise ConfigError(f"{path} is there already and is no file of chosen tasks. Choose another place.")
    while isinstance(source, ChosenTasks):
        if _same(Path(source.name), path):
            raise ConfigError(
                f"{path} is a file that the tasks are chosen of: it would be overwritten by one that names itself. "
                "Choose another place."
            )
        source = source.base


def absolute_name(name: str) -> str:
    """The name of a set with its paths made absolute, so that it is found from another folder, too.

    A path is what is there now: a file, or a folder whose name has a slash or a dot in it; so are the values of options
    (`questions.jsonl?index=FOLDER`). All else, such as the name of a split, stays as it is.
    """
    path, mark, query = name.partition("?")
    if not mark or _exists(name):
        return _absolute(name)
    parts = [part.partition("=") for part in query.split("&")]
    values = [(key, equals, unquote(value)) for key, equals, value in parts]
    made = [
        (key, equals, _escaped(found) if (found := _absolute(value)) != value else part[2])
        for part, (key, equals, value) in zip(parts, values, strict=True)
    ]
    return f"{_absolute(path)}?{'&'.join(''.join(one) for one in made)}"


def _absolute(name: str) -> str:
    looks_so = _is_file(Path(name)) or any(sign in name for sign in (os.sep, "."))
    return os.path.abspath(name) if name and looks_so and _exists(name) else name


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace("&", "%26")


def _exists(name: str) -> bool:
    try:
        return os.path.exists(name)
    except ValueError:
        return False


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _named(domain: Domain, name: str | None, depth: int) -> TaskSource:
    path = Path(name) if name is not None else None
    header = _header(path) if path is not None and _is_file(path) else None
    if path is None or header is None:
        return domain.tasks(name)
    if depth >= MOST_NESTED:
        raise ConfigError(f"The task file {path} names itself as the set that its tasks are of, by way of others.")
    if header.get("version") != VERSION:
        raise ConfigError(f"The task file {path} has version {header.get('version')!r}; this release reads {VERSION}.")
    if header.get("domain") != domain.name:
        raise ConfigError(
            f"The task file {path} has tasks of domain {header.get('domain')!r}, expected {domain.name!r}."
        )
    base = header.get("tasks")
    if base is not None and not isinstance(base, str):
        raise ConfigError(f"The task file {path} names its set as {base!r}; expected a text, or null.")
    ids = [_id(path, number, line) for number, line in _lines(path)]
    return ChosenTasks(_named(domain, base, depth + 1), ids, str(path))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that can be no path is a name
        return False


def _header(path: Path) -> dict[str, Any] | None:
    """The first line of a file of chosen tasks; `None` when it is none."""
    try:
        with path.open("rb") as file:
            line = json.loads(file.readline(65536))
    except (OSError, ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) and line.get("format") == FORMAT else None


def _lines(path: Path) -> Iterable[tuple[int, bytes]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"Cannot read the task file {path}: {error.strerror}.") from error
    return [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if number > 1 and line.strip()]


def _id(path: Path, number: int, line: bytes) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("id"), str):
        raise ConfigError(f"Line {number} of the task file {path} has no id: expected an object with 'id'.")
    return str(found["id"])
