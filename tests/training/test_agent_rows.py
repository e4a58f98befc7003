"""Rows for an agent: what `LLMAgent` asks its model, and an answer that the environment reads as the same action."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from agents.toy import ToyDomain
from training.support import a_task, played

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv
from agentworld_envs.agents import LLMAgent, NoisyExpert, Rollout
from agentworld_envs.agents.noisy import slips
from agentworld_envs.backends.world_model import GenerationRequest, Message, ScriptedEngine
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import ConfigError
from agentworld_envs.parsing import ActionParser
from agentworld_envs.training.agent_rows import AgentRows
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.rows import RowSettings
from agentworld_envs.trajectories import Trajectory, read_trajectories


def noisy_episodes(path: Path, episodes: int = 8, epsilon: float = 0.3, num_envs: int = 4) -> list[Trajectory]:
    env = AgentWorldVectorEnv("text_world", num_envs, record=path, autoreset_mode="Disabled")
    with closing(env):
        Rollout(env, NoisyExpert(epsilon, 5), episodes).run()
    return sorted(read_trajectories(path), key=lambda trajectory: trajectory.reset.seed)


def test_rows_are_what_the_agent_asks_and_answers(tmp_path: Path) -> None:
    path, domain = tmp_path / "t.jsonl", ToyDomain()
    task = a_task(target=3)
    requests: list[tuple[Message, ...]] = []
    actions = [
        "<think>hm</think><action>down</action>",
        "<action>up</action>",
        "nonsense",
        *["<action>up</action>"] * 3,
    ]

    def script(request: GenerationRequest) -> str:
        requests.append(request.messages)
        return actions[len(requests) - 1]

    env = AgentWorldVectorEnv(domain, 1, record=path, tasks=[task], autoreset_mode="Disabled")
    with closing(env):
        assert Rollout(env, LLMAgent(ScriptedEngine(script)), 1).run().successes == 1
    (trajectory,) = read_trajectories(path)
    rows = list(AgentRows(RowSettings(), domain).build(trajectory, DataReport()))
    own = [message for message in requests if message]
    for row, messages in zip(rows, own, strict=True):
        # What the agent wrote beside the action (here, in the third turn, no tag) is not taught.
        shown = [m for m in row.messages[:-1] if m.role != "assistant"]
        assert shown == [m for m in messages if m.role != "assistant"]
    assert [row.messages[-1].content for row in rows][:3] == [
        "<action>down</action>",
        "<action>up</action>",
        "<action>nonsense</action>",
    ]


def test_only_solved_episodes_teach(tmp_path: Path) -> None:
    lost = played(ToyDomain(), ["up", "down"], tmp_path / "t.jsonl", task=a_task(max_steps=2))
    report = DataReport()
    assert not list(AgentRows(domain=ToyDomain()).build(lost, report))
    assert report.episodes_dropped == {"not_solved": 1}


def test_slips_are_shown_and_not_taught(tmp_path: Path) -> None:
    report, slipped = DataReport(), 0
    for trajectory in noisy_episodes(tmp_path / "t.jsonl"):
        seed = trajectory.reset.seed
        astray = {step.step for step in trajectory.steps if slips(5, seed, step.step, 0.3)}
        slipped += len(astray)
        builder = AgentRows(slips=lambda t, step: slips(5, t.reset.seed, step, 0.3))
        rows = list(builder.build(trajectory, report))
        assert not {row.turn for row in rows} & astray
        for step in astray & set(range(1, len(trajectory.steps))):
            command = f"<action>{trajectory.steps[step - 1].command}</action>"
            assert command in [message.content for message in rows[-1].messages[:-1]]
    assert slipped > 5
    assert report.turns_dropped["slip"] + report.turns_dropped["unchanged"] + report.turns_dropped["retry"] >= slipped


def test_the_noisy_expert_plans_anew_and_still_arrives(tmp_path: Path) -> None:
    trajectories = noisy_episodes(tmp_path / "t.jsonl", episodes=20)
    assert sum(trajectory.success for trajectory in trajectories) >= 19
    alone = noisy_episodes(tmp_path / "u.jsonl", episodes=20, num_envs=1)
    for one, other in zip(trajectories, alone, strict=True):
        assert [step.action for step in one.steps] == [step.action for step in other.steps]
    exact = noisy_episodes(tmp_path / "v.jsonl", episodes=4, epsilon=0.0)
    assert all(trajectory.success for trajectory in exact)


def test_a_noisy_expert_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        NoisyExpert(1.5)
    with pytest.raises(ConfigError, match="at least 0"):
        NoisyExpert(0.5, -1)


@pytest.mark.parametrize(
    "command",
    [
        "look",
        "echo </action>",
        "echo <action>no</action>",
        "say <|im_end|>",
        "```\nx\n```",
        '{"a": 1}',
        "[]",
        "<think>",
    ],
)
def test_answers_mean_the_recorded_action_or_are_counted(command: str, tmp_path: Path) -> None:
    import json

    action = json.dumps({"name": "command", "arguments": {"command": command}})
    path, domain = tmp_path / "t.jsonl", ToyDomain()
    with closing(AgentWorldEnv(domain, record=path)) as env:
        env.reset(options={"task": a_task(target=2)})
        for text in (action, "up", "up"):
            env.step(text)
    (trajectory,) = read_trajectories(path)
    report = DataReport()
    rows = list(AgentRows(domain=domain).build(trajectory, report))
    parser = ActionParser(trajectory.reset.tools, domain.default_tool)
    for row in rows:
        assert parser.parse(row.messages[-1].content).command == trajectory.steps[row.turn - 1].command
    assert len(rows) + report.turns_dropped["unwritable"] == 3


def test_a_row_of_an_episode_weighs_each_answer(tmp_path: Path) -> None:
    domain = ToyDomain()
    trajectory = played(domain, ["up", "", "up"], tmp_path / "t.jsonl", task=a_task(target=2))
    report = DataReport()
    (row,) = AgentRows(RowSettings("trajectory"), domain).build(trajectory, report)
    assert [m.role for m in row.messages] == ["system", *["user", "assistant"] * 3]
    assert row.loss == (0, 0, 1, 0, 0, 0, 1)
    assert report.turns_dropped == {"rejected": 1}


def test_a_long_episode_shows_the_window_of_the_agent(tmp_path: Path) -> None:
    trajectory = played(ToyDomain(), ["up"] * 30, tmp_path / "t.jsonl", task=a_task(target=30))
    rows = list(AgentRows(domain=ToyDomain()).build(trajectory, DataReport()))
    assert len(rows) == 30
    assert "[9 earlier turns are left out here.]" in rows[-1].messages[1].content
    assert len(rows[-1].messages) == 2 + 2 * 20 + 1


def test_terminal_answers_of_several_lines(tmp_path: Path) -> None:
    domain = load_domain("terminal")
    task = domain.tasks()[0]
    parser = ActionParser(domain.tools(task), domain.default_tool, multiline=True)
    parsed = parser.parse("<action>cat > x <<'E'\na\n\nb\nE</action>")
    assert parsed.command == "cat > x <<'E'\na\n\nb\nE"
