"""Checks: what has to hold at the end of a task, as data. Each is evaluated by code over evidence from outside.

Evidence is gathered in a fresh sandbox on the frozen files of the agent's (see `evidence`), or, in a simulated
episode, it is what the tracker knows for certain. A check that the evidence cannot answer holds neither way (`None`).
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agentworld_envs.domains.terminal.entries import Entry
from agentworld_envs.interface import TaskError

Facts = Mapping[str, Any]
"""`paths`: path -> facts or `None` when nothing is there; `runs`: key -> result; `processes`: command lines."""


def _absolute(path: str) -> str:
    if not path.startswith("/") or "/../" in f"{path}/" or "\0" in path:
        raise ValueError(f"paths have to be absolute and plain, got {path!r}")
    return path


AbsolutePath = Annotated[str, AfterValidator(_absolute)]


class _Check(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def paths(self) -> tuple[str, ...]:
        """Paths that have to be looked at."""
        return ()

    def trees(self) -> tuple[str, ...]:
        """Folders that have to be looked at with everything below them."""
        return ()

    @property
    def about(self) -> str:
        """What it is about, for people."""
        return str(getattr(self, "path", getattr(self, "pattern", "")))

    @abstractmethod
    def holds(self, facts: Facts) -> bool | None:
        """Whether it holds; `None` when the facts do not tell."""


def _look(facts: Facts, path: str) -> tuple[bool, Mapping[str, Any] | None]:
    """Whether something is known of a path, and what is there."""
    paths = facts.get("paths", {})
    return path in paths, paths.get(path)


class FileCheck(_Check):
    """A regular file has these contents."""

    kind: Literal["file"] = "file"
    path: AbsolutePath
    text: str
    """What it has to hold."""
    compare: Literal["exact", "text", "words", "lines", "json", "numbers", "sha256"] = "text"
    """`exact`: byte for byte; `text`: but for blanks at the ends of lines and blank lines at the end; `words`: the same
    words, however they are spaced; `lines`: the same lines in any order; `json`: equal as JSON; `numbers`: as `words`,
    numbers within `tolerance`; `sha256`: `text` is the digest of its bytes, which need be no text."""
    tolerance: float = 1e-6

    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def holds(self, facts: Facts) -> bool | None:
        known, found = _look(facts, self.path)
        if not known:
            return None
        if found is None or found["type"] != "file" or found.get("data") is None:
            return False
        return same_text(self.text, found["data"], self.compare, self.tolerance)


class AbsentCheck(_Check):
    """Nothing is at a path, not even a dangling link."""

    kind: Literal["absent"] = "absent"
    path: AbsolutePath

    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def holds(self, facts: Facts) -> bool | None:
        known, found = _look(facts, self.path)
        return found is None if known else None


class ModeCheck(_Check):
    """A file or folder has these permissions."""

    kind: Literal["mode"] = "mode"
    path: AbsolutePath
    mode: str = Field(pattern=r"^[0-7]{3,4}$")

    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def holds(self, facts: Facts) -> bool | None:
        known, found = _look(facts, self.path)
        if not known:
            return None
        if found is not None and found.get("mode") is None:
            return None
        return found is not None and found["type"] in ("file", "folder") and int(found["mode"], 8) == int(self.mode, 8)


class LinkCheck(_Check):
    """A symbolic link points there, as it is written."""

    kind: Literal["link"] = "link"
    path: AbsolutePath
    target: str

    def paths(self) -> tuple[str, ...]:
        return (self.path,)

    def holds(self, facts: Facts) -> bool | None:
        known, found = _look(facts, self.path)
        return (found is not None and found["type"] == "link" and found["target"] == self.target) if known else None


class TreeCheck(_Check):
    """Below a folder are exactly these files, with these contents (`None`: any) and no others; folders do not count."""

    kind: Literal["tree"] = "tree"
    path: AbsolutePath
    files: dict[str, str | None]
    """Relative path -> contents, compared as `text`; for a symbolic link its target with `-> ` in front."""
    ignore: tuple[str, ...] = ()
    """Names of files and folders that are left out, wherever they are."""

    def trees(self) -> tuple[str, ...]:
        return (self.path,)

    def holds(self, facts: Facts) -> bool | None:
        listing = facts.get("trees", {})
        if self.path not in listing:
            return None
        if listing[self.path] is None:
            return False
        found = {}
        for path in listing[self.path]:
            relative = path[len(self.path) :].strip("/")
            entry = facts["paths"][path] or {"type": "unknown"}
            if entry["type"] != "folder" and not set(relative.split("/")) & set(self.ignore):
                found[relative] = entry
        if found.keys() != self.files.keys():
            return False
        return all(_same_entry(wanted, found[name]) for name, wanted in self.files.items())


class RunCheck(_Check):
    """A program, run in a fresh sandbox on the agent's files, ends like this. The expectation is not in there.

    All files are looked at before the first program is run. Programs run in the order of the checks and see what those
    before them, and their `files`, have left.
    """

    kind: Literal["run"] = "run"
    argv: tuple[str, ...] = Field(min_length=1)
    stdin: str = ""
    cwd: str | None = None
    files: dict[str, str | Entry] = Field(default_factory=dict)
    """Written before it runs: absolute path -> contents."""
    env: dict[str, str] = Field(default_factory=dict)
    isolated: bool = False
    """Whether it is a test of the judge's, which must not read settings and modules from the agent's folders: HOME is
    empty, and Python takes no modules from the present folder or the user's own. (A program of the agent's is not.)"""
    reward_file: str | None = None
    """A file that the program writes a number from 0 to 1 into (or JSON with a `reward`): the credit for the task, 1
    for a solved one. Nothing else is expected of it then."""
    exit_code: int | None = 0
    """Expected; `None`: any."""
    stdout: str | None = None
    """Expected; `None`: any."""
    compare: Literal["exact", "text", "words", "lines", "json", "numbers"] = "text"
    tolerance: float = 1e-6
    timeout_s: float = 20.0

    @property
    def key(self) -> str:
        """Names the result in the evidence."""
        return self.model_dump_json(include={"argv", "stdin", "cwd", "files", "env", "isolated"})

    @property
    def about(self) -> str:
        return " ".join(self.argv)

    def credit(self, facts: Facts) -> float | None:
        """What the program gave for the task; `None` where it is not asked, or was not run."""
        result = facts.get("runs", {}).get(self.key)
        if self.reward_file is None or result is None:
            return None
        return min(1.0, max(0.0, float(result.get("reward") or 0.0)))

    def holds(self, facts: Facts) -> bool | None:
        result = facts.get("runs", {}).get(self.key)
        if result is None:
            return None
        if self.reward_file is not None:
            return self.credit(facts) == 1.0
        if self.exit_code is not None and result["exit_code"] != self.exit_code:
            return False
        return self.stdout is None or same_text(self.stdout, result["stdout"], self.compare, self.tolerance)


class ProcessCheck(_Check):
    """At the end of the episode a process is running, or none is. Command lines can be forged: check more than this."""

    kind: Literal["process"] = "process"
    pattern: str
    """Regular expression that is searched in the command line."""
    running: bool

    def holds(self, facts: Facts) -> bool | None:
        processes = facts.get("processes")
        if processes is None:
            return None
        return any(re.search(self.pattern, line) for line in processes) is self.running


Check = Annotated[
    FileCheck | AbsentCheck | ModeCheck | LinkCheck | TreeCheck | RunCheck | ProcessCheck, Field(discriminator="kind")
]
_CHECKS: TypeAdapter[tuple[Check, ...]] = TypeAdapter(tuple[Check, ...])


def parse_checks(data: Any, task_id: str) -> tuple[Check, ...]:
    """Checks from a task's `verifier["checks"]`. Raises TaskError, which says what is wrong with which."""
    try:
        checks = _CHECKS.validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TaskError(
            f"Task {task_id!r}: its checks are not valid at {where or 'the top'}: {first['msg']}."
        ) from error
    if not checks:
        raise TaskError(f"Task {task_id!r} has no checks: whatever the agent does would count as solved.")
    return checks


