"""`Row`: one question of AgentWorldBench; `read_rows`: its JSONL files, with every defect counted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from agentworld_envs.backends.world_model.codecs import read_observation_turn
from agentworld_envs.interface import ConfigError, unknown_name

DOMAINS: Final = ("mcp", "search", "terminal", "swe", "android", "web", "os")
"""The seven domains, in the order of the published table. Files are named `DOMAIN_test.jsonl`."""
SUFFIX: Final = "_test.jsonl"


@dataclass(frozen=True, slots=True)
class Row:
    """One turn of a trajectory, of which the observation is to be predicted (Qwen-AgentWorld report, AgentWorldBench).

    `prompt[:turn_idx - 1]` and `response[:turn_idx - 1]` are the turns before; `response[turn_idx - 1]` is the truth.
    """

    task: str
    id: str
    system_str: str
    """System message of the simulator."""
    prompt: tuple[str, ...]
    """User messages (actions). Published files hold those of the whole trajectory, or those up to the turn."""
    response: tuple[str, ...]
    """Assistant messages (observations), with their header."""
    current_prompt: str
    """The turn's user message without the instruction at its end; empty when the file has none."""
    turn_idx: int
    """1-based."""
    total_turns: int
    domain: str
    """Last part of `task`."""
    where: str
    """File and line."""
    key: str
    """Digest over task, id, system message and turn: ids alone are used again by other trajectories."""
    trajectory: str
    """Digest over task, id and system message: rows of one trajectory depend on each other."""

    @property
    def truth(self) -> str:
        """The real observation, without the layout's header."""
        return read_observation_turn(self.response[self.turn_idx - 1])

    @property
    def action_message(self) -> str:
        """The turn's user message without the instruction at its end, as far as the row tells them apart."""
        return self.current_prompt or self.prompt[self.turn_idx - 1]


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that is wrong with a line of a file."""

    kind: str
    where: str
    message: str
    """Expected and actual."""
    left_out: bool
    """Whether the row is unusable. Others are kept, repaired where `message` says so."""


@dataclass(slots=True)
class RowSet:
    """What was read."""

    rows: list[Row] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    lines: int = 0
    """Lines that are not blank."""
    missing: list[str] = field(default_factory=list)
    """Files of the seven that are not there, of those that were asked for."""
    beyond_limit: int = 0
    """Usable rows that were not taken because of a limit."""
    other_domains: int = 0
    """Usable rows that were not taken because of their task's domain."""

    def counts(self) -> dict[str, dict[str, Any]]:
        """Defects by kind: how many rows were left out or kept, and where the first one is."""
        found: dict[str, dict[str, Any]] = {}
        for defect in self.defects:
            entry = found.setdefault(
                defect.kind, {"left_out": 0, "kept": 0, "first": f"{defect.where}: {defect.message}"}
            )
            entry["left_out" if defect.left_out else "kept"] += 1
        return found


