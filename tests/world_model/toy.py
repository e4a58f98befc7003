"""A very small domain: a counter that has to reach a number. Big enough for every rule of the interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentworld_envs.interface import (
    Action,
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

SYSTEM = """You are a counter, an environment that an agent acts on. The counter starts at 0.
`add N` adds N and answers "The counter shows X.". `quit` ends the game and answers "Bye.".
Anything else answers "Nothing happens."."""


def make_task(target: int = 3, **initial: Any) -> Task:
    return Task(
        id=f"count-{target}",
        domain="toy",
        instruction=f"Make the counter show {target}.",
        initial_state=initial,
        verifier={"target": target},
        max_steps=20,
    )


class ToyWorld(World):
    def __init__(self, task: Task) -> None:
        self.task = task
        self.value = 0
        self.over = False

    def reset(self) -> str:
        return f"The counter shows 0.\nYour task: {self.task.instruction}"

    def act(self, action: Action) -> str:
        verb, _, rest = action.command.partition(" ")
        if verb == "add" and rest.isdecimal():
            self.value += int(rest)
            return f"The counter shows {self.value}."
        if action.command == "quit":
            self.over = True
            return "Bye."
        return "Nothing happens."

    def evidence(self) -> Evidence:
        return {"value": self.value, "over": self.over}

    def fork(self) -> ToyWorld:
        twin = ToyWorld(self.task)
        twin.value, twin.over = self.value, self.over
        return twin

    def commands(self) -> list[str]:
        return ["add 1", "add 2", "quit"]

    @property
    def ended(self) -> bool:
        return self.over


class ToyTracker(Tracker):
    def __init__(self, task: Task, value: int = 0, over: bool = False) -> None:
        self.task, self.value, self.over = task, value, over

    def observe(self, action: Action, observation: str) -> None:
        if self.task.initial_state.get("broken_tracker"):
            raise RuntimeError("the tracker is broken")
        verb, _, rest = action.command.partition(" ")
        if verb == "add" and rest.isdecimal() and observation == f"The counter shows {self.value + int(rest)}.":
            self.value += int(rest)
        self.over = self.over or (action.command == "quit" and observation == "Bye.")

    def evidence(self) -> Evidence:
        return {"value": self.value, "over": self.over}

    def fork(self) -> ToyTracker:
        return ToyTracker(self.task, self.value, self.over)

    def commands(self) -> list[str]:
        return ["add 1", "add 2", "quit"]

    @property
    def ended(self) -> bool:
        return self.over


class ToyDomain(Domain):
    name = "toy"
    default_tool = "command"
    task_sets = ("default",)

    def tasks(self, name: str | None = None) -> TaskSource:
        return TaskList([make_task(target) for target in range(1, 9)], "default")

    def tools(self, task: Task) -> list[dict[str, Any]]:
        return []

    def instructions(self, task: Task) -> str:
        return "add N, quit"

    def world(self, task: Task) -> World:
        return ToyWorld(task)

    def simulation(self, task: Task) -> SimulationSpec:
        if task.initial_state.get("broken_task"):
            raise TaskError("this task is broken")
        system = task.initial_state.get("system", SYSTEM)
        return SimulationSpec(
            system=system,
            first_observation=ToyWorld(task).reset(),
            prompt_version="toy-1",
            state="The counter shows 0.",
        )

    def tracker(self, task: Task) -> Tracker:
        return ToyTracker(task)

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        success = evidence["value"] == task.verifier["target"]
        return Verdict(float(success), success, success)

    def expert(self, task: Task, world: World) -> Sequence[str]:
        return ["add 1"] * task.verifier["target"]


def act(command: str) -> Action:
    return Action("command", {"command": command}, command)