def _same_entry(wanted: str | None, entry: Mapping[str, Any]) -> bool:
    if wanted is None:
        return entry["type"] in ("file", "link")
    if wanted.startswith("-> "):
        return bool(entry["type"] == "link" and entry["target"] == wanted[3:])
    return entry["type"] == "file" and entry.get("data") is not None and same_text(wanted, entry["data"], "text")


def same_text(expected: str, actual: str | bytes, compare: str, tolerance: float = 1e-6) -> bool:
    """Compare contents; the ways are those of `FileCheck.compare`."""
    if compare == "exact":
        data = actual.encode("utf-8", "surrogateescape") if isinstance(actual, str) else actual
        return expected.encode("utf-8", "surrogateescape") == data
    if compare == "sha256":
        data = actual.encode("utf-8", "surrogateescape") if isinstance(actual, str) else actual
        return hashlib.sha256(data).hexdigest() == expected
    text = actual if isinstance(actual, str) else actual.decode("utf-8", "backslashreplace")
    if compare == "text":
        return _tidy(expected) == _tidy(text)
    if compare == "words":
        return expected.split() == text.split()
    if compare == "lines":
        return sorted(filter(None, _tidy(expected))) == sorted(filter(None, _tidy(text)))
    if compare == "json":
        return _same_json(expected, text)
    return _same_numbers(expected.split(), text.split(), tolerance)


def _tidy(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_json(expected: str, actual: str) -> bool:
    try:
        found = json.loads(actual, parse_float=_json_number)
    except (ValueError, RecursionError):
        return False
    wanted = json.loads(expected, parse_float=_json_number)
    return json.dumps(wanted, sort_keys=True) == json.dumps(found, sort_keys=True)


def _json_number(text: str) -> float:
    """JSON has one kind of numbers: 12 and 12.0 are the same."""
    number = float(text)
    return int(number) if number.is_integer() else number


def _same_numbers(expected: list[str], actual: list[str], tolerance: float) -> bool:
    if len(expected) != len(actual):
        return False
    for left, right in zip(expected, actual, strict=True):
        if left == right:
            continue
        try:
            if not abs(float(left) - float(right)) <= tolerance:
                return False
        except ValueError:
            return False
    return True
