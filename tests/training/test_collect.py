"""Collecting: the same rows whatever the number of slots and however often it was killed."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain
from training.support import rows_of

from agentworld_envs import AgentWorldVectorEnv
from agentworld_envs.agents import Agent, Decision, ExpertAgent, Info, Rollout
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ConfigError, Failure
from agentworld_envs.training.collect import Collector
from agentworld_envs.training.export import Exporter
from agentworld_envs.training.manifest import Collection, split_name
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.rows import WorldModelRows
from agentworld_envs.trajectories import Trajectory


def episodes(collector: Collector, split: str | None = None) -> list[tuple[int, list[tuple[str, str]]]]:
    """Seed, then actions and observations, of the episodes of a collection."""
    report = DataReport()
    return [
        (trajectory.reset.seed, [(step.action, step.observation) for step in trajectory.steps])
        for trajectory in collector.trajectories(split, report)
    ]


def collected(folder: Path, n: int = 12, *, resume: bool = False, **fields: Any) -> Collector:
    settings = {name: fields.pop(name) for name in ("unit", "num_envs", "agent") if name in fields}
    collection = Collection(**{"domain": "text_world", "epsilon": 0.2, "max_steps": 15, **fields})
    collector = Collector(collection, folder, n, **settings)
    collector.run(resume=resume)
    return collector


def test_the_number_of_slots_changes_nothing(tmp_path: Path) -> None:
    one = episodes(collected(tmp_path / "a", num_envs=1))
    many = episodes(collected(tmp_path / "b", num_envs=32))
    assert one == many
    assert len(one) == 12
    other = episodes(collected(tmp_path / "c", seed=1))
    assert not {seed for seed, _ in one} & {seed for seed, _ in other}


def test_transitions_are_a_number_of_first_episodes(tmp_path: Path) -> None:
    few = collected(tmp_path / "a", 40, unit="transitions", num_envs=3)
    many = collected(tmp_path / "b", 40, unit="transitions", num_envs=16)
    assert episodes(few) == episodes(many)
    lengths = [len([s for s in t.steps if s.tool]) for t in few.trajectories(None, DataReport())]
    assert sum(lengths) >= 40 > sum(lengths[:-1])


def test_going_on_plays_only_what_is_missing(tmp_path: Path) -> None:
    collected(tmp_path, 5)
    size = (tmp_path / "recordings" / "train.jsonl").stat().st_size
    more = collected(tmp_path, 12, resume=True)
    assert episodes(more) == episodes(collected(tmp_path / "whole", 12))
    assert episodes(collected(tmp_path, 5, resume=True)) == episodes(more)[:5]
    again = (tmp_path / "recordings" / "train.jsonl").stat().st_size
    assert again > size
    collected(tmp_path, 12, resume=True)
    assert (tmp_path / "recordings" / "train.jsonl").stat().st_size == again


def test_several_task_sets(tmp_path: Path) -> None:
    collector = collected(tmp_path, 3, splits=("train", "valid_seen", "valid_unseen:look_at_obj_in_light"))
    assert sorted(path.name for path in (tmp_path / "recordings").iterdir()) == [
        "train.jsonl",
        "valid_seen.jsonl",
        "valid_unseen_look_at_obj_in_light.jsonl",
    ]
    for split in collector.collection.splits:
        assert len(episodes(collector, split)) == 3


@pytest.mark.parametrize("split", [None, "train", "valid:a,b", "/data/my tasks/", "###"])
def test_split_names_are_words(split: str | None) -> None:
    assert split_name(split).isidentifier()


def test_another_collection_is_not_mixed_in(tmp_path: Path) -> None:
    collected(tmp_path, 2)
    with pytest.raises(ConfigError, match="holds a collection already"):
        collected(tmp_path, 2)
    with pytest.raises(ConfigError, match=r"another collection \(epsilon was 0.2 and is 0.1\)"):
        collected(tmp_path, 2, epsilon=0.1, resume=True)
    (tmp_path / "collection.json").write_text("[")
    with pytest.raises(ConfigError, match="damaged"):
        collected(tmp_path, 2, resume=True)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    handle = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="Another process collects"):
            collected(tmp_path, 2)
    finally:
        os.close(handle)
    collected(tmp_path, 2, resume=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"n": 0}, "n to be at least 1"),
        ({"num_envs": 0}, "num_envs to be at least 1"),
        ({"unit": "rows"}, "Unknown unit"),
        ({"seed": -1}, "at least 0"),
        ({"epsilon": 2.0}, "between 0 and 1"),
        ({"epsilon": 0.1, "agent_name": "random"}, "Only the agent 'expert' slips"),
        ({"epsilon": 0.0, "agent_name": "exprt"}, "Did you mean 'expert'"),
        ({"epsilon": 0.0, "agent_name": "llm"}, "needs a model"),
        ({"splits": ("train", "train")}, "all different"),
        ({"splits": ()}, "at least one"),
    ],
)
def test_wrong_use(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    name = fields.pop("agent_name", "expert")
    n = fields.pop("n", 2)
    settings = {key: fields.pop(key) for key in ("unit", "num_envs") if key in fields}
    with pytest.raises(ConfigError, match=message):
        Collector(Collection("text_world", name, **fields), tmp_path, n, **settings)
    assert not list(tmp_path.iterdir())


class Stumbling(Agent):
    """Goes up; its machinery fails in every other episode, for good or not."""

    name = "stumbling"

    def __init__(self, retryable: bool) -> None:
        self.retryable = retryable
        self.seeds: dict[int, int] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self.seeds[slot] = episode.seed

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [Failure("provider", "gone", self.retryable) if self.seeds[s] % 2 else "up" for s in slots]


@pytest.mark.parametrize("retryable", [False, True])
def test_failures_are_counted_and_played_again_where_that_may_help(tmp_path: Path, retryable: bool) -> None:
    def run(agent: Agent, resume: bool) -> DataReport:
        collection = Collection("toy", "stumbling")
        collector = Collector(collection, tmp_path, 10, agent=agent, domain=ToyDomain(), num_envs=4)
        collector.run(resume=resume)
        report = DataReport()
        for trajectory in collector.trajectories(None, report):
            list(WorldModelRows(domain=ToyDomain()).build(trajectory, report))
        return report

    first = run(Stumbling(retryable), False)
    failed = first.episodes_dropped["failure"]
    assert failed
    assert first.episodes == 10
    second = run(Stumbling(retryable), True)
    assert second.episodes_dropped["failure"] == failed
    assert second.episodes_dropped["played_again"] == (failed if retryable else 0)


@pytest.mark.parametrize("unit", ["episodes", "transitions"])
def test_broken_tasks_do_not_hold_a_collection_up(tmp_path: Path, unit: Any) -> None:
    collection = Collection("toy", splits=("broken", "fragile"))
    collector = Collector(collection, tmp_path, 12, unit=unit, num_envs=4, domain=ToyDomain())
    collector.run()
    report = DataReport()
    builder = WorldModelRows(domain=ToyDomain())
    for trajectory in collector.trajectories("broken", report):
        list(builder.build(trajectory, report))
    assert report.episodes_dropped["failure"] > 0
    assert report.episodes_kept > 0


def test_a_set_without_any_transition_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ToyDomain):
        def world(self, task: Any) -> Any:
            raise RuntimeError("never")

    collector = Collector(Collection("toy", "random"), tmp_path, 50, unit="transitions", num_envs=2, domain=Broken())
    collector.run()
    assert "no transition at all" in caplog.text


def test_killed_and_resumed_it_has_the_same_rows(tmp_path: Path) -> None:
    n = 120
    command = [sys.executable, "-m", "agentworld_envs.cli", "data", "collect", "TextWorld", "-n", str(n)]
    command += ["--epsilon", "0.2", "--num-envs", "4", "--max-steps", "20", "--seed", "5"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    recording = killed / "recordings" / "train.jsonl"
    kills = 0
    for limit in (200_000, 600_000):
        resume = ["--resume"] if kills else []
        process = subprocess.Popen([*command, "--out", str(killed), *resume], stdout=-3, stderr=-3)
        while process.poll() is None and (not recording.exists() or recording.stat().st_size < limit):
            time.sleep(0.002)
        process.kill()
        kills += process.wait() == -9
        assert not (killed / "data").exists()
    assert kills == 2
    command[command.index("--num-envs") + 1] = "3"
    with recording.open("a", encoding="ascii") as file:
        file.write('{"type":"step","episode":"torn')
    subprocess.run([*command, "--out", str(killed), "--resume"], check=True, capture_output=True)
    subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
    counts = json.loads((killed / "report.json").read_text())["train"]
    assert counts["unfinished"] > 0
    assert counts["lines_left_out"] > 0
    for name in ("data/train.jsonl", "README.md"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert len(rows_of(killed / "data" / "train.jsonl")) > n


def test_what_another_world_model_imagined_is_not_collected_as_real(tmp_path: Path) -> None:
    from agentworld_envs.backends.world_model import WorldModelConfig

    collection = Collection("text_world", "random", backend="world_model", max_steps=5)
    config = WorldModelConfig.of(model="scripted:oracle")
    collector = Collector(collection, tmp_path, 3, backend=config)
    collector.run()
    exporter = Exporter(tmp_path, WorldModelRows())
    report = DataReport()
    exporter.split(None, collector.trajectories(None, report), report)
    assert report.episodes_dropped == {"simulated": 3}
    assert report.rows == 0


def test_a_rollout_plays_the_seeds_that_it_is_given() -> None:
    env = AgentWorldVectorEnv(ToyDomain(), 2, autoreset_mode="Disabled")
    with closing(env):
        summary = Rollout(env, ExpertAgent(), 3, seeds=[7, 5, 9]).run()
        assert [result.seed for result in summary.episodes] == [7, 5, 9]
        for seeds in ([1, 2], [1, 2, -3]):
            with pytest.raises(ConfigError, match="Expected 3 seeds"):
                Rollout(env, ExpertAgent(), 3, seeds=seeds)


def test_slips_are_known_from_the_collection(tmp_path: Path) -> None:
    collector = collected(tmp_path, 10)

    def count(trajectory: Trajectory) -> int:
        return sum(collector.slipped(trajectory, step.step) for step in trajectory.steps)

    found = list(collector.trajectories(None, DataReport()))
    assert 0 < sum(count(trajectory) for trajectory in found) < sum(len(trajectory.steps) for trajectory in found)
