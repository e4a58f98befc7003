"""`play_shadow`: lets an agent play shadow episodes and keeps what is needed to judge the simulator."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from gymnasium.vector import AutoresetMode
from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.agents import Agent, EpisodeResult, Rollout
from agentworld_envs.backends.shadow import Outcome, ShadowBackend, ShadowSession, StepRecord
from agentworld_envs.interface import Action, Domain, Usage
from agentworld_envs.vector import AgentWorldVectorEnv

StepStatus = Literal["answered", "by_code", "beyond", "failed", "absent"]
"""`answered`: the model gave an observation. `by_code`: the domain's code knew it, and the model was not asked.
`failed`: the simulator failed. `beyond`: one side's own episode was over before (`StepRecord.beyond`). `absent`: one of
the sides was not there any more (it had failed or ended before), or reality failed. Only answered steps enter means."""

_WORD = re.compile(r"(?:[A-Za-z_]\w*=\S* +)*(?P<word>[\w./+-]+)")
_LONGEST_VERB = 24


class ScoredStep(BaseModel):
    """One step without its texts."""

    model_config = ConfigDict(frozen=True)

    step: int
    """1-based, of the actions that reached the backend."""
    verb: str
    """Kind of command: its first word, or the tool."""
    status: StepStatus
    failure: str | None = None
    """Kind of the simulator's failure, where the status is `failed`."""
    unscored: bool = False
    """Both sides answered, but the scorer failed."""
    scores: dict[str, float | None] = Field(default_factory=dict)
    contradictions: int = 0
    """Things that the prediction says against the tracked state."""
    tag_found: bool = False
    tag_closed: bool = False
    empty: bool = False
    cut: bool = False
    """The completion was cut at its longest length."""
    retries: int = 0


class SideOutcome(BaseModel):
    """How one side of an episode came out."""

    model_config = ConfigDict(frozen=True)

    status: Literal["determined", "undetermined", "failed"]
    success: bool = False
    """Only means something when the status is `determined`."""
    failure: str | None = None


class ScoredEpisode(BaseModel):
    """One shadow episode."""

    model_config = ConfigDict(frozen=True)

    index: int
    task_id: str
    seed: int
    steps: list[ScoredStep]
    real: SideOutcome
    simulated: SideOutcome
    """With teacher forcing it is what the tracker made of the real observations."""
    first_difference: int | None
    """First step whose observations are not the same, `None` when there is none."""
    parting: dict[str, Any] | None
    """Where one side ended or failed while the other went on."""
    simulator: dict[str, Any] = Field(default_factory=dict)
    """What the simulated side has cost: fields of `Usage`."""
    failure: str | None
    """Kind of the failure that ended the episode, prefixed with `agent:` when it was the agent's."""


def play_shadow(
    domain: str | Domain,
    backend: ShadowBackend,
    agent: Agent,
    episodes: int,
    *,
    into: list[ScoredEpisode],
    seed: int = 0,
    num_envs: int = 8,
    tasks: Any = None,
    max_steps: int | None = None,
    sandbox: Any = None,
    record: Any = None,
    progress: Callable[[ScoredEpisode], None] | None = None,
) -> None:
    """Play, and put every finished episode into `into`, also when it is interrupted.

    Args:
        backend: stays the caller's to shut down; so does `agent`.
        episodes: how many; episode `i` has seed `seed + i`.
        num_envs: episodes at a time; changes speed, never results.
        tasks, max_steps, sandbox, record: as of `AgentWorldEnv`.
        progress: called with every episode.
    """
    env = AgentWorldVectorEnv(
        domain,
        min(num_envs, episodes),
        backend=backend,
        tasks=tasks,
        max_steps=max_steps,
        sandbox=sandbox,
        record=record,
        autoreset_mode=AutoresetMode.DISABLED,
    )

    def finished(result: EpisodeResult) -> None:
        session = next(e.session for e in env.episodes if e.seed == result.seed)
        scored = _scored(result, session, env.runner.domain)
        into.append(scored)
        if progress is not None:
            progress(scored)

    try:
        Rollout(env, agent, episodes, seed=seed, progress=finished).run()
    finally:
        env.close()
        into.sort(key=lambda episode: episode.index)


def verb_of(action: Action, default_tool: str, *, verbs: bool = True) -> str:
    """Kind of a command, for tables: the tool, or the first word of what the default tool is given.

    Args:
        verbs: whether that word says what is done, see `Domain.verbs`; the tool itself is the kind else.
    """
    if action.tool != default_tool or not verbs:
        return action.tool[:_LONGEST_VERB]
    text = action.command.strip()
    if text.startswith("["):
        return "[]" if text.replace(" ", "") == "[]" else "keystrokes"
    match = _WORD.match(text)
    return match["word"].rpartition("/")[2][:_LONGEST_VERB] or "other" if match is not None else "other"


def _scored(result: EpisodeResult, session: Any, domain: Domain) -> ScoredEpisode:
    shadow = session if isinstance(session, ShadowSession) else None  # the task could not be opened at all
    steps = [_step(record, domain) for record in shadow.records] if shadow is not None else []
    agents = result.status == "agent_failure"
    different = [step.step for step in steps if step.status == "answered" and step.scores.get("exact") == 0.0]
    parting = shadow.parting if shadow is not None else None
    return ScoredEpisode(
        index=result.index,
        task_id=result.task_id,
        seed=result.seed,
        steps=steps,
        real=_outcome(shadow.outcomes.get("real") if shadow else None),
        simulated=_outcome(shadow.outcomes.get("world_model") if shadow else None),
        first_difference=different[0] if different else None,
        simulator=asdict(result.usage.get("simulator", Usage())),
        parting=None if parting is None else {"step": parting.step, "side": parting.side, "why": parting.why},
        failure=f"agent:{result.failure}" if agents else result.failure,
    )


def _step(record: StepRecord, domain: Domain) -> ScoredStep:
    flags, simulated = record.flags, record.simulated
    by_code = not flags.get("finish_reason") and not flags.get("tag_found")
    status: StepStatus
    if simulated is not None and simulated.failure is not None:
        status = "failed"
    elif not record.answered:
        status = "absent"
    elif record.beyond:
        status = "beyond"
    else:
        status = "by_code" if by_code else "answered"
    return ScoredStep(
        step=record.step,
        verb=verb_of(record.action, domain.default_tool, verbs=domain.verbs),
        status=status,
        failure=simulated.failure.kind if simulated is not None and simulated.failure is not None else None,
        unscored=record.scoring_failure is not None,
        scores=dict(record.scores),
        contradictions=len(flags.get("contradictions", ())),
        tag_found=bool(flags.get("tag_found")),
        tag_closed=bool(flags.get("tag_closed")),
        empty=bool(flags.get("empty")),
        cut=flags.get("finish_reason") == "length",
        retries=int(flags.get("retries", 0)),
    )


def _outcome(outcome: Outcome | None) -> SideOutcome:
    if outcome is None or outcome.verdict is None:
        kind = outcome.failure.kind if outcome is not None and outcome.failure is not None else None
        return SideOutcome(status="failed", failure=kind)
    status: Literal["determined", "undetermined"] = "determined" if outcome.verdict.determined else "undetermined"
    return SideOutcome(status=status, success=outcome.verdict.success)
