"""`CounterDomain`: the smallest domain that uses every part of the interface.

For tests of backends, rewards and adapters that should not depend on a real domain, and to read before writing one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentworld_envs.interface import (
    Action,
    Domain,
    Evidence,
    SimulationSpec,
    Task,
    TaskList,
    TaskSource,
    Tracker,
    Verdict,
    World,
    unknown_name,
)

_COMMAND = re.compile(r"add (\d{1,4})|look|give up")


class CounterState:
    """What the world is and what a tracker believes: a number, and whether the agent gave up."""

    def __init__(self, value: int = 0, over: bool = False) -> None:
        self.value = value
        self.over = over

    def act(self, command: str) -> str:
        """Apply a command and return what the environment says. Giving up ends it, and costs what was reached."""
        if command.startswith("add "):
            self.value += int(command[4:])
        elif command == "give up":
            self.value, self.over = 0, True
            return "You gave up, and the counter shows 0."
        return f"The counter shows {self.value}."

    def evidence(self) -> Evidence:
        return {"value": self.value}

    def copy(self) -> CounterState:
        return CounterState(self.value, self.over)


class CounterWorld(World):
    """The real dynamics."""

    def __init__(self, task: Task, state: CounterState | None = None) -> None:
        self.task = task
        self.state = state or CounterState(task.initial_state["value"])

    def reset(self) -> str:
        return f"The counter shows {self.state.value}. {self.task.instruction}"

    def act(self, action: Action) -> str:
        return self.state.act(action.command)

    def evidence(self) -> Evidence:
        return self.state.evidence()

    def fork(self) -> CounterWorld:
        return CounterWorld(self.task, self.state.copy())

    def commands(self) -> list[str]:
        return ["add 1", "add 2", "give up", "look"]

    @property
    def ended(self) -> bool:
        return self.state.over


class CounterTracker(Tracker):
    """What the simulator has shown: a command counts only when its answer is the right acknowledgement."""

    def __init__(self, state: CounterState) -> None:
        self.state = state

    def observe(self, action: Action, observation: str) -> None:
        after = self.state.copy()
        if after.act(action.command) == observation.strip():
            self.state = after

    def evidence(self) -> Evidence:
        return self.state.evidence()

    def fork(self) -> CounterTracker:
        return CounterTracker(self.state.copy())

    def commands(self) -> list[str]:
        return ["add 1", "add 2", "give up", "look"]

    @property
    def ended(self) -> bool:
        return self.state.over


class CounterDomain(Domain):
    """Reach a number by adding. Twenty tasks, `count-1` to `count-20`."""

    name = "counter"
    default_tool = "command"
    task_sets = ("all",)

    def tasks(self, name: str | None = None) -> TaskSource:
        if name not in (None, *self.task_sets):
            raise unknown_name("task set", name, self.task_sets)
        return TaskList([self.task(target) for target in range(1, 21)], "all")

    @staticmethod
    def task(target: int) -> Task:
        """The task to reach `target` from 0."""
        return Task(
            id=f"count-{target}",
            domain="counter",
            instruction=f"Make it show {target}.",
            initial_state={"value": 0},
            verifier={"target": target},
            max_steps=30,
        )

    def tools(self, task: Task) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        function = {"name": "command", "description": "Send one command to the counter.", "parameters": parameters}
        return [{"type": "function", "function": function}]

    def instructions(self, task: Task) -> str:
        return "Commands: `add N`, `look`, `give up`."

    def world(self, task: Task) -> World:
        return CounterWorld(task)

    def simulation(self, task: Task) -> SimulationSpec:
        return SimulationSpec(
            system=(
                f"You are a counter that shows {task.initial_state['value']}. `add N` adds N. After every command but "
                "`give up` (answer: You gave up, and the counter shows 0.) you answer: The counter shows X."
            ),
            first_observation=CounterWorld(task).reset(),
            prompt_version="counter/1",
        )

    def tracker(self, task: Task) -> Tracker:
        return CounterTracker(CounterState(task.initial_state["value"]))

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        value, target = evidence["value"], task.verifier["target"]
        return Verdict(min(value, target) / target, value == target, done=value >= target)

    def expert(self, task: Task, world: World) -> Sequence[str]:
        return ["add 1"] * max(task.verifier["target"] - world.evidence()["value"], 0)

    def refuse(self, task: Task, action: Action) -> str | None:
        return None if _COMMAND.fullmatch(action.command) else "The counter ignores you."
