"""`gather`: the facts that a task's checks need, taken from a sandbox in which the agent's processes do not run."""

from __future__ import annotations

import base64
import json
import logging
import math
from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.terminal.checks import Check, RunCheck
from agentworld_envs.domains.terminal.inside import CLEAN, LOOK
from agentworld_envs.interface import SandboxRefused
from agentworld_envs.interface.sandbox import Sandbox

logger = logging.getLogger(__name__)

MOST_BYTES = 4 * 2**20
"""Of file contents that are looked at in all."""
MOST_OUTPUT = 2**20
"""Bytes that a program of a check may print; with more it did not end well."""
MOST_NAMES = 2**20
"""Characters of the names in all trees together."""
_LOOK_TIMEOUT_S = 30.0
_MOST_ANSWER = 4 * MOST_BYTES
JUDGES_FOLDERS = ("/tests", "/logs")
"""Emptied before a check puts something there: the agent may have been there before."""
_ISOLATED = {"HOME": "/nonexistent", "PYTHONNOUSERSITE": "1", "PYTHONSAFEPATH": "1", "PYTHONDONTWRITEBYTECODE": "1"}
PYTHON = ("python3", "-I", "-S", "-c")
"""An interpreter that nothing in the agent's folders can change."""


def gather(sandbox: Sandbox, checks: Sequence[Check]) -> dict[str, Any]:
    """Look at files first, then run what the checks run: a program of the agent's could change files.

    Whatever the agent's files do to this, the checks that then cannot be answered count as not fulfilled: nobody gets
    out of a bad result by leaving a mess.

    Args:
        sandbox: a fresh one on the agent's frozen files.
        checks: of the task.

    Returns:
        `paths`, `trees` and `runs`, as `checks.Facts` has them.

    Raises:
        SandboxError: the sandbox failed.
    """
    facts = _look(sandbox, checks)
    runs = facts["runs"] = {}
    for check in checks:
        if isinstance(check, RunCheck):
            if runs:
                sandbox.end_processes()  # what an earlier program left behind shall not see this one
            runs[check.key] = _run(sandbox, check)
    return facts


def _look(sandbox: Sandbox, checks: Sequence[Check]) -> dict[str, Any]:
    job = {
        "paths": sorted({path for check in checks for path in check.paths()}),
        "trees": sorted({path for check in checks for path in check.trees()}),
        "most_bytes": MOST_BYTES,
        "most_names": MOST_NAMES,
    }
    if not job["paths"] and not job["trees"]:
        return {"paths": {}, "trees": {}}
    argv = [*PYTHON, LOOK]
    result = sandbox.exec(argv, _LOOK_TIMEOUT_S, stdin=json.dumps(job).encode(), cwd="/", output_cap=_MOST_ANSWER)
    try:
        found = json.loads(result.stdout)
        for entry in found["paths"].values():
            if entry is not None and "data" in entry:
                entry["data"] = base64.b64decode(entry["data"])
        return {"paths": found["paths"], "trees": found["trees"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        logger.warning("The files of an episode could not be looked at: %s", result.stderr[-500:] or result.exit_code)
        return {"paths": {}, "trees": {}}


def _run(sandbox: Sandbox, check: RunCheck) -> dict[str, Any]:
    try:
        _make_room(sandbox, check)
        for path, entry in check.files.items():
            data = entry.encode() if isinstance(entry, str) else entry.data
            mode = 0o644 if isinstance(entry, str) else int(entry.mode or "644", 8)
            if data is not None:
                sandbox.write(path, data, mode=mode)
    except SandboxRefused:  # the agent put something in the way
        return {"exit_code": -1, "stdout": ""}
    stdin = check.stdin.encode()
    env = {**(_ISOLATED if check.isolated else {}), **check.env}
    # The cap of the agent's own commands is too small here: a right answer that is cut would count as wrong.
    result = sandbox.exec(check.argv, check.timeout_s, env=env, cwd=check.cwd, stdin=stdin, output_cap=MOST_OUTPUT)
    ended = not (result.timed_out or result.output_exceeded or result.stdout_truncated)
    facts = {"exit_code": result.exit_code if ended else -1, "stdout": result.stdout, "stderr": result.stderr[-500:]}
    if check.reward_file is not None and ended:
        sandbox.end_processes()
        facts["reward"] = _reward(sandbox, check.reward_file)
    return facts


def _make_room(sandbox: Sandbox, check: RunCheck) -> None:
    """Remove what the agent may have put where the check's own files go. Raises SandboxRefused when that fails."""
    ours = [*check.files, *([check.reward_file] if check.reward_file is not None else [])]
    empty = [folder for folder in JUDGES_FOLDERS if any(path.startswith(folder + "/") for path in ours)]
    if ours:
        job = {"remove": ours, "empty": empty}
        result = sandbox.exec([*PYTHON, CLEAN], _LOOK_TIMEOUT_S, stdin=json.dumps(job).encode(), cwd="/")
        if result.exit_code != 0:
            raise SandboxRefused(f"There is no room for the files of a check: {result.stderr[-300:]}")


def _reward(sandbox: Sandbox, path: str) -> float | None:
    """The number in a reward file; `None` when there is none."""
    try:
        text = sandbox.read(path, 65_536).decode("utf-8", "replace").strip()
    except SandboxRefused:
        return None
    try:
        value = json.loads(text)
        value = value.get("reward") if isinstance(value, dict) else value
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except (ValueError, RecursionError):
        return None
