"""Rows as episodes that can be stepped, recorded episodes as rows, and round trips of both."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from evaluation.synthetic import write_benchmark, write_rows
from typer.testing import CliRunner

from agentworld_envs import AgentWorldEnv
from agentworld_envs.agents import reexecute
from agentworld_envs.backends.sandbox import sandbox_config
from agentworld_envs.backends.sandbox.machines import probe
from agentworld_envs.backends.world_model import ScriptedEngine
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.backends.world_model.codecs import codec_for, read_user_turn
from agentworld_envs.backends.world_model.prompts import SUFFIX
from agentworld_envs.cli.app import build
from agentworld_envs.domains import load_domain
from agentworld_envs.evaluation.agentworldbench import (
    DOMAINS,
    BenchmarkDomain,
    BenchmarkRun,
    ModelConfig,
    as_action,
    export_rows,
    read_rows,
    record_rows,
)
from agentworld_envs.evaluation.agentworldbench.domain import trajectories
from agentworld_envs.evaluation.agentworldbench.export import sample_turns
from agentworld_envs.interface import ConfigError, Fault
from agentworld_envs.testing import CounterDomain
from agentworld_envs.trajectories import Trajectory, read_trajectories


@pytest.mark.parametrize("name", DOMAINS)
def test_a_trajectory_is_stepped_as_it_was(tmp_path: Path, name: str) -> None:
    rows = read_rows(write_benchmark(tmp_path, domains=(name,)), [name]).rows
    done = record_rows(rows, tmp_path / "r.jsonl")
    groups = trajectories(rows)
    assert (done.episodes, done.cut) == (len(groups), [])
    for seed, group in enumerate(groups):
        row = group[-1]
        with closing(AgentWorldEnv(BenchmarkDomain(), backend=f"replay:{tmp_path / 'r.jsonl'}")) as env:
            observation, info = env.reset(seed=seed)
            first = read_user_turn(row.prompt[0])
            assert observation == "\n\n".join(part for part in (first.instruction, first.state) if part)
            for user, assistant in zip(row.prompt, row.response, strict=False):
                observation, reward, terminated, truncated, info = env.step(as_action(read_user_turn(user).action))
                assert observation == assistant.removeprefix("**Environment Observation:**\n")
                assert (reward, terminated) == (0.0, False)
            # There is no verdict, and no 0 that could be taken for one.
            assert truncated
            assert not info["reward_valid"]
            assert info["failure"].kind == "judge"
    for trajectory in read_trajectories(tmp_path / "r.jsonl"):
        assert reexecute(trajectory, "replay", BenchmarkDomain()) is None


def test_terminal_rows_play_in_the_terminal_itself(tmp_path: Path) -> None:
    rows = read_rows(write_benchmark(tmp_path, domains=("terminal",)), ["terminal"]).rows
    assert record_rows(rows, tmp_path / "r.jsonl", load_domain("terminal")).cut == []
    [row, *_] = [group[-1] for group in trajectories(rows)]
    env = gym.make("AgentWorld/Terminal-v0", backend=f"replay:{tmp_path / 'r.jsonl'}")
    with closing(env):
        env.reset(seed=0)
        for user, assistant in zip(row.prompt, row.response, strict=False):
            observation, *_ = env.step(read_user_turn(user).action)
            assert observation == assistant.removeprefix("**Environment Observation:**\n")


def test_an_action_that_the_domain_refuses_ends_the_trajectory_and_is_told(tmp_path: Path) -> None:
    rows = read_rows(write_benchmark(tmp_path, domains=("mcp",)), ["mcp"]).rows
    done = record_rows(rows, tmp_path / "r.jsonl", load_domain("terminal"))
    assert len(done.cut) == done.episodes
    assert "cannot be made in terminal" in done.cut[0]


def test_a_model_can_go_on_from_the_benchmark_s_first_state(tmp_path: Path) -> None:
    write_benchmark(tmp_path, domains=("android",))
    from agentworld_envs.backends.world_model import WorldModelBackend, WorldModelConfig

    seen: list[Any] = []

    def script(request: Any) -> str:
        seen.append(request.messages)
        return wrap("next screen")

    backend = WorldModelBackend(ScriptedEngine(script), WorldModelConfig(model="scripted:x"))
    path = str(tmp_path / "android_test.jsonl")
    with closing(AgentWorldEnv(BenchmarkDomain(), backend=backend, tasks=path)) as env:
        env.reset(seed=0)
        observation, *_ = env.step('```json\n{"action_type": "click", "index": 3}\n```')
    assert observation == "next screen"
    assert "You are the android environment" in seen[0][0].content
    assert "**Current State:**" in seen[0][-1].content


def test_files_of_several_domains_are_refused(tmp_path: Path) -> None:
    rows = read_rows(write_benchmark(tmp_path)).rows
    with pytest.raises(ConfigError, match="of one domain, got android, mcp"):
        record_rows(rows, tmp_path / "r.jsonl")


def test_the_replay_backend_says_what_to_do_with_a_benchmark_file(tmp_path: Path) -> None:
    write_benchmark(tmp_path, domains=("os",))
    with pytest.raises(ConfigError, match="agentworld bench import"):
        AgentWorldEnv(BenchmarkDomain(), backend=f"replay:{tmp_path / 'os_test.jsonl'}")


# -- from recordings to rows ---------------------------------------------------------------------------------------


def record_text_world(path: Path, episodes: int = 3) -> None:
    with closing(AgentWorldEnv("text_world", record=path, max_steps=12)) as env:
        for seed in range(episodes):
            _, info = env.reset(seed=seed)
            env.step("sing a song")  # refused: it never reaches the world
            commands = load_domain("text_world").expert(
                env.episode.task, load_domain("text_world").world(env.episode.task)
            )
            for command in commands[:8]:
                _, _, terminated, truncated, info = env.step(command)
                if terminated or truncated:
                    break
            assert info["failure"] is None


def need_namespace() -> None:
    usability = probe(sandbox_config("namespace"))
    if not usability.usable:
        required = "namespace" in os.environ.get("AGENTWORLD_REQUIRE", "").split(",")
        (pytest.fail if required else pytest.skip)(f"no namespace sandboxes here: {usability.why}")


def record_terminal(path: Path) -> None:
    need_namespace()
    with closing(AgentWorldEnv("terminal", record=path, tasks="train@1", sandbox="namespace")) as env:
        for seed in range(2):
            env.reset(seed=seed)
            for action in (
                "pwd",
                "ls -la",
                '[{"keystrokes": "echo hi\\n", "duration": 0.5}]',
                "printf '</predicted_observation>'",
                "cat nothing",
            ):
                env.step(action)


def record_search(path: Path) -> None:
    with closing(AgentWorldEnv("search", record=path, tasks="train:tiny", max_steps=12)) as env:
        domain = load_domain("search")
        for seed in range(3):
            env.reset(seed=seed)
            env.step('{"name": "web_search", "arguments": {}}')  # refused: it never reaches the world
            env.step('{"name": "dict_memory", "arguments": {"operation": "add", "dict": {"seen": [1]}}}')
            env.step(f'{{"name": "search", "arguments": {{"query": ["town", "person {seed}"]}}}}')
            for action in domain.expert(env.episode.task, domain.world(env.episode.task)):
                _, _, _, _, info = env.step(action)
            assert info["failure"] is None


def executed(trajectory: Trajectory) -> list[Any]:
    return [step for step in trajectory.steps if step.tool]


@pytest.mark.parametrize(
    ("name", "record"), [("text_world", record_text_world), ("terminal", record_terminal), ("search", record_search)]
)
def test_exported_rows_load_without_defects_and_hold_what_was_observed(
    tmp_path: Path, name: str, record: Callable[[Path], None]
) -> None:
    record(tmp_path / "real.jsonl")
    file = tmp_path / f"{name}_test.jsonl"
    done = export_rows([tmp_path / "real.jsonl"], file, seed=3)
    found = read_rows(tmp_path, [name])
    assert found.defects == []
    assert found.missing == []
    assert len(found.rows) == done.rows > done.trajectories > 0
    assert export_rows([tmp_path / "real.jsonl"], tmp_path / "again.jsonl", seed=3).rows == done.rows
    assert (tmp_path / "again.jsonl").read_bytes() == file.read_bytes()

    recorded = [t for t in read_trajectories(tmp_path / "real.jsonl") if len(executed(t)) > 1]
    domain = load_domain(name)
    groups = trajectories(found.rows)
    assert len(groups) == len(recorded)
    for group, trajectory in zip(groups, recorded, strict=True):
        steps = executed(trajectory)
        turns = sorted(row.turn_idx for row in group)
        assert turns[0] == 1
        assert turns[-1] == len(steps) == group[0].total_turns
        for row in group:
            spec = domain.simulation(trajectory.reset.task)
            assert row.system_str == spec.system
            assert row.truth == steps[row.turn_idx - 1].observation
            assert row.prompt[row.turn_idx - 1] == f"{row.current_prompt}\n\n{SUFFIX}"
            turn = read_user_turn(row.current_prompt)
            assert (turn.number, turn.language) == (row.turn_idx, spec.action_fence)
            assert turn.state == (spec.state if row.turn_idx == 1 else "")
            if name != "text_world":
                assert codec_for(name).read_action(turn.action, turn.language).calls is not None
            hidden = json.dumps(trajectory.reset.task.hidden)
            assert hidden == "{}" or hidden[1:-1] not in row.system_str

    # What was exported plays again as episodes of the very domain, and can be asked.
    assert record_rows(found.rows, tmp_path / "back.jsonl", domain).cut == []
    for before, after in zip(recorded, read_trajectories(tmp_path / "back.jsonl"), strict=True):
        assert [s.observation for s in executed(before)] == [s.observation for s in after.steps]
    truth = {row.prompt[row.turn_idx - 1] + str(row.turn_idx) + row.system_str: row.truth for row in found.rows}
    perfect = ScriptedEngine(
        lambda r: wrap(truth[r.messages[-1].content + str(len(r.messages) // 2) + r.messages[0].content])
    )
    run = BenchmarkRun(found, tmp_path / "run")
    run.infer(ModelConfig(model="scripted:perfect"), perfect)
    assert run.score()["companion"]["exact"]["macro"]["score"] == 100.0


def test_an_imported_trajectory_exports_again(tmp_path: Path) -> None:
    rows = read_rows(write_benchmark(tmp_path, domains=("mcp",)), ["mcp"]).rows
    record_rows(rows, tmp_path / "r.jsonl")
    export_rows([tmp_path / "r.jsonl"], tmp_path / "out.jsonl", load=lambda _: BenchmarkDomain())
    again = read_rows(tmp_path / "out.jsonl")
    assert again.defects == []
    before, after = trajectories(rows), trajectories(again.rows)
    for old, new in zip(before, after, strict=True):
        assert new[-1].response == old[-1].response
        assert new[-1].system_str == old[-1].system_str
        actions = [[read_user_turn(p).action for p in row.prompt] for row in (old[-1], new[-1])]
        assert actions[0] == actions[1]


def test_only_real_episodes_of_two_turns_are_exported_and_the_rest_is_counted(tmp_path: Path) -> None:
    real, simulated = tmp_path / "real.jsonl", tmp_path / "simulated.jsonl"
    for path, more in ((real, {}), (simulated, {"backend": "world_model", "model": "scripted:oracle"})):
        with closing(AgentWorldEnv(CounterDomain(), record=path, **more)) as env:
            for steps in (1, 3):
                env.reset(options={"task_id": "count-9"})
                for _ in range(steps):
                    env.step("add 1")
    with real.open("a") as stream:
        stream.write("torn\n")
    done = export_rows([real, simulated], tmp_path / "out.jsonl", load=lambda _: CounterDomain())
    assert (done.trajectories, done.rows) == (1, 3)
    assert done.left_out == {"too_short": 1, "simulated": 2, "unreadable_line": 1}
    with pytest.raises(ConfigError, match="no row to be exported: simulated x2"):
        export_rows([simulated], tmp_path / "out.jsonl", load=lambda _: CounterDomain())


def test_faulted_episodes_are_no_truth(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    for control in (None, Fault(kind="error", when=2)):
        with closing(AgentWorldEnv(CounterDomain(), record=path, control=control)) as env:
            env.reset(options={"task_id": "count-9"})
            for _ in range(3):
                env.step("add 1")
    done = export_rows([path], tmp_path / "out.jsonl", load=lambda _: CounterDomain())
    assert (done.trajectories, done.left_out) == (1, {"faulted": 1})


def test_an_input_is_not_written_over(tmp_path: Path) -> None:
    record_text_world(tmp_path / "real.jsonl", 1)
    rows = tmp_path / "text_world_test.jsonl"
    runner = CliRunner()
    before = (tmp_path / "real.jsonl").read_bytes()
    with pytest.raises(ConfigError, match="would replace the recording"):
        export_rows([tmp_path / "real.jsonl"], tmp_path / "." / "real.jsonl")
    assert (tmp_path / "real.jsonl").read_bytes() == before
    export_rows([tmp_path / "real.jsonl"], rows)
    before = rows.read_bytes()
    for data in (rows, tmp_path):
        refused = runner.invoke(build(), ["bench", "import", str(data), "--out", str(rows)])
        assert refused.exit_code == 2
        assert rows.read_bytes() == before


def test_turns_are_drawn_as_in_the_paper() -> None:
    for total in range(2, 30):
        turns = sample_turns(total, np.random.default_rng([0, total]))
        assert turns == sample_turns(total, np.random.default_rng([0, total]))
        assert turns[0] == 1
        assert turns[-1] == total
        assert len(turns) == len(set(turns)) == min(5, total)
    drawn = {turn for i in range(300) for turn in sample_turns(12, np.random.default_rng([1, i]))}
    assert drawn == set(range(1, 13))


def test_commands(tmp_path: Path) -> None:
    record_text_world(tmp_path / "real.jsonl", 1)
    rows, back = tmp_path / "text_world_test.jsonl", tmp_path / "back.jsonl"
    runner = CliRunner()
    exported = runner.invoke(build(), ["bench", "export", str(tmp_path / "real.jsonl"), "--out", str(rows)])
    assert exported.exit_code == 0, exported.output
    assert "turns_not_executed x1" in exported.output
    imported = runner.invoke(build(), ["bench", "import", str(rows), "--out", str(back), "--domain", "text_world"])
    assert imported.exit_code == 0, imported.output
    assert "1 episodes" in imported.output
    assert runner.invoke(build(), ["replay", str(back)]).exit_code == 0
    refused = runner.invoke(build(), ["bench", "import", str(rows), "--out", str(back), "--domain", "textworld"])
    assert refused.exit_code == 2


def test_a_row_alone_is_an_episode_too(tmp_path: Path) -> None:
    row = {"task": "mcp", "id": 1, "system_str": "s", "turn_idx": 1, "prompt": ["do it"], "response": ["done"]}
    write_rows(tmp_path / "x.jsonl", [row])
    assert record_rows(read_rows(tmp_path / "x.jsonl").rows, tmp_path / "r.jsonl").steps == 1
