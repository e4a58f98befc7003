"""`export_rows`: recorded episodes as rows of AgentWorldBench, so that a bench can be made from any domain."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from agentworld_envs.backends.world_model.codec import render_action_turn
from agentworld_envs.backends.world_model.codecs.layout import write_observation_turn
from agentworld_envs.backends.world_model.prompts import SUFFIX
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Action, ConfigError, Domain, Injection, JudgeError, classify
from agentworld_envs.trajectories import StepLine, Trajectory, read_trajectories

UNIFORM: Final = 3
"""Turns drawn between the first and the last one, as in the paper's text domains."""
FEWEST_TURNS: Final = 2
"""Shorter trajectories are left out, as in the paper."""


@dataclass(slots=True)
class Exported:
    """What was written, and what was not."""

    rows: int = 0
    trajectories: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """Trajectories and lines by reason: `simulated`, `faulted`, `too_short`, `not_opened`, `unreadable_line`,
    `domain:KIND` (the domain could not brief a simulator). `turns_not_executed` counts steps that never reached the
    environment, and `turns_after_a_failure` what comes from a failure on."""


def export_rows(
    recordings: Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    load: Callable[[str], Domain] = load_domain,
) -> Exported:
    """Write rows of the real episodes of recordings; what really was observed is the truth.

    The system message is the domain's simulation prompt, actions and states are in the layout of the domain's own
    world-model episodes, and the turn that is asked for ends with this package's instruction. Of each trajectory the
    first turn, three drawn ones and the last one are asked for (the paper's rule); trajectory number i draws from a
    generator of (seed, i).

    Args:
        recordings: files written with `record=`.
        out: the file of rows; replaced when it is there. Call it `DOMAIN_test.jsonl` to find it by its folder.
        seed: of the drawn turns.
        load: name -> domain, for domains of your own.

    Raises:
        ConfigError: a recording cannot be read, a domain is unknown, there is nothing to be written, or `out` is one of
            the recordings.
    """
    done = Exported()
    domains: dict[str, Domain] = {}
    target = Path(out)
    if any(target.exists() and target.samefile(path) for path in map(Path, recordings) if path.exists()):
        raise ConfigError(f"The rows would replace the recording {target}: choose another file for them.")
    lines: list[str] = []
    number = 0
    for recording in recordings:
        problems: list[str] = []
        for trajectory in read_trajectories(recording, problems):
            name = trajectory.reset.domain
            if name not in domains:
                domains[name] = load(name)
            rows = _rows(trajectory, domains[name], np.random.default_rng([seed, number]), done)
            number += 1
            lines += [json.dumps(row, separators=(",", ":")) for row in rows]
        done.left_out["unreadable_line"] += len(problems)
    done.left_out += Counter()  # takes out the zeros
    if not lines:
        reasons = ", ".join(f"{reason} x{count}" for reason, count in done.left_out.items()) or "no episode"
        raise ConfigError(f"There is no row to be exported: {reasons}. Expected real episodes of two steps or more.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    except OSError as error:
        raise ConfigError(f"Cannot write {target}: {error.strerror}.") from error
    return done


def _rows(
    trajectory: Trajectory, domain: Domain, generator: np.random.Generator, done: Exported
) -> list[dict[str, Any]]:
    reset = trajectory.reset
    if reset.failure is not None:
        done.left_out["not_opened"] += 1
        return []
    steps = _executed(trajectory, done)
    if any(not _is_real(step) for step in steps):
        done.left_out["simulated"] += 1
        return []
    if any(Injection.recorded(step.flags) is not None for step in steps):
        done.left_out["faulted"] += 1
        return []
    if len(steps) < FEWEST_TURNS:
        done.left_out["too_short"] += 1
        return []
    try:
        spec = domain.simulation(reset.task)
        actions = [domain.wire(reset.task, Action(step.tool, step.arguments, step.command)) for step in steps]
    except Exception as error:  # noqa: BLE001 - a task that cannot be briefed is left out, and counted
        done.left_out[f"domain:{classify(error).kind}"] += 1
        return []
    plain = [
        render_action_turn(i + 1, action, spec.action_fence, state="" if i else spec.state, raw=True)
        for i, action in enumerate(actions)
    ]
    responses = [write_observation_turn(step.observation) for step in steps]
    chosen = sample_turns(len(steps), generator)
    done.rows += len(chosen)
    done.trajectories += 1
    return [
        {
            "task": f"agentworld_envs/{reset.domain}",
            "id": f"{reset.task.id}/{reset.seed}/{trajectory.episode[:12]}",
            "prompt": [*plain[: turn - 1], f"{plain[turn - 1]}\n\n{SUFFIX}", *plain[turn:]],
            "response": responses,
            "current_prompt": plain[turn - 1],
            "system_str": spec.system,
            "turn_idx": turn,
            "total_turns": len(steps),
        }
        for turn in chosen
    ]


def sample_turns(total: int, generator: np.random.Generator) -> list[int]:
    """1-based turns: the first, up to three drawn without replacement between, and the last, in order."""
    between = np.arange(2, total)
    drawn = generator.choice(between, size=min(UNIFORM, len(between)), replace=False)
    return sorted({1, total, *drawn.tolist()})


def _executed(trajectory: Trajectory, done: Exported) -> list[StepLine]:
    """Steps that the environment answered, up to a failure."""
    steps: list[StepLine] = []
    for index, step in enumerate(trajectory.steps):
        # A verdict that could not be had takes nothing from what was observed.
        if step.failure is not None and step.failure.kind != JudgeError.kind:
            done.left_out["turns_after_a_failure"] += len(trajectory.steps) - index
            break
        if step.tool:
            steps.append(step)
        else:
            done.left_out["turns_not_executed"] += 1
    return steps


def _is_real(step: StepLine) -> bool:
    return step.source == "real" or (step.source == "replay" and step.flags.get("recorded_source") == "real")
