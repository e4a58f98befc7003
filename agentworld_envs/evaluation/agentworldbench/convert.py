"""`record_rows`: trajectories of the benchmark as a recording, to be stepped with `backend="replay:FILE"`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentworld_envs.backends.world_model.codecs import read_observation_turn, read_user_turn
from agentworld_envs.episode import clip
from agentworld_envs.evaluation.agentworldbench.domain import (
    PARAMETER,
    BenchmarkDomain,
    as_action,
    first_observation,
    task_of,
    trajectories,
    turns_of,
)
from agentworld_envs.evaluation.agentworldbench.rows import Row
from agentworld_envs.interface import Action, ConfigError, Domain, JudgeError, Task
from agentworld_envs.parsing import ActionParser, Rejection
from agentworld_envs.trajectories import CloseLine, ResetLine, StepLine
from agentworld_envs.trajectories.schema import FailureRecord

NO_VERDICT: Final = FailureRecord(
    kind=JudgeError.kind,
    message="AgentWorldBench says what happens, not whether it is right: its episodes have no reward.",
    retryable=False,
)


@dataclass(slots=True)
class Recorded:
    """What was written."""

    episodes: int = 0
    steps: int = 0
    cut: list[str] = field(default_factory=list)
    """A line for each trajectory that ends early, because an action cannot be made in the domain."""


def record_rows(rows: Sequence[Row], path: str | os.PathLike[str], domain: Domain | None = None) -> Recorded:
    """Write one episode for each trajectory. Episode number i has seed i.

    Args:
        rows: of one domain.
        path: the recording; replaced when it is there.
        domain: whose actions these are: `Terminal()` for terminal rows, say, so that the file plays with
            `gym.make("AgentWorld/Terminal-v0", backend="replay:FILE")`. Default: `BenchmarkDomain()`, which plays any.

    Raises:
        ConfigError: the rows are of several domains, or the file cannot be written.
    """
    kinds = sorted({row.domain for row in rows})
    if len(kinds) != 1:
        raise ConfigError(f"Expected rows of one domain, got {', '.join(kinds) or 'none'}: write a file for each.")
    played = domain or BenchmarkDomain()
    done = Recorded()
    lines: list[str] = []
    for seed, group in enumerate(trajectories(rows)):
        written = _episode(group[-1], seed, played, done)
        lines += [line.model_dump_json(ensure_ascii=True) for line in written]
        done.episodes += 1
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    except OSError as error:
        raise ConfigError(f"Cannot write {target}: {error.strerror}.") from error
    return done


def _episode(row: Row, seed: int, played: Domain, done: Recorded) -> list[ResetLine | StepLine | CloseLine]:
    task = task_of(row, played.name)
    parser = ActionParser(
        played.tools(task), played.default_tool, multiline=played.multiline, answer_tool=played.answer_tool
    )
    steps: list[StepLine] = []
    total = len(turns_of(row))
    for user, assistant in turns_of(row):
        text = read_user_turn(user).action
        written = as_action(text) if isinstance(played, BenchmarkDomain) else text
        action = _action(written, text, task, played, parser)
        if action is None:
            done.cut.append(f"{row.where}: step {len(steps) + 1} of {total} cannot be made in {played.name}")
            break
        last = len(steps) + 1 == total
        steps.append(_step(row, written, action, read_observation_turn(assistant), len(steps) + 1, last=last))
    done.steps += len(steps)
    reset = ResetLine(
        episode=row.trajectory,
        domain=played.name,
        backend={"name": "agentworldbench", "task": row.task, "id": row.id},
        reward="none",
        task=task,
        seed=seed,
        max_steps=total or 1,
        observation=clip(first_observation(task)),
        instructions=played.instructions(task),
        tools=played.tools(task),
    )
    end = CloseLine(
        episode=row.trajectory,
        steps=len(steps),
        score=0.0,
        success=False,
        terminated=False,
        truncated=bool(steps) and steps[-1].truncated,
        reward_valid=False,
    )
    return [reset, *steps, end]


def _action(written: str, text: str, task: Task, played: Domain, parser: ActionParser) -> Action | None:
    """What the environment makes of the text at play, `None` when it would not get past it."""
    if isinstance(played, BenchmarkDomain):
        parsed: Any = parser.parse(written)
        same = isinstance(parsed, Action) and parsed.arguments.get(PARAMETER) == text.strip()
        return parsed if same else None
    parsed = parser.parse(written)
    if isinstance(parsed, Rejection) or played.refuse(task, parsed) is not None:
        return None
    return parsed if isinstance(parsed, Action) else None


def _step(row: Row, written: str, action: Action, observation: str, number: int, *, last: bool) -> StepLine:
    return StepLine(
        episode=row.trajectory,
        step=number,
        action=written,
        tool=action.tool,
        arguments=dict(action.arguments),
        command=action.command,
        observation=clip(observation),
        reward=0.0,
        terminated=False,
        truncated=last,
        source="real",
        action_valid=True,
        score=0.0,
        success=False,
        reward_valid=not last,
        failure=NO_VERDICT if last else None,
    )