class _Unusable(Exception):
    """A row that cannot be asked."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def read_rows(path: str | os.PathLike[str], domains: Sequence[str] | None = None, limit: int | None = None) -> RowSet:
    """Read a folder of `*_test.jsonl` files, or one file.

    Args:
        path: the folder or file.
        domains: only these; default: all that are there.
        limit: most rows of a domain, the first ones; default: all.

    Nothing is dropped silently: each defect is in `RowSet.defects` with file and line.

    Raises:
        ConfigError: there is no such file, none in the folder, no such domain, or no usable row.
    """
    files, missing = _files(Path(path), domains)
    found = RowSet(missing=missing)
    seen: dict[str, str] = {}
    taken: dict[str, int] = {}
    for file in files:
        for where, raw in _lines(file):
            found.lines += 1
            defects: list[Defect] = []
            try:
                row = _distinct(_read(raw, where, _domain_of(file), defects), seen, defects)
            except _Unusable as error:
                found.defects.append(Defect(error.kind, where, str(error), True))
                continue
            if domains is not None and row.domain not in domains:
                found.other_domains += 1
                continue
            if limit is not None and taken.get(row.domain, 0) >= limit:
                found.beyond_limit += 1
                continue
            found.defects += defects
            taken[row.domain] = taken.get(row.domain, 0) + 1
            found.rows.append(row)
    if not found.rows:
        first = found.defects[0] if found.defects else None
        reason = f"; the first defect is {first.where}: {first.message}" if first else ""
        raise ConfigError(f"{path} has no usable row of AgentWorldBench in {found.lines} lines{reason}.")
    return found


def _files(path: Path, domains: Sequence[str] | None) -> tuple[list[Path], list[str]]:
    if path.is_file():
        return [path], []
    if not path.is_dir():
        raise ConfigError(f"There is no file or folder {path}. Expected AgentWorldBench's *{SUFFIX} files.")
    there = {_domain_of(file): file for file in sorted(path.glob(f"*{SUFFIX}"))}
    if not there:
        raise ConfigError(f"{path} has no file *{SUFFIX}. Expected {DOMAINS[0]}{SUFFIX} and so on.")
    for name in domains or ():
        if name not in there and name not in DOMAINS:
            raise unknown_name("benchmark domain", name, {*DOMAINS, *there})
    order = [*(name for name in DOMAINS if name in there), *(name for name in there if name not in DOMAINS)]
    wanted = [name for name in order if domains is None or name in domains]
    if not wanted:
        raise ConfigError(f"{path} has no file of the domains {', '.join(domains or ())}. It has {', '.join(order)}.")
    missing = [f"{name}{SUFFIX}" for name in (domains or DOMAINS) if name not in there]
    return [there[name] for name in wanted], missing


def _domain_of(file: Path) -> str:
    return file.name.removesuffix(SUFFIX) if file.name.endswith(SUFFIX) else ""


def _lines(file: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with file.open("rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if raw.strip():
                    yield f"{file.name}:{number}", raw
    except OSError as error:
        raise ConfigError(f"Cannot read {file}: {error.strerror}.") from error


def _read(raw: bytes, where: str, file_domain: str, defects: list[Defect]) -> Row:
    """One row. Repairs that leave no doubt are made, and noted in `defects`."""
    try:
        data = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise _Unusable("not_json", f"expected one JSON object, got {raw[:60]!r} ({error})") from error
    if not isinstance(data, dict):
        raise _Unusable("not_an_object", f"expected a JSON object, got {type(data).__name__}")

    def kept(kind: str, message: str) -> None:
        defects.append(Defect(kind, where, message, False))

    for name in ("id", "system_str", "prompt", "response", "turn_idx"):
        if data.get(name) is None:
            raise _Unusable(f"missing_field:{name}", f"expected the field {name!r}; there are {sorted(data)[:12]}")
    task = data.get("task")
    if not isinstance(task, str) or not task.strip("/ "):
        if not file_domain:
            raise _Unusable("missing_field:task", f"expected the field 'task' as text, got {task!r:.60}")
        kept("missing_field:task", f"no task; the file says {file_domain!r}")
        task = file_domain
    domain = task.strip("/ ").rpartition("/")[2]
    if file_domain and domain != file_domain:
        kept("task_of_another_file", f"the task {task!r:.60} is in the file of {file_domain!r}")
    system = data["system_str"]
    if not isinstance(system, str):
        raise _Unusable("wrong_type:system_str", f"expected text in 'system_str', got {type(system).__name__}")
    if not system.strip():
        kept("empty_system_str", "the system message is empty")
    identity = data["id"]
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise _Unusable("wrong_type:id", f"expected text in 'id', got {type(identity).__name__}")
    prompt, response = (_texts(data, name, kept) for name in ("prompt", "response"))
    current = data.get("current_prompt")
    if not isinstance(current, str):
        kept("missing_field:current_prompt", f"expected text in 'current_prompt', got {type(current).__name__}")
        current = ""
    turn = _turn(data, prompt, response, current, kept)
    total = data.get("total_turns")
    if isinstance(total, bool) or not isinstance(total, int):
        kept("missing_field:total_turns", f"expected a number in 'total_turns', got {total!r:.40}")
        total = max(len(prompt), turn)
    elif turn > total:
        kept("turn_past_total", f"turn_idx is {turn} and total_turns {total}")
    trajectory = _digest([task, str(identity), _digest([system])])
    key = _digest([trajectory, turn])
    return Row(task, str(identity), system, prompt, response, current, turn, total, domain, where, key, trajectory)


def _texts(data: Mapping[str, Any], name: str, kept: Any) -> tuple[str, ...]:
    value = data[name]
    if isinstance(value, str):
        kept(f"text_not_list:{name}", f"expected a list of texts in {name!r}, got one text; taken as a list of it")
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        kinds = sorted({type(item).__name__ for item in value}) if isinstance(value, list) else type(value).__name__
        raise _Unusable(f"wrong_type:{name}", f"expected a list of texts in {name!r}, got {kinds}")
    return tuple(value)


def _turn(data: Mapping[str, Any], prompt: Sequence[str], response: Sequence[str], current: str, kept: Any) -> int:
    """The 1-based turn.

    A 0-based index is taken for one only where `current_prompt` leaves no doubt.
    """
    value = data["turn_idx"]
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 9:
        kept("wrong_type:turn_idx", f"expected a number in 'turn_idx', got the text {value!r}; taken as a number")
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Unusable("wrong_type:turn_idx", f"expected a whole number in 'turn_idx', got {value!r:.40}")

    def fits(index: int) -> bool:
        return bool(current) and 0 <= index < len(prompt) and prompt[index].startswith(current)

    if not fits(value - 1) and fits(value) and value < len(response):
        kept("turn_idx_from_zero", f"turn_idx {value} counts from 0: current_prompt is prompt {value + 1}; repaired")
        value += 1
    if value < 1:
        raise _Unusable("turn_out_of_range", f"expected a turn_idx of at least 1, got {value}")
    if value > len(response):
        raise _Unusable("turn_out_of_range", f"turn_idx is {value} and there are {len(response)} responses")
    if value > len(prompt):
        if value - 1 > len(prompt) or not current:
            raise _Unusable("turn_out_of_range", f"turn_idx is {value} and there are {len(prompt)} prompts")
        kept("prompt_of_turn_missing", f"there is no prompt {value}; current_prompt stands in for it")
    elif current and not fits(value - 1):
        kept("current_prompt_differs", f"current_prompt is not the beginning of prompt {value}")
    return value


def _distinct(row: Row, seen: dict[str, str], defects: list[Defect]) -> Row:
    """The row, with a key of its own where another row has the same names and another content."""
    content = _digest([row.prompt[: row.turn_idx], row.response[: row.turn_idx]])
    if row.key not in seen:
        seen[row.key] = content
        return row
    if seen[row.key] == content:
        raise _Unusable("duplicate", f"the same row was there before (task {row.task!r:.40}, id {row.id!r:.60})")
    defects.append(
        Defect("id_of_another_row", row.where, "task, id, system message and turn are those of another row", False)
    )
    key, trajectory = _digest([row.key, content]), _digest([row.trajectory, content])
    if key in seen:
        raise _Unusable("duplicate", f"the same row was there before (task {row.task!r:.40}, id {row.id!r:.60})")
    seen[key] = content
    return replace(row, key=key, trajectory=trajectory)


def _digest(value: Any) -> str:
    return sha256(json.dumps(value, separators=(",", ":")).encode("ascii")).hexdigest()[:24]
