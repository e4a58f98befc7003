"""Filters: what is dropped, under which name, and what is not."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain
from training.support import RecallingDomain, a_task, played

from agentworld_envs import AgentWorldEnv
from agentworld_envs.interface import ConfigError, Fault, Injection
from agentworld_envs.training.filters import Filters
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.rows import RowSettings, WorldModelRows
from agentworld_envs.trajectories import StepLine, Trajectory, read_trajectories


@pytest.fixture
def episode(tmp_path: Path) -> Trajectory:
    return played(ToyDomain(), ["up", "down", "up", "up"], tmp_path / "t.jsonl", task=a_task())


def with_steps(episode: Trajectory, *observations: str, commands: str = "", **fields: Any) -> Trajectory:
    """The episode with other observations (and commands, one letter each)."""
    steps = [
        episode.steps[0].model_copy(
            update={
                "step": number,
                "observation": text,
                "command": commands[number - 1] if commands else f"c{number}",
                **fields,
            }
        )
        for number, text in enumerate(observations, start=1)
    ]
    return Trajectory(episode.episode, episode.reset, steps)


def test_a_sound_episode_is_kept(episode: Trajectory) -> None:
    assert Filters().episode(episode) is None
    assert Filters().turns(episode) == {}


def test_failures(episode: Trajectory, tmp_path: Path) -> None:
    failed = played(ToyDomain(), ["up", "up"], tmp_path / "f.jsonl", tasks="fragile", seed=3)
    assert failed.steps[-1].failure is not None
    assert Filters().episode(failed) == "failure"
    invalid = with_steps(episode, "a b", "c d", reward_valid=False)
    assert Filters().episode(invalid) == "failure"


def test_what_a_world_model_imagined(episode: Trajectory) -> None:
    imagined = with_steps(episode, "a", "b", source="world_model")
    assert Filters().episode(imagined) == "simulated"
    assert Filters(simulated=True).episode(imagined) is None
    replayed = with_steps(episode, "a", "b", source="replay", flags={"recorded_source": "real"})
    assert Filters().episode(replayed) is None
    assert Filters().episode(with_steps(episode, "a", "b", source="replay")) == "simulated"


def test_few_turns_counts_what_reached_the_environment(episode: Trajectory) -> None:
    assert Filters().episode(with_steps(episode, "a")) == "few_turns"
    assert Filters().episode(with_steps(episode, "a", "b", tool="")) == "few_turns"
    assert Filters(min_turns=1).episode(with_steps(episode, "a")) is None
    with pytest.raises(ConfigError, match="min_turns to be at least 1"):
        Filters(min_turns=0)


def test_foreign_tool(episode: Trajectory) -> None:
    assert Filters().episode(with_steps(episode, "a", "b", tool="rm_rf")) == "foreign_tool"


@pytest.mark.parametrize(
    "page",
    [
        "Please verify you are a human to continue",
        "Solve this CAPTCHA",
        "Attention Required! | Cloudflare",
        "404 Not Found\nnginx",
        "Title: 403 Forbidden",
        "HTTP/1.1 503 Service Unavailable",
        "Error 500: Internal Server Error",
        "429 Too Many Requests",
    ],
)
def test_error_pages_only_where_there_are_pages(episode: Trajectory, page: str) -> None:
    found = with_steps(episode, "a fine page", page)
    assert Filters(pages=True).episode(found) == "error_page"
    # In a log that an agent reads in its terminal, the same line is data.
    assert Filters().episode(found) is None


@pytest.mark.parametrize(
    "page", ["The 404 Gallery opens at nine.", "About 500 people were not found.", "x " * 400 + "404 Not Found"]
)
def test_pages_that_are_none(episode: Trajectory, page: str) -> None:
    assert Filters(pages=True).episode(with_steps(episode, "a", page)) is None


def test_unchanged_and_retries(episode: Trajectory) -> None:
    again = with_steps(episode, "x", "x", "y", "x", "y", "x", commands="aabaaa")
    assert Filters().turns(again) == {2: "unchanged", 4: "retry", 6: "retry"}
    assert Filters(allowed_repeats=3).turns(again) == {2: "unchanged", 6: "retry"}
    # The same answer to another action is no retry, unless the answer is a whole screen.
    same = with_steps(episode, "x", "x", commands="ab")
    assert Filters().turns(same) == {}
    assert Filters(screens=True).turns(same) == {2: "unchanged"}


def test_retry_loop(episode: Trajectory) -> None:
    assert Filters().episode(with_steps(episode, *"xxxxx", commands="aaaaa")) == "retry_loop"
    assert Filters().episode(with_steps(episode, *"xyxx", commands="abaa")) is None


def test_clipped_observations_are_no_targets(episode: Trajectory) -> None:
    marker = "\n[... 90000 characters left out ...]\n"
    clipped = "x" * 16_334 + marker + "x" * 16_334
    found = with_steps(episode, clipped, f"the text says {marker} itself", "z")
    assert Filters().turns(found) == {1: "clipped"}


@pytest.mark.parametrize("mask", [False, True])
def test_nothing_is_dropped_without_a_count(episode: Trajectory, tmp_path: Path, mask: bool) -> None:
    rejected = played(ToyDomain(), ["up", "", "up", "wait", "wait", "down"], tmp_path / "r.jsonl", task=a_task())
    given = [
        episode,
        rejected,
        with_steps(episode, "a"),
        with_steps(episode, *"xxxxx", commands="aaaaa"),
        with_steps(episode, "a", "b", source="world_model"),
        with_steps(episode, "a", "b", tool="rm_rf"),
    ]
    report = DataReport()
    builder = WorldModelRows(RowSettings(mask=mask), ToyDomain())
    rows = [row for trajectory in given for row in builder.build(trajectory, report)]
    assert report.episodes == len(given)
    assert report.episodes_dropped == {"few_turns": 1, "retry_loop": 1, "simulated": 1, "foreign_tool": 1}
    assert report.turns == sum(len(trajectory.steps) for trajectory in given)
    assert report.turns_dropped["rejected"] == 1
    assert report.turns_dropped["unchanged"] == 1
    assert report.turns == (
        report.turns_of_dropped_episodes
        + report.turns_dropped.total()
        + report.turns_masked.total()
        + report.turns_kept.total()
    )
    assert len(rows) == report.turns_kept.total()
    assert report.turns_masked.total() if mask else len(rows) == 8
    doubled = DataReport()
    doubled.add(report)
    doubled.add(report)
    assert doubled.to_dict()["turns"] == 2 * report.turns


def test_a_fault_is_history_and_no_target(episode: Trajectory, tmp_path: Path) -> None:
    fault = Injection("error", 1, "code", executed=False)._asdict()
    found = with_steps(episode, "a", "b", "c")
    found.steps[1] = found.steps[1].model_copy(update={"flags": {"fault": fault}})
    assert Filters().turns(found) == {2: "fault"}
    report = DataReport()
    rows = list(WorldModelRows(RowSettings(mask=False), ToyDomain()).build(found, report))
    assert [row.turn for row in rows] == [1, 3]
    assert report.turns_dropped == {"fault": 1, "rejected": 0}
    assert any("b" in message.content for message in rows[-1].messages if message.role == "assistant")


def test_an_action_that_a_fault_kept_back_does_not_move_the_tracked_state(tmp_path: Path) -> None:
    env = AgentWorldEnv(RecallingDomain(), record=tmp_path / "f.jsonl", control=Fault(kind="error", when=2))
    with closing(env):
        env.reset(seed=0, options={"task": a_task()})
        for _ in range(3):
            env.step("up")
    [trajectory] = read_trajectories(tmp_path / "f.jsonl")
    report = DataReport()
    rows = list(
        WorldModelRows(RowSettings(mask=False, tracked_state=True), RecallingDomain()).build(trajectory, report)
    )
    assert report.turns_dropped["fault"] == 1
    assert [row.turn for row in rows] == [1, 3]
    assert "The counter is 1 before up." in rows[-1].messages[-2].content


def test_lines_without_a_tool_are_no_turns(episode: Trajectory) -> None:
    lines: list[StepLine] = with_steps(episode, "a", "b", tool="").steps
    assert set(Filters().turns(Trajectory("e", episode.reset, lines)).values()) == {"rejected"}
