"""What a control may be, and which faults it plans."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from agentworld_envs import AgentWorldEnv, ConfigError
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Chance, Control, Every, Fault, Instruction
from agentworld_envs.interface.control import HORIZON
from agentworld_envs.interface.fault import EXPLICIT, IMPLICIT


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("E4", "Unknown control level 'E4'"),
        ("e1", "Did you mean"),
        (5, "Expected control to be a level"),
        (["error"], "Expected control to be a level"),
        ({"level": "E9"}, "level"),
        ({"levle": "E1"}, "Unknown field of a control 'levle'. Did you mean 'level'"),
        ({"kind": "nope"}, "kind"),
        ({"kind": "error", "when": 0}, "counted from 1"),
        ({"kind": "error", "when": []}, "counted from 1"),
        ({"kind": "error", "when": 1.5}, "chance"),
        ({"kind": "error", "when": -0.5}, "chance"),
        ({"kind": "error", "when": {"every": 0}}, "every"),
        ({"kind": "error", "when": True}, "when"),
        ({"kind": "error", "duration": 0}, "duration"),
        ({"kind": "error", "target": "("}, "no regular expression"),
        ({"kind": "error", "target": {"tools": "bash"}}, "tools"),
        ({"level": "E1", "faults": [{"kind": "error"}]}, "not both"),
        ({"level": "E1", "fault_count": 0}, "fault_count"),
        ({"level": "E1", "fault_count": 101}, "fault_count"),
        ({"level": "E1", "fault_duration": 0}, "fault_duration"),
        ({"inject": "instruction"}, "there are none"),
        ({"inject": "magic", "level": "E1"}, "inject"),
        ({"instruction": ""}, "instruction"),
        ({"instruction": [{"text": "x", "first": 3, "last": 2}]}, "before it begins"),
        ({"instruction": 5}, "instruction"),
    ],
)
def test_what_cannot_be_is_an_error_at_construction(given: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AgentWorldEnv("text_world", control=given)
    assert words in str(caught.value)


def test_a_fault_that_cannot_be_is_the_same_error() -> None:
    with pytest.raises(ConfigError, match="counted from 1"):
        Fault(kind="error", when=(2, 0))
    with pytest.raises(ConfigError, match="Unknown field of a fault 'knd'"):
        Fault(knd="error")


@pytest.mark.parametrize("control", [{"level": "E1", "inject": "instruction"}, {"instruction": "Be slow."}])
def test_instructions_need_a_simulator(control: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="world_model"):
        AgentWorldEnv("text_world", backend="real", control=control)
    AgentWorldEnv("text_world", backend="world_model", model="scripted:oracle", control=control).close()


def test_a_recording_refuses(tmp_path: Path) -> None:
    with closing(AgentWorldEnv("text_world", record=tmp_path / "r.jsonl")) as env:
        env.reset(seed=0)
    with pytest.raises(ConfigError, match="recording cannot be controlled"):
        AgentWorldEnv("text_world", backend=f"replay:{tmp_path / 'r.jsonl'}", control="E0")


def test_all_forms_mean_the_same() -> None:
    fault = Fault(kind="error", when=3, target="^ls", duration=2)
    wanted = Control(faults=(fault,))
    data = {"kind": "error", "when": 3, "target": {"command": "^ls"}, "duration": 2}
    for given in (fault, [fault], [data], data, {"faults": [data]}, {"faults": data}, wanted):
        assert Control.of(given) == wanted
    assert Control.of("E2") == Control(level="E2")
    assert Control.of(None) is None
    assert Fault(kind="error", when=0.25).when == Chance(chance=0.25)
    assert Fault(kind="error", when={"every": 4}).when == Every(every=4)
    assert Control(instruction="x") == Control(instruction=[Instruction(text="x")])


@pytest.mark.parametrize(
    "control",
    [
        Control(),
        Control(level="E3", fault_count=5),
        Control(
            faults=[Fault(kind="stale", when=0.5), Fault(kind="error", when={"every": 2}, target={"tool": "bash"})]
        ),
        Control(instruction=["a", {"text": "b", "first": 2, "last": 4}]),
    ],
    ids=str,
)
def test_a_control_survives_json(control: Control) -> None:
    assert Control.of(json.loads(json.dumps(control.describe()))) == control


def test_levels_draw_from_seed_and_task_alone() -> None:
    source = load_domain("text_world").tasks()
    one, other = source[0], source[1]
    control = Control(level="E3", fault_count=4)
    assert control.plan(7, one) == Control(level="E3", fault_count=4).plan(7, one)
    assert len({control.plan(seed, one) for seed in range(20)}) > 15
    assert control.plan(7, one) != control.plan(7, other)


@pytest.mark.parametrize(
    ("level", "allowed"), [("E0", ()), ("E1", EXPLICIT), ("E2", IMPLICIT), ("E3", (*EXPLICIT, *IMPLICIT))]
)
def test_levels_have_their_kinds(level: str, allowed: tuple[str, ...]) -> None:
    task = load_domain("text_world").tasks()[0]
    seen = set()
    for seed in range(40):
        plan = Control.of(level).plan(seed, task)
        seen |= {fault.kind for fault in plan}
        assert len(plan) == (2 if allowed else 0)
        assert all(fault.duration == 2 and 1 <= fault.when[0] <= HORIZON for fault in plan)
        if level == "E3":
            assert len({fault.kind in EXPLICIT for fault in plan}) == 2, "a mixed level has some of each"
    assert seen == set(allowed)
