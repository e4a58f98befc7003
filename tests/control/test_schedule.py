"""When faults are due."""

from __future__ import annotations

from agentworld_envs.backends.control.schedule import Schedule
from agentworld_envs.interface import Action, Fault, Task

TASK = Task(id="t", domain="d", instruction="")


def act(command: str, tool: str = "bash") -> Action:
    return Action(tool, {"command": command}, command)


def hits(fault: Fault, commands: list[str], seed: int = 0) -> list[int]:
    """Steps at which a fault is due, when it always can hit."""
    schedule = Schedule([fault], seed, TASK)
    found = []
    for step, command in enumerate(commands, 1):
        if schedule.due(act(command)):
            schedule.spend(0)
            found.append(step)
    return found


def test_steps_and_duration() -> None:
    assert hits(Fault(kind="error"), ["a"] * 5) == [1]
    assert hits(Fault(kind="error", when=3, duration=2), ["a"] * 6) == [3, 4]
    assert hits(Fault(kind="error", when=(2, 5)), ["a"] * 6) == [2, 5]
    assert hits(Fault(kind="error", when=(2, 3), duration=2), ["a"] * 8) == [2, 3, 4, 5]


def test_a_target_waits_for_its_action() -> None:
    assert hits(Fault(kind="error", when=2, target="^ls"), ["ls", "cd", "cat", "ls x", "ls"]) == [4]
    assert hits(Fault(kind="error", when=1, duration=2, target="^ls"), ["ls", "cd", "ls", "ls"]) == [1, 3]


def test_a_target_may_be_a_tool() -> None:
    schedule = Schedule([Fault(kind="error", target={"tool": "search", "command": "x"})], 0, TASK)
    assert [schedule.due(act(c, t)) for c, t in (("x", "bash"), ("y", "search"), ("x", "search"))] == [[], [], [0]]


def test_every_nth_matching_action() -> None:
    assert hits(Fault(kind="error", when={"every": 3}), ["a"] * 9) == [3, 6, 9]
    assert hits(Fault(kind="error", when={"every": 2}, target="b"), ["a", "b", "a", "b", "b", "b"]) == [4, 6]


def test_chance_is_drawn_from_seed_and_task_alone() -> None:
    fault = Fault(kind="error", when=0.3)
    draws = [hits(fault, ["a"] * 200, seed) for seed in range(5)]
    assert draws == [hits(fault, ["a"] * 200, seed) for seed in range(5)]
    assert len({tuple(draw) for draw in draws}) == 5
    assert 200 < sum(map(len, draws)) < 400
    assert hits(Fault(kind="error", when=1.0), ["a"] * 4) == [1, 2, 3, 4]


def test_what_did_not_hit_stays_due() -> None:
    schedule = Schedule([Fault(kind="stale", when=1)], 0, TASK)
    assert schedule.due(act("a")) == [0]
    assert schedule.due(act("a")) == [0]
    schedule.spend(0)
    assert schedule.due(act("a")) == []


def test_a_fork_is_independent() -> None:
    schedule = Schedule([Fault(kind="error", when=2, duration=3)], 0, TASK)
    for _ in range(2):
        schedule.due(act("a"))
    schedule.spend(0)
    twin = schedule.fork()
    for _ in range(2):
        assert twin.due(act("a")) == [0]
        twin.spend(0)
    assert twin.due(act("a")) == []
    assert schedule.due(act("a")) == [0]
