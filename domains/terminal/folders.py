"""Task sets from a folder: one's own tasks in a small format, or tasks of Harbor and Terminal-Bench.

One's own format is a folder per task with a file `task.json` or `agentworld.toml` in it, see `TaskFile`, and two
optional folders: `files`, which is copied to where the agent starts, and `tests`, which is copied to `/tests` once the
agent is done. With a `tests/check.sh`, the task is solved only if that exits with 0.
"""

from __future__ import annotations

import json
import logging
import posixpath
import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from agentworld_envs.domains.terminal.checks import Check, RunCheck
from agentworld_envs.domains.terminal.entries import Entry, entries_of
from agentworld_envs.domains.terminal.harbor import TESTS, read_harbor, read_terminal_bench
from agentworld_envs.domains.terminal.scenario import WORKSPACE, WRITABLE, InitialState
from agentworld_envs.interface import ConfigError, MissingExtraError, Task, TaskError, TaskList

logger = logging.getLogger(__name__)

FILES = ("agentworld.toml", "task.json")
"""Names of the file of a task of one's own."""


def _several(value: Any) -> Any:
    """One thing where a list of them is expected: `solution = "..."`, `[checks]` for `[[checks]]`."""
    return [value] if isinstance(value, str | dict) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_several)]


class TaskFile(BaseModel):
    """One task. In TOML, checks are `[[checks]]` tables with the fields of the classes in `checks`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instruction: str = Field(min_length=1)
    """What the agent is asked."""
    checks: Annotated[tuple[Check, ...], BeforeValidator(_several)] = ()
    """What has to hold at the end; not needed where there is a `tests/check.sh`."""
    files: dict[str, str | Entry] = Field(default_factory=dict)
    """Absolute path, or path below `cwd` -> contents, besides those of the folder `files`."""
    setup: Texts = ()
    """Shell commands that complete the start."""
    services: Texts = ()
    """Processes that run in the background from the start."""
    ready: Texts = ()
    """Files that they have written something into once they are up."""
    needs: Texts = ()
    """Programs that the task cannot do without (`python:NAME` for a Python module)."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables of the shell."""
    cwd: str = WORKSPACE
    """Where the agent starts."""
    solution: Texts = ()
    """Commands that solve it, for the expert."""
    max_steps: int = Field(default=50, ge=1)
    tags: Texts = ()


def tasks_at(path: Path) -> TaskList:
    """All tasks of a folder, or the one task that it is.

    Tasks that cannot be opened here (they need the network, say) are left out and logged with the reason.

    Raises:
        ConfigError: no task can be opened; says why not the first few.
    """
    folders = [path] if _reader(path) is not None else sorted(p for p in path.iterdir() if p.is_dir() and _reader(p))
    if not folders:
        raise ConfigError(
            f"No tasks in {path}. Expected folders with one of {', '.join(FILES)}, task.toml (Harbor), or "
            "task.yaml (Terminal-Bench)."
        )
    tasks: list[Task] = []
    refused: list[str] = []
    for folder in folders:
        reader = _reader(folder)
        assert reader is not None
        try:
            task = reader(folder)
            check_places(InitialState.model_validate(task.initial_state))
            tasks.append(task)
        except MissingExtraError:
            raise
        except ValidationError as error:
            first = error.errors()[0]
            refused.append(f"{folder.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}")
        except (TaskError, OSError, ValueError, RecursionError) as error:
            refused.append(f"{folder.name}: {error}")
    for reason in refused:
        logger.warning("Task left out: %s", reason)
    if not tasks:
        raise ConfigError(f"None of the {len(folders)} tasks in {path} can be opened. {'; '.join(refused[:5])}.")
    return TaskList(tasks, str(path))


def _reader(path: Path) -> Any:
    """What reads a folder as a task; `None` when it is none."""
    if any((path / name).is_file() for name in FILES):
        return read_own
    if (path / "task.toml").is_file():
        return read_harbor
    return read_terminal_bench if (path / "task.yaml").is_file() else None


def check_places(start: InitialState) -> None:
    """Check that everything lies where it can be written.

    Raises:
        TaskError: something does not.
    """
    for path in (start.cwd, *start.folders, *start.files):
        plain = path.startswith("/") and posixpath.normpath(path) == (path.rstrip("/") or "/")
        if not plain or not any(f"{path}/".startswith(f"{folder}/") for folder in WRITABLE):
            raise TaskError(f"{path} lies outside of the folders that can be written to: {', '.join(WRITABLE)}")
    solid = {path for path, entry in start.files.items() if not entry.folder}
    above = {"/".join(path.split("/")[:n]) for path in start.files for n in range(2, path.count("/") + 1)}
    for path in sorted(solid & {*WRITABLE, *above, start.cwd, *start.folders}):
        if start.files[path].link is None or path in WRITABLE:
            raise TaskError(f"{path} is a file, and has to be a folder too")


def read_own(path: Path) -> Task:
    """A task of one's own format.

    Raises:
        TaskError: what is wrong with it, and where.
    """
    source = next(path / name for name in FILES if (path / name).is_file())
    try:
        text = source.read_text(encoding="utf-8")
        data = tomllib.loads(text) if source.suffix == ".toml" else json.loads(text)
        told = TaskFile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise TaskError(f"{source.name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{source.name}: {error}") from error
    files = entries_of(path / "files", told.cwd) if (path / "files").is_dir() else {}
    for name, entry in told.files.items():
        absolute = name if name.startswith("/") else f"{told.cwd.rstrip('/')}/{name}"
        files[absolute] = Entry(text=entry) if isinstance(entry, str) else entry
    checks = [*told.checks, *_tests(path / "tests", told)]
    if not checks:
        raise TaskError(f"{source.name}: expected checks, or a tests/check.sh; whatever is done would count as solved")
    start = InitialState(
        files=files,
        setup=told.setup,
        services=told.services,
        ready=told.ready,
        needs=told.needs,
        cwd=told.cwd,
        env=told.env,
    )
    return Task(
        id=path.resolve().name,
        domain="terminal",
        instruction=told.instruction.strip(),
        initial_state=start.model_dump(mode="json", exclude_defaults=True),
        verifier={"checks": [check.model_dump(mode="json") for check in checks]},
        hidden={"solution": list(told.solution)} if told.solution else {},
        max_steps=told.max_steps,
        tags=told.tags,
    )


def _tests(folder: Path, told: TaskFile) -> list[RunCheck]:
    if not (folder / "check.sh").is_file():
        return []
    files: dict[str, Any] = {p: e for p, e in entries_of(folder, TESTS, follow=True).items() if e.data is not None}
    argv = ("bash", f"{TESTS}/check.sh")
    return [RunCheck(argv=argv, files=files, isolated=True, cwd=told.cwd, env=dict(told.env), timeout_s=120.0)]
