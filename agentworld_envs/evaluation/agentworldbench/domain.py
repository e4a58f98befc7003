"""`BenchmarkDomain`: trajectories of the benchmark as episodes, for domains that have no world here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from agentworld_envs.backends.world_model.codecs import CODECS, read_user_turn
from agentworld_envs.evaluation.agentworldbench.rows import Row, read_rows
from agentworld_envs.interface import (
    Action,
    ConfigError,
    Domain,
    Evidence,
    SimulationSpec,
    Task,
    TaskError,
    TaskList,
    TaskSource,
    Tracker,
    Verdict,
    World,
)

TOOL: Final = "action"
PARAMETER: Final = "text"
PROMPT_VERSION: Final = "agentworldbench/rows-1"


def as_action(text: str) -> str:
    """An action's text so that the action parser takes it as it is, whatever stands in it."""
    return json.dumps({"name": TOOL, "arguments": {PARAMETER: text}})


class NoTracker(Tracker):
    """Nothing is known of these environments but their turns."""

    def observe(self, action: Action, observation: str) -> None:
        """Nothing to take note of."""

    def evidence(self) -> Evidence:
        return {}

    def fork(self) -> NoTracker:
        return self


class BenchmarkDomain(Domain):
    """Episodes that begin as a trajectory of AgentWorldBench does. There is no real world and no verdict.

    With `backend="replay:FILE"`, FILE written by `record_rows`, a trajectory is stepped as it was recorded; with
    `backend="world_model"` the model goes on from its first state. An action is the text of the domain's own markup:
    `as_action(text)`, or any answer with one fenced block. No reward is ever valid: an episode ends with a failure of
    kind `judge`, which says so, beside its last observation.
    """

    name = "agentworldbench"
    default_tool = TOOL
    multiline = True
    task_sets = ("rows",)
    tracker_knows_all = False

    def tasks(self, name: str | None = None) -> TaskSource:
        """One task for each trajectory of a file or folder of rows.

        Raises:
            ConfigError: no path, or no usable row there.
        """
        if name is None or name in self.task_sets:
            raise ConfigError("Give the path of a benchmark file or folder: tasks='DIR/mcp_test.jsonl'.")
        return TaskList([task_of(rows[-1]) for rows in trajectories(read_rows(name).rows)], name)

    def tools(self, task: Task) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": TOOL,
                    "description": "Do one thing, written as this environment wants it.",
                    "parameters": {
                        "type": "object",
                        "properties": {PARAMETER: {"type": "string", "description": "The action's text."}},
                        "required": [PARAMETER],
                        "additionalProperties": False,
                    },
                },
            }
        ]

    def instructions(self, task: Task) -> str:
        kind = task.initial_state.get("domain", "")
        return (
            f"Answer with one action of the domain {kind!r} in a fenced block, or call the tool {TOOL!r} with its text."
        )

    def world(self, task: Task) -> World:
        raise TaskError("A benchmark trajectory has no real world: use backend='replay:FILE' or 'world_model'.")

    def simulation(self, task: Task) -> SimulationSpec:
        start = task.initial_state
        return SimulationSpec(
            system=start["system"],
            first_observation=first_observation(task),
            prompt_version=PROMPT_VERSION,
            state=start["state"],
            action_fence=start["language"],
        )

    def tracker(self, task: Task) -> NoTracker:
        return NoTracker()

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        """No verdict: the benchmark asks what happens, not whether it is right."""
        return Verdict(0.0, False, determined=False)

    def expert(self, task: Task, world: World) -> Sequence[str]:
        raise TaskError("A benchmark trajectory has no expert; its recorded actions are in the file of `record_rows`.")

    def wire(self, task: Task, action: Action) -> str:
        return str(action.arguments.get(PARAMETER, action.command))


def trajectories(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows by trajectory, in order of their first row; in each, the row that holds the most turns comes last."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.trajectory, []).append(row)
    return [sorted(group, key=lambda row: (len(turns_of(row)), row.turn_idx)) for group in groups.values()]


def turns_of(row: Row) -> list[tuple[str, str]]:
    """User and assistant messages of all turns that the row holds whole."""
    return list(zip(row.prompt, row.response, strict=False))


def task_of(row: Row, domain: str = BenchmarkDomain.name) -> Task:
    """The task of a trajectory: what its first message and its system message say, and no answers."""
    first = read_user_turn(row.prompt[0])
    codec = CODECS.get(row.domain)
    return Task(
        id=f"{row.id}@{row.trajectory[:8]}",
        domain=domain,
        instruction=first.instruction,
        initial_state={
            "domain": row.domain,
            "system": row.system_str,
            "state": first.state,
            "language": first.language or (codec.language if codec else "text"),
        },
        max_steps=max(1, len(turns_of(row))),
        tags=("agentworldbench", row.domain),
    )


def first_observation(task: Task) -> str:
    """What the agent sees at the start: the instruction and the first screen, as far as the row has them."""
    return "\n\n".join(part for part in (task.instruction, task.initial_state["state"]) if part)
