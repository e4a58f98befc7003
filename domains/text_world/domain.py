"""`TextWorld`: the domain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentworld_envs.domains.text_world.evidence import state_from
from agentworld_envs.domains.text_world.expert import plan
from agentworld_envs.domains.text_world.facts import facts_of
from agentworld_envs.domains.text_world.faults import FAULT_TEXTS
from agentworld_envs.domains.text_world.games import games_at, official_games
from agentworld_envs.domains.text_world.generate import KINDS, SPLITS
from agentworld_envs.domains.text_world.goal import compile_goal
from agentworld_envs.domains.text_world.household import Household
from agentworld_envs.domains.text_world.memory import HouseTracker
from agentworld_envs.domains.text_world.simulation import brief
from agentworld_envs.domains.text_world.tasks import GeneratedTasks
from agentworld_envs.domains.text_world.wording import NOTHING
from agentworld_envs.domains.text_world.world import HouseWorld, command_of
from agentworld_envs.interface import (
    Action,
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

_NAME = r"[a-z]+ [0-9]{1,4}"
_SHAPE = re.compile(
    rf"look|inventory|help|(?:go to|open|close|examine|use) {_NAME}|take {_NAME} from {_NAME}|move {_NAME} to {_NAME}"
    rf"|put {_NAME} in/on {_NAME}|(?:heat|clean|cool|slice) {_NAME} with {_NAME}"
)
_LONGEST = 200

_RULES = """\
You act in one room by short text commands, one per turn. Things are called by a word and a number, such as cabinet 2.
- go to RECEPTACLE: walk there. What lies on it, or in it if it is open, is shown on arrival.
- open RECEPTACLE, close RECEPTACLE: for those with a door or a drawer, when you are there.
- take OBJECT from RECEPTACLE: with empty hands; you can carry one object.
- {place}: put down what you carry.
- clean OBJECT with RECEPTACLE: carrying the object, at a sinkbasin. Likewise heat (microwave) and cool (fridge).
- slice OBJECT with KNIFE: carrying the knife, where the object is.
- use OBJECT: switch on a lamp where you are.
- examine RECEPTACLE or OBJECT: look at a receptacle where you are, or at what you carry.
- look, inventory, help.
A command that is not possible is answered with "Nothing happens."
Search receptacles until you find what the task asks for, and use the exact names that you are shown."""


class TextWorld(Domain):
    """Households in the style of ALFWorld: six types of tasks, generated without end or read from official games.

    `task.initial_state` is a household (see `Household`), `task.verifier["goal"]` a PDDL formula.
    """

    name = "text_world"
    default_tool = "command"
    task_sets = (*SPLITS, "alfworld")
    default_model = "bundled:text_world"

    def tasks(self, name: str | None = None) -> TaskSource:
        """A task source.

        Args:
            name: `train` (default), `valid_seen` or `valid_unseen`, optionally with types of tasks, e.g.
                `train:pick_heat_then_place_in_recep,look_at_obj_in_light`; `alfworld` or `alfworld:SPLIT` for the
                official games below `$ALFWORLD_DATA`; or the path of a `game.tw-pddl` or of a folder of such files.
        """
        name = name or SPLITS[0]
        head, _, rest = name.partition(":")
        if head == "alfworld":
            return official_games(rest or "train", name)
        if head in SPLITS:
            return GeneratedTasks(head, tuple(word.strip() for word in rest.split(",") if word.strip()))
        path = Path(name).expanduser()
        if path.exists():
            return games_at(path)
        raise unknown_name("task set or path", name, [*self.task_sets, *(f"train:{kind}" for kind in KINDS)])

    def tools(self, task: Task) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": "command",
                    "description": "Do one thing in the room.",
                    "parameters": {
                        "type": "object",
                        "properties": {
                            "command": {
                                "type": "string",
                                "description": "One text command, e.g. go to desk 1, or take mug 1 from desk 1.",
                            }
                        },
                        "required": ["command"],
                        "additionalProperties": False,
                    },
                },
            }
        ]

    def instructions(self, task: Task) -> str:
        put = task.initial_state.get("put") is True
        return _RULES.format(place="put OBJECT in/on RECEPTACLE" if put else "move OBJECT to RECEPTACLE")

    def world(self, task: Task) -> HouseWorld:
        home = Household(task.initial_state)
        compile_goal(_goal(task), home)
        return HouseWorld(home.start(), task.instruction)

    def simulation(self, task: Task) -> SimulationSpec:
        return brief(Household(task.initial_state), task.instruction)

    def tracker(self, task: Task) -> HouseTracker:
        home = Household(task.initial_state)
        if compile_goal(_goal(task), home).negates:
            raise TaskError(
                f"The goal of task {task.id!r} asks for something to be absent. A simulated episode cannot show that: "
                "play it with backend='real'."
            )
        return HouseTracker(home)

    def verify(self, task: Task, evidence: Evidence) -> Verdict:
        """1.0 once the goal formula holds, else 0.0; ALFWorld gives no partial credit."""
        live = getattr(evidence, "state", None)
        home = live.home if live is not None else Household(task.initial_state)
        solved = compile_goal(_goal(task), home).holds(state_from(home, evidence))
        return Verdict(score=float(solved), success=solved, done=solved)

    def facts(self, task: Task, action: Action, observation: str) -> dict[str, Any]:
        return facts_of(observation)

    def expert(self, task: Task, world: World) -> list[str]:
        """A short plan from the present state of `world`, which must come from `world`.

        Raises:
            TaskError: the goal cannot be reached from there.
        """
        if not isinstance(world, HouseWorld):
            raise TaskError(f"The expert of text_world plans in its own world; got a {type(world).__name__}.")
        return plan(world.state, compile_goal(_goal(task), world.state.home))

    def refuse(self, task: Task, action: Action) -> str | None:
        command = command_of(action)
        if len(command) <= _LONGEST and _SHAPE.fullmatch(command):
            return None
        return NOTHING

    def fault_text(
        self, task: Task, action: Action, kind: ExplicitKind, history: Sequence[tuple[Action, str]]
    ) -> str | None:
        return FAULT_TEXTS[kind]


def _goal(task: Task) -> str:
    verifier: Mapping[str, Any] = task.verifier
    goal = verifier.get("goal")
    if not isinstance(goal, str):
        raise TaskError(f"Task {task.id!r}: `verifier` needs 'goal', a PDDL formula; found {sorted(verifier)}.")
    return goal
