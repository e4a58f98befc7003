"""`Terminal`: the domain."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agentworld_envs.domains.terminal.checks import Check, RunCheck, parse_checks
from agentworld_envs.domains.terminal.clock import NOW
from agentworld_envs.domains.terminal.command import Kind, read
from agentworld_envs.domains.terminal.facts import facts_of
from agentworld_envs.domains.terminal.families import FAMILIES
from agentworld_envs.domains.terminal.faults import fault_text, output_span
from agentworld_envs.domains.terminal.folders import tasks_at
from agentworld_envs.domains.terminal.keystrokes import Malformed, Stroke, render_strokes
from agentworld_envs.domains.terminal.scenario import WRITABLE, InitialState
from agentworld_envs.domains.terminal.simulation import brief
from agentworld_envs.domains.terminal.tasks import SPLITS, GeneratedTasks
from agentworld_envs.domains.terminal.tracker import TerminalTracker
from agentworld_envs.domains.terminal.world import COMMAND_SECONDS, TerminalWorld
from agentworld_envs.interface import (
    Action,
    ConfigError,
    Domain,
    Evidence,
    SimulationSpec,
    Task,
    TaskError,
    TaskSource,
    Verdict,
    World,
    unknown_name,
)
from agentworld_envs.interface.fault import ExplicitKind

_RULES = f"""\
You work on a Linux machine without network, as an ordinary user. Two ways to act, one action per turn:
- a shell command: bare when it is one line, in a fenced block when it has several. The shell keeps its folder and \
variables between commands. Standard input is empty; a command is stopped after {COMMAND_SECONDS:.0f} seconds.
- a JSON list of keystrokes, typed into a terminal of 40 lines with a shell of its own, for programs that want one: \
[{{"keystrokes": "ls -la\\n", "duration": 0.5}}]. Keys are typed as they are written, "\\n" is Enter; C-c, C-d, C-z \
and alike, as an entry of their own, are control keys. "duration" is how many seconds to wait at most before the \
screen is looked at; an entry with empty keystrokes only waits. You see the screen after the last entry.
When the task is done, answer with an empty list [] and confirm it with another one. Only then the state of the \
machine is checked; what you say does not count."""
_NOW = f"{int(NOW.timestamp())} +0000"
_PLAIN = re.compile(r"[^<{\[`\n\r\0]+")


class Terminal(Domain):
    """A shell on a machine of its own. Tasks are checked by the state in which the machine is left.

    `task.initial_state` is an `InitialState`, `task.verifier["checks"]` a list of checks (see `checks`).
    """

    name = "terminal"
    default_tool = "bash"
    multiline = True
    task_sets = SPLITS
    needs_sandbox = True
    tracker_knows_all = False
    sandbox_kinds = ("namespace", "docker")
    sandbox_settings = {
        "limits": {"output_cap": 16_384, "memory_mb": 1024, "disk_mb": 512},
        "env": {"GIT_AUTHOR_DATE": _NOW, "GIT_COMMITTER_DATE": _NOW},  # else no two runs would have the same hashes
        "writable": WRITABLE,
    }

    def tasks(self, name: str | None = None) -> TaskSource:
        """A task source.

        Args:
            name: `train` (default), `valid` or `test`, optionally with levels and families, e.g. `train@1,2` or
                `test@3:log_analysis,archives`; or the path of a folder of tasks (see `folders`), one's own or those of
                Harbor and Terminal-Bench.
        """
        name = name or SPLITS[0]
        generated = GeneratedTasks.named(name)
        if generated is not None:
            return generated
        path = Path(name).expanduser()
        if path.is_dir():
            return tasks_at(path)
        if path.exists():
            raise ConfigError(f"Expected a folder of tasks, and {name!r} is a file.")
        raise unknown_name("task set or path", name, [*SPLITS, *(f"train:{family}" for family in FAMILIES)])

    def tools(self, task: Task) -> list[dict[str, Any]]:
        return [
            _tool(
                "bash",
                "Run a command in the shell and see what it prints.",
                {"command": {"type": "string", "description": "Shell text of one or several lines."}},
            ),
            _tool(
                "keystrokes",
                "Type into the terminal, wait, and see its screen. An empty list declares that the task is done.",
                {
                    "keys": {
                        "type": "array",
                        "description": "What to type, in order.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "keystrokes": {"type": "string", "description": 'Keys; "\\n" is Enter.'},
                                "duration": {"type": "number", "description": "Seconds to wait; 1 when not given."},
                            },
                            "required": ["keystrokes"],
                        },
                    }
                },
            ),
            _tool("submit", "Declare that the task is done. Ends the session at once.", {}),
        ]

    def instructions(self, task: Task) -> str:
        return _RULES

    def world(self, task: Task) -> TerminalWorld:
        if self.machines is None:
            raise ConfigError(
                "The terminal needs sandboxes: build the environment with gym.make, or set `domain.machines`, e.g. to "
                "SharedMachines() of agentworld_envs.backends.sandbox."
            )
        return TerminalWorld(self.machines, _start(task), task.instruction, _checks(task))

    def simulation(self, task: Task) -> SimulationSpec:
        return brief(_start(task), task.instruction)

    def tracker(self, task: Task) -> TerminalTracker:
        return TerminalTracker(_start(task), _checks(task))

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        """1.0 when all checks hold at the end, else 0.0, or the credit that a program of the task's gives.

        Before the end there is no verdict to be had.
        """
        if not evidence.get("final"):
            return Verdict(0.0, False)
        checks = _checks(task)
        results = [check.holds(evidence) for check in checks]
        solved = all(result is True for result in results)
        score = float(solved)
        open_ = [check for check, result in zip(checks, results, strict=True) if result is not True]
        if len(open_) == 1 and isinstance(open_[0], RunCheck):
            score = open_[0].credit(evidence) or 0.0
        determined = solved or False in results or bool(evidence.get("complete"))
        return Verdict(score, solved, done=True, determined=determined)

    def facts(self, task: Task, action: Action, observation: str) -> dict[str, Any]:
        return facts_of(read(action), observation)

    def explain(self, task: Task, evidence: Evidence) -> list[str]:
        words = {True: "holds", False: "DOES NOT HOLD", None: "cannot be told"}
        return [
            f"{words[check.holds(evidence)]}: {check.kind} {check.about}{_seen(check, evidence)}"
            for check in _checks(task)
        ]

    def expert(self, task: Task, world: World) -> list[str]:
        """The solution that the task's author wrote, from the start of the episode.

        Raises:
            TaskError: the task has none.
        """
        solution = task.hidden.get("solution")
        if not isinstance(solution, list) or not solution:
            raise TaskError(f"Task {task.id!r} has no solution: its `solution`, a list of commands, is missing.")
        return [*(_as_action(command) for command in solution), "[]", "[]"]

    def refuse(self, task: Task, action: Action) -> str | None:
        try:
            read(action)
        except Malformed as error:
            return str(error)
        return None

    def wire(self, task: Task, action: Action) -> str:
        command = read(action)
        if command.kind is Kind.RUN:
            return render_strokes([Stroke(command.text + "\n", 1.0)])
        return render_strokes(list(command.strokes))

    def fault_text(
        self, task: Task, action: Action, kind: ExplicitKind, history: Sequence[tuple[Action, str]]
    ) -> str | None:
        return fault_text(action, kind, history, _start(task).cwd)

    def fault_span(self, task: Task, action: Action, observation: str) -> tuple[int, int]:
        return output_span(action, observation)


def _seen(check: Check, evidence: Evidence) -> str:
    """What was found where a check does not hold."""
    if check.holds(evidence) is True:
        return ""
    if isinstance(check, RunCheck):
        run = evidence.get("runs", {}).get(check.key, {})
        return (
            f"\n    exit code {run.get('exit_code')}, printed {run.get('stdout', '')[-300:]!r}{run.get('stderr', '')}"
        )
    found = evidence.get("paths", {}).get(check.about)
    return f"\n    found {str(found)[:300]}"


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
    }


def _as_action(command: str) -> str:
    """A command so that the action parser reads exactly it."""
    if _PLAIN.fullmatch(command) and command == command.strip():
        return command
    return json.dumps({"name": "bash", "arguments": {"command": command}}, ensure_ascii=False)


def _start(task: Task) -> InitialState:
    try:
        return InitialState.model_validate(task.initial_state)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise TaskError(f"Task {task.id!r}: initial_state is not valid at {where}: {first['msg']}.") from error


def _checks(task: Task) -> tuple[Check, ...]:
    return parse_checks(task.verifier.get("checks", []), task.id)
