"""Sandboxes for the tests of this domain: of every kind that works here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

import pytest

from agentworld_envs import AgentWorldEnv
from agentworld_envs.backends.sandbox import sandbox_config
from agentworld_envs.backends.sandbox.machines import probe
from agentworld_envs.domains.terminal.scenario import InitialState, file
from agentworld_envs.interface import Task

USABLE: dict[str, str] = {}


def need(kind: str) -> None:
    """Skip, or fail where the kind is required, when it does not work here."""
    if kind not in USABLE:
        usability = probe(sandbox_config(kind))
        USABLE[kind] = "" if usability.usable else f"{usability.why} {usability.what_to_do}"
    if USABLE[kind]:
        required = kind in os.environ.get("AGENTWORLD_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"no {kind} sandboxes here: {USABLE[kind]}")


@pytest.fixture(params=["namespace", "docker"])
def kind(request: pytest.FixtureRequest) -> str:
    """Every kind of sandbox."""
    need(request.param)
    return str(request.param)


def a_task(task_id: str = "t", **fields: object) -> Task:
    """A small task: write 42 into /workspace/answer.txt, and leave data.txt alone."""
    start = InitialState(files={"/workspace/data.txt": file("40\n2\n"), "/workspace/sub/x.sh": file("echo x\n")})
    given: dict[str, object] = {
        "id": task_id,
        "domain": "terminal",
        "instruction": "Add the numbers in data.txt, and write the sum into /workspace/answer.txt.",
        "initial_state": start.model_dump(mode="json", exclude_defaults=True),
        "verifier": {
            "checks": [
                {"kind": "file", "path": "/workspace/answer.txt", "text": "42"},
                {"kind": "file", "path": "/workspace/data.txt", "text": "40\n2\n"},
            ]
        },
        "hidden": {"solution": ["awk '{s += $1} END {print s}' data.txt > answer.txt"]},
    }
    return Task.model_validate({**given, **fields})


@pytest.fixture
def env(kind: str) -> Iterator[AgentWorldEnv]:
    """An environment with that one task."""
    with closing(AgentWorldEnv("terminal", tasks=[a_task()], sandbox=kind)) as made:
        yield made
