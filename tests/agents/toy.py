"""A domain for tests: a counter that has to reach its target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentworld_envs.interface import (
    Action,
    Domain,
    Evidence,
    SandboxError,
    SimulationSpec,
    Task,
    TaskError,
    TaskSource,
    Tracker,
    Verdict,
    World,
    unknown_name,
)


class ToyTasks(TaskSource):
    """Task `i` wants the counter at `1 + i % 5`. `broken` ones cannot be opened, `fragile` ones fail at step 2."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def size(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Task:
        target = 1 + index % 5
        return Task(
            id=f"toy/{index}",
            domain="toy",
            instruction=f"Count to {target}.",
            initial_state={
                "broken": self.name == "broken" and index % 2 == 0,
                "fragile": self.name == "fragile" and index % 2 == 0,
                "silent": self.name == "silent",
            },
            verifier={"target": target},
            max_steps=8,
        )

    def find(self, task_id: str) -> Task:
        return self[int(task_id.removeprefix("toy/"))]


class ToyWorld(World):
    def __init__(self, task: Task) -> None:
        self.task, self.count, self.steps = task, 0, 0

    def reset(self) -> str:
        if self.task.initial_state["broken"]:
            raise TaskError("This toy is broken.")
        return f"The counter is 0. {self.task.instruction}"

    def act(self, action: Action) -> str:
        self.steps += 1
        if self.task.initial_state["fragile"] and self.steps == 2:
            raise SandboxError("The toy fell down.")
        self.count += {"up": 1, "down": -1}.get(action.command, 0)
        return f"The counter is {self.count}."

    def evidence(self) -> Evidence:
        return {"count": self.count}

    def fork(self) -> ToyWorld:
        twin = ToyWorld(self.task)
        twin.count, twin.steps = self.count, self.steps
        return twin

    def commands(self) -> list[str]:
        return [] if self.task.initial_state["silent"] else ["down", "up", "wait"]


class ToyTracker(Tracker):
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def observe(self, action: Action, observation: str) -> None:
        change = {"up": 1, "down": -1}.get(action.command, 0)
        if observation == f"The counter is {self.count + change}.":
            self.count += change

    def evidence(self) -> Evidence:
        return {"count": self.count}

    def fork(self) -> ToyTracker:
        return ToyTracker(self.count)


class ToyDomain(Domain):
    name = "toy"
    default_tool = "command"
    task_sets = ("train", "broken", "fragile", "silent")

    def tasks(self, name: str | None = None) -> ToyTasks:
        if (name or "train") not in self.task_sets:
            raise unknown_name("task set", name, self.task_sets)
        return ToyTasks(name or "train")

    def tools(self, task: Task) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
        return [{"type": "function", "function": {"name": "command", "description": "Act.", "parameters": parameters}}]

    def instructions(self, task: Task) -> str:
        return "Commands: up, down, wait."

    def world(self, task: Task) -> ToyWorld:
        return ToyWorld(task)

    def simulation(self, task: Task) -> SimulationSpec:
        return SimulationSpec("You are a counter.", f"The counter is 0. {task.instruction}", "toy-1")

    def tracker(self, task: Task) -> ToyTracker:
        return ToyTracker()

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        target = task.verifier["target"]
        solved = evidence["count"] == target
        return Verdict(max(0.0, min(1.0, evidence["count"] / target)), solved, done=solved)

    def expert(self, task: Task, world: World) -> Sequence[str]:
        return ["up"] * int(task.verifier["target"])
