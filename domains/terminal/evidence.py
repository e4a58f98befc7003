"""`gather`: the facts that a task's checks need, taken from a sandbox in which the agent's processes do not run."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from typing import Any

from agentworld_envs.domains.terminal.checks import Check, RunCheck
from agentworld_envs.domains.terminal.inside import LOOK
from agentworld_envs.interface import SandboxError, SandboxRefused
from agentworld_envs.interface.sandbox import Sandbox

MOST_BYTES = 4 * 2**20
"""Of file contents that are looked at in all."""
MOST_OUTPUT = 2**20
"""Bytes that a program of a check may print; with more it did not end well."""
MOST_PATHS = 5_000
"""Of one tree."""
_LOOK_TIMEOUT_S = 30.0
_MOST_ANSWER = 4 * MOST_BYTES
PYTHON = ("python3", "-I", "-S", "-c")
"""An interpreter that nothing in the agent's folders can change."""


def gather(sandbox: Sandbox, checks: Sequence[Check]) -> dict[str, Any]:
    """Look at files first, then run what the checks run: a program of the agent's could change files.

    Args:
        sandbox: a fresh one on the agent's frozen files.
        checks: of the task.

    Returns:
        `paths`, `trees` and `runs`, as `checks.Facts` has them.

    Raises:
        SandboxError: the sandbox failed, or its answer makes no sense.
    """
    facts = _look(sandbox, checks)
    facts["runs"] = {check.key: _run(sandbox, check) for check in checks if isinstance(check, RunCheck)}
    return facts


def _look(sandbox: Sandbox, checks: Sequence[Check]) -> dict[str, Any]:
    job = {
        "paths": sorted({path for check in checks for path in check.paths()}),
        "trees": sorted({path for check in checks for path in check.trees()}),
        "most_bytes": MOST_BYTES,
        "most_paths": MOST_PATHS,
    }
    if not job["paths"] and not job["trees"]:
        return {"paths": {}, "trees": {}}
    argv = [*PYTHON, LOOK]
    result = sandbox.exec(argv, _LOOK_TIMEOUT_S, stdin=json.dumps(job).encode(), cwd="/", output_cap=_MOST_ANSWER)
    if result.exit_code != 0:
        raise SandboxError(f"The files could not be looked at: {result.stderr[-500:] or result.exit_code}.")
    try:
        found = json.loads(result.stdout)
        for entry in found["paths"].values():
            if entry is not None and "data" in entry:
                entry["data"] = base64.b64decode(entry["data"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SandboxError(f"The files could not be looked at: {error!r}.") from error
    return {"paths": found["paths"], "trees": found["trees"]}


def _run(sandbox: Sandbox, check: RunCheck) -> dict[str, Any]:
    try:
        for path, entry in check.files.items():
            data = entry.encode() if isinstance(entry, str) else entry.data
            mode = 0o644 if isinstance(entry, str) else int(entry.mode or "644", 8)
            if data is not None:
                sandbox.write(path, data, mode=mode)
    except SandboxRefused:  # the agent put something in the way
        return {"exit_code": -1, "stdout": ""}
    stdin = check.stdin.encode()
    # The cap of the agent's own commands is too small here: a right answer that is cut would count as wrong.
    result = sandbox.exec(
        check.argv, check.timeout_s, env=check.env, cwd=check.cwd, stdin=stdin, output_cap=MOST_OUTPUT
    )
    ended = not (result.timed_out or result.output_exceeded or result.stdout_truncated)
    facts = {"exit_code": result.exit_code if ended else -1, "stdout": result.stdout}
    if check.reward_file is not None:
        facts["reward"] = _reward(sandbox, check.reward_file)
    return facts


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
