"""The difficulty filter: what it keeps, that it is deterministic, and that a kill changes nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agents.toy import ToyDomain

from agentworld_envs import AgentWorldVectorEnv
from agentworld_envs.agents import Agent, Decision, Info, NoisyExpert, Rollout
from agentworld_envs.episode import Episode
from agentworld_envs.evaluation.difficulty import ATTEMPTS, DifficultyFilter, DifficultySettings
from agentworld_envs.evaluation.difficulty_report import DifficultyReport, TaskCount
from agentworld_envs.interface import ConfigError, Failure

EPSILON = 0.6


def settings(**changes: Any) -> DifficultySettings:
    given: dict[str, Any] = {"tasks": None, "n": 12, "k": 8, "seed": 3, "environment": {"max_steps": 20}}
    return DifficultySettings(**{**given, **changes})


def run(out: Path, chosen: DifficultySettings | None = None, *, num_envs: int = 16) -> DifficultyReport:
    return DifficultyFilter("text_world", chosen or settings(), out, NoisyExpert(EPSILON, 3), num_envs=num_envs).run()


def test_kept_tasks_have_no_group_without_variance(tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    report = run(out, settings(n=30))
    assert report.kept
    assert all(1 <= count.successes <= 7 and count.valid == 8 for count in report.kept)
    assert report.to_dict()["zero_variance_kept"] == 0
    assert len(report.kept) + report.all_fail + report.all_pass + len(report.invalid) == 30
    header, *lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert (header["domain"], header["tasks"], header["keep"]) == ("text_world", None, [1, 7])
    assert [line["id"] for line in lines] == [count.id for count in report.kept]
    written = json.loads((tmp_path / "kept.jsonl.report.json").read_text(encoding="utf-8"))
    assert written["kept"] == len(report.kept)
    assert sum(written["histogram"].values()) == 30


def test_the_number_of_slots_changes_nothing(tmp_path: Path) -> None:
    one, many = run(tmp_path / "a", num_envs=1), run(tmp_path / "b", num_envs=32)
    assert one.counts == many.counts
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert run(tmp_path / "c", settings(seed=4)).counts != one.counts


def test_seeds_of_rollouts_are_all_different() -> None:
    chosen = settings()
    seeds = {
        chosen.rollout_seed(index, number, attempt) for index in range(20) for number in range(8) for attempt in (0, 1)
    }
    assert len(seeds) == 320


def test_more_tasks_and_other_bounds_play_nothing_again(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    first = run(out)
    lines = (tmp_path / "kept.journal").read_bytes().count(b"\n")
    assert lines == 1 + 12 * 8
    narrow = run(out, settings(keep=(2, 5)))
    assert narrow.counts == first.counts
    assert all(2 <= count.successes <= 5 for count in narrow.kept)
    assert (tmp_path / "kept.journal").read_bytes().count(b"\n") == lines
    more = run(out, settings(n=14))
    assert more.counts[:12] == first.counts
    assert (tmp_path / "kept.journal").read_bytes().count(b"\n") == 1 + 14 * 8


def test_a_kill_changes_nothing(tmp_path: Path) -> None:
    arguments = [
        "tasks",
        "filter",
        "text_world",
        "--n",
        "80",
        "--epsilon",
        str(EPSILON),
        "--seed",
        "3",
        "--max-steps",
        "20",
    ]
    command = [sys.executable, "-m", "agentworld_envs.cli", *arguments, "--num-envs", "2", "--out"]
    journal = tmp_path / "killed.journal"
    kills = 0
    for wanted in (1, 130):
        process = subprocess.Popen(
            [*command, str(tmp_path / "killed")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if journal.exists() and journal.read_bytes().count(b"\n") > wanted:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.002)
        kills += process.wait() == -signal.SIGKILL
    assert kills, "it was done before it could be killed"
    with journal.open("ab") as file:
        file.write(b'{"key":"torn')  # as a kill in the middle of a write leaves it
    subprocess.run([*command, str(tmp_path / "killed")], check=True, capture_output=True)
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True)
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    reports = [json.loads((tmp_path / f"{name}.report.json").read_text()) for name in ("killed", "whole")]
    assert reports[0] == reports[1]
    assert journal.read_bytes().count(b"\n") == 1 + 80 * 8


@pytest.mark.parametrize("name", ["fragile", "broken"])
def test_invalid_rewards_are_no_failures_of_the_agent(tmp_path: Path, name: str) -> None:
    chosen = settings(tasks=name, n=10, k=2, keep=(0, 2), environment={})
    report = DifficultyFilter(ToyDomain(), chosen, tmp_path / "kept", NoisyExpert(0.0)).run()
    assert report.all_fail == 0
    invalid = {count.index for count in report.invalid}
    assert invalid == ({0, 2, 4, 6, 8} if name == "broken" else invalid)
    assert invalid
    assert all(count.successes == 2 for count in report.measured)
    assert set(report.failures) == {"task" if name == "broken" else "sandbox"}
    assert not {count.id for count in report.kept} & {count.id for count in report.invalid}
    lines = [json.loads(line) for line in (tmp_path / "kept.journal").read_text().splitlines()[1:]]
    assert max(line["attempt"] for line in lines) == ATTEMPTS - 1


class Flaky(Agent):
    """Its model fails at the first attempts at every task, and then knows the way."""

    name = "flaky"

    def __init__(self) -> None:
        self.failed: set[str] = set()
        self._goals: dict[int, tuple[str, int]] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self._goals[slot] = (episode.task.id, int(episode.task.verifier["target"]))

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        decisions: list[Decision] = []
        for slot in slots:
            task_id, _ = self._goals[slot]
            decisions.append("up" if task_id in self.failed else Failure("provider", "down", True))
            self.failed.add(task_id)
        return decisions


def test_what_the_agents_own_machinery_spoils_is_rolled_again(tmp_path: Path) -> None:
    report = DifficultyFilter(
        ToyDomain(), settings(n=5, k=3, keep=(0, 3), environment={}), tmp_path / "kept", Flaky()
    ).run()
    assert [count.successes for count in report.counts] == [3] * 5
    assert not report.invalid


def test_a_journal_of_other_settings_is_not_mixed_with(tmp_path: Path) -> None:
    run(tmp_path / "kept")
    for changed in ({"k": 4}, {"seed": 9}, {"agent": {"name": "other"}}, {"tasks": "valid_seen"}):
        with pytest.raises(ConfigError, match=next(iter(changed))):
            run(tmp_path / "kept", settings(**changed))


def test_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no file of chosen tasks"):
        run(tmp_path / "notes")
    assert (tmp_path / "notes").read_text(encoding="utf-8") == "mine\n"


def test_no_file_is_overwritten_that_is_no_output(tmp_path: Path) -> None:
    out = tmp_path / "kept"
    run(out)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match="itself"):
        run(out, settings(tasks=str(out)))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    for text in ("mine\n", "[]", '{"about": {"kind": "something"}}'):
        (tmp_path / "other.report.json").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match="no report of a difficulty filter"):
            run(tmp_path / "other")
        assert (tmp_path / "other.report.json").read_text(encoding="utf-8") == text
    assert not (tmp_path / "other.journal").exists(), "said before anything is played"


def test_when_nothing_is_kept_an_earlier_file_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "kept"
    first = run(out)
    missing = next(count for count in range(9) if not first.histogram[count])
    before = out.read_bytes()
    assert not run(out, settings(keep=(missing, missing))).kept
    assert out.read_bytes() == before
    assert "stays as it is" in caplog.text
    assert json.loads((tmp_path / "kept.report.json").read_text())["kept"] == 0


@pytest.mark.parametrize("changed", [{"n": 0}, {"k": 1}, {"seed": -1}, {"keep": (3, 2)}, {"keep": (0, 9)}])
def test_numbers_that_cannot_be(changed: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Expected"):
        settings(**changed)


def test_a_report_without_a_measured_task() -> None:
    report = DifficultyReport([TaskCount(0, None, 0, 0, "task")], 8, (1, 7))
    assert (report.pass_at_k, report.mean_success, report.kept) == (None, None, [])
    json.dumps(report.to_dict(), allow_nan=False)


def test_kept_tasks_are_played(tmp_path: Path) -> None:
    out = tmp_path / "kept.jsonl"
    report = run(out)
    env = AgentWorldVectorEnv("text_world", 2, tasks=str(out), autoreset_mode="Disabled")
    try:
        summary = Rollout(env, NoisyExpert(0.0), 20).run()
    finally:
        env.close()
    assert summary.n_valid == 20
    assert {episode.task_id for episode in summary.episodes} <= {count.id for count in report.kept}
