"""A simulator that does what it is told, and what tests of control share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from terminal.conftest import a_task, need

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.control.alter import MORE
from agentworld_envs.backends.control.wording import told
from agentworld_envs.backends.world_model import GenerationRequest, ScriptedEngine, WorldModelBackend, WorldModelConfig
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.backends.world_model.engines.scripted import SCRIPTS
from agentworld_envs.backends.world_model.prompts import INSTRUCTION
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Task
from agentworld_envs.interface.fault import EXPLICIT, FaultKind
from agentworld_envs.testing.play import expert_plan

MESSAGES: dict[FaultKind, str] = {
    "error": "Internal error.",
    "timeout": "Error: the request timed out.",
    "server_error": "503 Service Unavailable",
}
DOMAINS = ("text_world", "terminal")


def the_task(domain: str) -> Task:
    """A small task of a domain."""
    if domain == "terminal":
        need("namespace")
        return a_task()
    return load_domain(domain).tasks()[3]


def commands_of(domain: str) -> list[str]:
    """Actions of that task whose answers have something that can go wrong; the last ones solve it."""
    if domain == "terminal":
        return ["ls -a", "ls", "echo 42 > answer.txt", "[]", "[]"]
    with_room = AgentWorldEnv(domain, tasks=[the_task(domain)])
    try:
        with_room.reset(seed=0)
        plan = expert_plan(with_room)
    finally:
        with_room.close()
    return ["look", "inventory", plan[0], "look", *plan]


class Obedient:
    """The real world behind a simulator that makes the faults that it is told to make."""

    def __init__(self, obeys: Callable[[FaultKind], bool] = lambda kind: True) -> None:
        self.requests: list[GenerationRequest] = []
        """What it was asked."""
        self._obeys = obeys

    def __call__(self, request: GenerationRequest) -> str:
        self.requests.append(request)
        session: Any = request.session
        before = session.history[-1].observation if session.history else ""
        real = SCRIPTS["oracle"](request)
        assert isinstance(real, str)
        last = request.messages[-1].content
        kind = next((kind for kind in KINDS if told(kind) in last), None)
        if kind is None or not self._obeys(kind):
            return real
        assert INSTRUCTION in last
        if kind in EXPLICIT:
            return wrap(MESSAGES[kind])
        if kind == "stale":
            return wrap(before)
        text = real.removeprefix(wrap("").split("\n\n")[0] + "\n").removesuffix("\n</predicted_observation>")
        return wrap(f"{text}\n{MORE}" if kind == "pagination" else text[: len(text) // 2])

    def backend(self, **fields: Any) -> WorldModelBackend:
        """A backend on it."""
        return WorldModelBackend(ScriptedEngine(self), WorldModelConfig(model="scripted:oracle", **fields))


KINDS: tuple[FaultKind, ...] = (
    "error",
    "timeout",
    "server_error",
    "truncated_data",
    "missing_field",
    "stale",
    "pagination",
    "partial_failure",
)
