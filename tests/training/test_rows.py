"""Rows for a world model: what the backend asks at inference, and the answer that it would read back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain
from training.support import EVIL, EvilDomain, RecallingDomain, a_task, played

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv, ConfigError
from agentworld_envs.agents import ExpertAgent, NoisyExpert, Rollout
from agentworld_envs.backends.world_model import (
    GenerationRequest,
    Message,
    ScriptedEngine,
    WorldModelBackend,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import HEADER, defuse, parse_prediction, wrap
from agentworld_envs.backends.world_model.prompts import SUFFIX
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import Domain
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.rows import RowSettings, WorldModelRows
from agentworld_envs.trajectories import Trajectory, read_trajectories


def asked(trajectory: Trajectory, domain: Domain, tracked_state: bool) -> list[tuple[Message, ...]]:
    """What the world-model backend asks a model that answers as recorded."""
    requests: list[tuple[Message, ...]] = []

    def script(request: GenerationRequest) -> str:
        requests.append(request.messages)
        session: Any = request.session
        return wrap(recorded[len(session.history)])

    recorded = [step.observation for step in trajectory.steps if step.tool]
    config = WorldModelConfig.of(model="scripted:empty", tracked_state=tracked_state)
    backend = WorldModelBackend(ScriptedEngine(script), config)
    env = AgentWorldEnv(domain, backend=backend, max_steps=trajectory.reset.max_steps)
    with closing(env):
        env.reset(seed=trajectory.reset.seed, options={"task": trajectory.reset.task})
        for step in trajectory.steps:
            failure = env.step(step.action)[4]["failure"]
            assert failure is None or failure.kind == "judge", "only whether it is solved may be unknown"
    return requests


def check_equal(trajectory: Trajectory, domain: Domain, tracked_state: bool = False) -> int:
    """Assert the contract, for every turn that a model is asked; returns how many they are."""
    settings = RowSettings(mask=False, tracked_state=tracked_state)
    report = DataReport()
    rows = list(WorldModelRows(settings, domain).build(trajectory, report))
    assert [row.messages[:-1] for row in rows] == asked(trajectory, domain, tracked_state)
    for row in rows:
        assert row.loss == (*[0.0] * (len(row.messages) - 1), 1.0)
        assert [message.role for message in row.messages[:2]] == ["system", "user"]
        assert row.messages[-2].content.endswith(SUFFIX)
        assert not any(SUFFIX in message.content for message in row.messages[:-2])
        recorded = trajectory.steps[row.turn - 1].observation
        assert parse_prediction(row.messages[-1].content).text == defuse(recorded)
    return len(rows)


def test_text_world_rows_are_what_the_backend_asks(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    env = AgentWorldVectorEnv("text_world", 4, record=path, autoreset_mode="Disabled", max_steps=12)
    with closing(env):
        Rollout(env, NoisyExpert(0.3, 1), 6, seed=3).run()
    trajectories = read_trajectories(path)
    # Distinct turns only: those that are dropped have no row.
    counts = [check_equal(t, load_domain("text_world")) for t in trajectories if _all_learned(t)]
    assert sum(counts) > 15


def _all_learned(trajectory: Trajectory) -> bool:
    report = DataReport()
    list(WorldModelRows(RowSettings(mask=False)).build(trajectory, report))
    return not report.turns_dropped.total() and not report.episodes_dropped


def test_tracked_state_is_in_the_last_message_as_the_backend_has_it(tmp_path: Path) -> None:
    domain = RecallingDomain()
    trajectory = played(domain, ["up", "down", "down", "up", "up"], tmp_path / "t.jsonl", task=a_task())
    assert check_equal(trajectory, domain, tracked_state=True) == 5
    rows = list(WorldModelRows(RowSettings(mask=False, tracked_state=True), domain).build(trajectory, DataReport()))
    assert "The counter is -1 before up." in rows[3].messages[-2].content
    assert "before" not in "".join(message.content for message in rows[3].messages[:-2])


def test_what_code_answers_is_history_and_no_row(tmp_path: Path) -> None:
    domain = RecallingDomain()
    trajectory = played(domain, ["up", "wait", "down"], tmp_path / "t.jsonl", task=a_task())
    assert check_equal(trajectory, domain) == 2
    report = DataReport()
    rows = list(WorldModelRows(RowSettings(mask=False), domain).build(trajectory, report))
    assert report.turns_dropped["answered_by_code"] == 1
    assert f"{HEADER}\nThe counter is 1." in [message.content for message in rows[-1].messages]


def test_rejected_actions_are_unknown_to_the_world_model(tmp_path: Path) -> None:
    trajectory = played(ToyDomain(), ["up", "", "down"], tmp_path / "t.jsonl", task=a_task())
    assert check_equal(trajectory, ToyDomain()) == 2


@pytest.mark.parametrize("text", EVIL, ids=range(len(EVIL)))
def test_the_worst_observations_survive(text: str, tmp_path: Path) -> None:
    task = a_task("evil")
    trajectory = played(EvilDomain(), ["up"] * len(EVIL), tmp_path / "t.jsonl", task=task)
    rows = list(WorldModelRows(RowSettings(mask=False), EvilDomain()).build(trajectory, DataReport()))
    row = next(row for row in rows if row.turn == EVIL.index(text) + 1)
    encodable, replaced = row.encodable()
    answer = encodable.messages[-1].content
    answer.encode()
    expected = defuse(text).replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    assert parse_prediction(answer).text == expected
    assert "<|" not in answer
    assert (replaced > 0) == any("\ud800" in step.observation for step in trajectory.steps[: row.turn])


def test_the_worst_observations_are_asked_as_the_backend_asks(tmp_path: Path) -> None:
    trajectory = played(EvilDomain(), ["up"] * len(EVIL), tmp_path / "t.jsonl", task=a_task("evil"))
    assert check_equal(trajectory, EvilDomain()) == len(EVIL)


def test_a_row_of_an_episode_is_its_last_question_with_weights(tmp_path: Path) -> None:
    trajectory = played(ToyDomain(), ["up", "wait", "wait", "down", "wait"], tmp_path / "t.jsonl", task=a_task())
    (row,) = WorldModelRows(RowSettings("trajectory", mask=False), ToyDomain()).build(trajectory, DataReport())
    turns = list(WorldModelRows(RowSettings("turn", mask=False), ToyDomain()).build(trajectory, DataReport()))
    assert row.messages == turns[-1].messages
    roles = [message.role for message in row.messages]
    assert roles == ["system", *["user", "assistant"] * 5]
    # The third turn repeats the second.
    assert [weight for weight, role in zip(row.loss, roles, strict=True) if role == "assistant"] == [1, 1, 0, 1, 1]
    assert not any(weight for weight, role in zip(row.loss, roles, strict=True) if role != "assistant")
    assert len(row.mask_class) == len(row.messages)


def test_masked_turns_have_no_weight(tmp_path: Path) -> None:
    actions = ["up"] * 30
    trajectory = played(ToyDomain(), actions, tmp_path / "t.jsonl", task=a_task())
    report, episode = DataReport(), DataReport()
    turns = list(WorldModelRows(RowSettings(), ToyDomain()).build(trajectory, report))
    rows = list(WorldModelRows(RowSettings("trajectory"), ToyDomain()).build(trajectory, episode))
    assert report.to_dict() == episode.to_dict()
    assert report.turns_masked
    assert sum(sum(row.loss) for row in rows) == len(turns) == report.turns_kept.total()
    again = list(WorldModelRows(RowSettings(), ToyDomain()).build(trajectory, DataReport()))
    assert again == turns


def test_hidden_answers_are_in_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    env = AgentWorldVectorEnv("text_world", 1, record=path, autoreset_mode="Disabled")
    with closing(env):
        Rollout(env, ExpertAgent(), 3).run()
    for trajectory in read_trajectories(path):
        secret = trajectory.reset.task.verifier["goal"]
        for row in WorldModelRows(RowSettings(mask=False)).build(trajectory, DataReport()):
            assert secret not in "".join(message.content for message in row.messages)
            assert trajectory.reset.task.instruction not in row.messages[0].content


def test_a_task_that_cannot_be_simulated_is_counted(tmp_path: Path) -> None:
    class Unsimulable(ToyDomain):
        def simulation(self, task: Any) -> Any:
            raise ValueError("no words for it")

    trajectory = played(ToyDomain(), ["up", "down"], tmp_path / "t.jsonl", task=a_task())
    report = DataReport()
    assert not list(WorldModelRows(domain=Unsimulable()).build(trajectory, report))
    assert report.episodes_dropped == {"not_simulable:internal": 1}


@pytest.mark.parametrize(
    ("fields", "message"), [({"unit": "row"}, "'turn' or 'trajectory'"), ({"seed": -1}, "at least 0")]
)
def test_settings_that_cannot_be(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RowSettings(**fields)
