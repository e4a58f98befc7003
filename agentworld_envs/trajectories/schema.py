"""The lines of a trajectory file.

A file is JSONL: one `reset` line opens an episode, one `step` line per step, one `close` line when it was released.
Lines of several episodes (of several processes) may interleave; `episode` ties them together. A forked episode opens
with a `fork` line that names the episode and step that it continues.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.interface import Source, Task

SCHEMA_VERSION = 1


class Line(BaseModel):
    """What all lines share."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    episode: str
    """Unique name of the episode."""


class FailureRecord(BaseModel):
    """A `Failure` in JSON."""

    model_config = ConfigDict(frozen=True)

    kind: str
    message: str
    retryable: bool


class ResetLine(Line):
    """Start of an episode."""

    type: Literal["reset"] = "reset"
    version: int = SCHEMA_VERSION
    domain: str
    backend: dict[str, Any]
    """What the backend says of itself: name, model, revision, sandbox."""
    reward: str
    task: Task
    """The whole task, with verifier and hidden answers: do not hand recordings to an agent."""
    seed: int
    max_steps: int
    observation: str
    instructions: str = ""
    tools: list[dict[str, Any]] = Field(default_factory=list)
    admissible_commands: list[str] = Field(default_factory=list)
    failure: FailureRecord | None = None


class ForkLine(Line):
    """Start of an episode that continues another one."""

    type: Literal["fork"] = "fork"
    parent: str
    """Episode that was forked."""
    step: int = Field(ge=0)
    """Steps of the parent that belong to this episode too."""


class StepLine(Line):
    """One step."""

    type: Literal["step"] = "step"
    step: int = Field(ge=1)
    action: str
    """What the agent wrote, cut just above the parser's limit."""
    tool: str = ""
    """Tool that reached the backend; empty when the action was rejected or refused."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    command: str
    observation: str
    reward: float
    terminated: bool
    truncated: bool
    source: Source
    action_valid: bool
    admissible_commands: list[str] = Field(default_factory=list)
    score: float
    success: bool
    reward_valid: bool
    failure: FailureRecord | None = None
    usage: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Ledger of this step: line -> tokens, seconds, cost."""
    flags: dict[str, Any] = Field(default_factory=dict)
    """How a simulated observation was obtained."""


class CloseLine(Line):
    """An episode was released, finished or not."""

    type: Literal["close"] = "close"
    steps: int
    score: float
    success: bool
    terminated: bool
    truncated: bool
    reward_valid: bool
    failure: FailureRecord | None = None
    """Also a failure that came from outside, between two steps."""


AnyLine = ResetLine | ForkLine | StepLine | CloseLine
LINE_TYPES: dict[str, type[AnyLine]] = {"reset": ResetLine, "fork": ForkLine, "step": StepLine, "close": CloseLine}
