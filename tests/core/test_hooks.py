"""Every hook of a domain and a world may break; only its own episode does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv, ConfigError, Failure, Task, TaskList
from agentworld_envs.backends.world_model import WorldModelConfig
from agentworld_envs.interface import (
    Action,
    EpisodeView,
    JudgeError,
    Judgement,
    RewardModel,
    SandboxError,
    TaskError,
    Verdict,
    World,
)
from agentworld_envs.testing import CounterDomain
from agentworld_envs.testing.counter import CounterWorld
from agentworld_envs.trajectories import read_trajectories


def test_the_state_in_which_the_world_ends_is_judged() -> None:
    with closing(AgentWorldEnv(CounterDomain())) as env:
        env.reset(options={"task_id": "count-4"})
        assert env.step("add 2")[1] == 0.5
        observation, reward, terminated, _, info = env.step("give up")
        assert observation == "You gave up, and the counter shows 0."
        assert (reward, terminated, info["score"], info["success"]) == (-0.5, True, 0.0, False)


class DeadWorld(CounterWorld):
    """Dies at `add 3`; whoever asks it anything afterwards gets an error, too."""

    dead = False

    def act(self, action: Action) -> str:
        if action.command == "add 3":
            self.dead = True
            raise SandboxError("the machine is gone")
        return super().act(action)

    def commands(self) -> list[str]:
        if self.dead:
            raise SandboxError("nobody answers")
        return super().commands()

    def close(self) -> None:
        if self.dead:
            raise SandboxError("nothing to close")


class DeadDomain(CounterDomain):
    def world(self, task: Task) -> World:
        return DeadWorld(task)


def test_a_dead_machine_neither_stops_the_others_nor_the_next_episode(caplog: pytest.LogCaptureFixture) -> None:
    with closing(AgentWorldVectorEnv(DeadDomain(), 3)) as env:
        env.reset(seed=0, options={"task_id": "count-20"})
        *_, truncations, infos = env.step(["add 1", "add 3", "add 1"])
        assert truncations.tolist() == [False, True, False]
        assert infos["admissible_commands"][1] == []
        *_, infos = env.step(["add 1"] * 3)
        assert infos["step"].tolist() == [2, 0, 2]
        assert infos["failure"].tolist() == [None] * 3
        assert "could not be closed" in caplog.text


class EndlessWorld(CounterWorld):
    @property
    def ended(self) -> bool:
        raise ValueError("cannot tell")


class BrokenDomain(CounterDomain):
    """Breaks where it is told to."""

    def __init__(self, hook: str) -> None:
        self.hook = hook

    def refuse(self, task: Task, action: Action) -> str | None:
        if self.hook == "refuse":
            raise ValueError("cannot judge this action")
        return super().refuse(task, action)

    def tools(self, task: Task) -> list[dict[str, Any]]:
        if self.hook == "tools":
            raise ValueError("cannot list the tools")
        return [] if self.hook == "no tools" else super().tools(task)

    def verify(self, task: Task, evidence: Any) -> Verdict:
        if self.hook == "verify":
            raise ValueError("cannot verify")
        odd: dict[str, Any] = {"no verdict": None, "no score": Verdict(None, False)}  # type: ignore[arg-type]
        return odd.get(self.hook, super().verify(task, evidence))

    def instructions(self, task: Task) -> str:
        if self.hook == "instructions":
            raise ValueError("cannot explain")
        return super().instructions(task)

    def world(self, task: Task) -> World:
        return EndlessWorld(task) if self.hook == "ended" else super().world(task)


@pytest.mark.parametrize("hook", ["refuse", "tools", "instructions", "verify", "no verdict", "no score", "ended"])
def test_a_broken_hook_is_a_failure_of_the_episode(hook: str) -> None:
    with closing(AgentWorldEnv(BrokenDomain(hook))) as env:
        for _ in range(2):
            env.reset(seed=0)
            _, reward, terminated, truncated, info = env.step("add 1")
            assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)
            assert info["failure"].kind == ("judge" if hook.startswith("no ") else "internal")


def test_tools_that_no_action_can_be_parsed_for_are_a_mistake_of_the_domain() -> None:
    with closing(AgentWorldEnv(BrokenDomain("no tools"))) as env, pytest.raises(ConfigError, match="default tool"):
        env.reset(seed=0)


class FlakyTasks(TaskList):
    """Every fourth read fails."""

    reads = 0

    def __getitem__(self, index: int) -> Task:
        self.reads += 1
        if self.reads % 4 == 0:
            raise TaskError("the game file vanished")
        return super().__getitem__(index)


def test_a_task_that_cannot_be_read_is_a_failed_episode_of_its_slot(tmp_path: Path) -> None:
    tasks = FlakyTasks([CounterDomain.task(9)])
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldVectorEnv(CounterDomain(), 3, tasks=tasks, record=path)) as env:
        env.reset(seed=0)
        env.step(["give up", "add 1", "add 1"])
        *_, infos = env.step(["add 1"] * 3)  # slot 0 starts anew, with a task that cannot be read
        assert [failure and failure.kind for failure in infos["failure"]] == ["task", None, None]
        *_, terminations, truncations, infos = env.step(["add 1"] * 3)
        assert terminations.tolist() == [False] * 3
        assert truncations.tolist() == [True, False, False]
        *_, infos = env.step(["add 1"] * 3)
        assert infos["failure"].tolist() == [None] * 3
        assert infos["step"].tolist() == [0, 4, 4]
    assert [t.reward_valid for t in read_trajectories(path)] == [True, True, True, False, True]
    with closing(AgentWorldEnv(CounterDomain(), tasks=FlakyTasks([CounterDomain.task(9)]))) as env:
        kinds = [(env.reset()[1]["failure"] or ("",))[0] for _ in range(4)]
        assert kinds == ["", "", "", "task"]
        with closing(env.fork()) as twin:
            assert twin.step("look")[3]


class Final(RewardModel):
    """Scores at the end only, or cannot."""

    name = "final"

    def __init__(self, able: bool) -> None:
        self.able = able
        self.closed = 0

    def step(self, episodes: Sequence[EpisodeView]) -> list[Judgement]:
        return [Judgement(Verdict(0.0, False)) for _ in episodes]

    def final(self, episodes: Sequence[EpisodeView], latest: Sequence[Judgement]) -> list[Judgement]:
        if not self.able:
            raise JudgeError("the judge is ill")
        return [Judgement(Verdict(1.0, True)) for _ in episodes]

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("last", ["look", "nonsense"])
@pytest.mark.parametrize("able", [True, False])
def test_what_was_decided_at_the_end_is_replayed(tmp_path: Path, last: str, able: bool) -> None:
    path = tmp_path / "t.jsonl"
    actions = ["add 1", last]
    with closing(AgentWorldEnv(CounterDomain(), record=path, max_steps=2, reward=Final(able))) as env:
        env.reset(seed=0, options={"task_id": "count-9"})
        recorded = [env.step(action) for action in actions]
    assert recorded[-1][1] == (1.0 if able else 0.0)
    with closing(AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")) as env:
        env.reset(seed=0)
        for expected, action in zip(recorded, actions, strict=True):
            actual = env.step(action)
            for info in (expected[-1], actual[-1]):
                info.update(backend="", source="")
            if action == actions[-1] or able:
                assert actual == expected


def test_a_reward_model_that_was_given_is_not_closed() -> None:
    reward = Final(able=True)
    AgentWorldEnv(CounterDomain(), reward=reward).close()
    assert reward.closed == 0


@pytest.mark.parametrize("given", [{"model": "scripted:liar"}, {"cassette": "record:x.sqlite"}])
def test_model_and_cassette_belong_into_a_given_configuration(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="give model and cassette to it"):
        AgentWorldEnv(CounterDomain(), backend=WorldModelConfig(model="scripted:oracle"), **given)


def test_episodes_of_one_task_are_replayed_by_their_actions_and_limits(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for seed, limit in ((0, 2), (1, 10)):
        with closing(AgentWorldEnv(CounterDomain(), record=path, max_steps=limit)) as env:
            env.reset(seed=seed, options={"task_id": "count-20"})
            for _ in range(limit):
                env.step("add 1")
    with closing(AgentWorldEnv(CounterDomain(), record=path)) as env:
        env.reset(seed=1, options={"task_id": "count-20"})
        env.step("add 1")
        with closing(env.fork()) as twin:
            twin.step("add 2")
    with closing(AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")) as env:
        env.reset(seed=1)
        assert [env.step("add 1")[3] for _ in range(10)] == [False] * 9 + [True]
        env.reset(seed=1)
        env.step("add 1")
        assert env.step("add 2")[0] == "The counter shows 3."


def test_abandoned_episodes_are_failures_in_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with closing(AgentWorldVectorEnv(CounterDomain(), 1, autoreset_mode="Disabled", record=path)) as env:
        env.reset(seed=0)
        env.step(["add 1"])
        env.runner.abandon(env.episodes, Failure("provider", "the model of the agent is gone", True))
        assert env.step(["add 1"])[3].tolist() == [True]
    [trajectory] = read_trajectories(path)
    assert trajectory.close is not None
    assert trajectory.close.failure is not None
    assert not trajectory.reward_valid


def test_a_recorded_success_is_not_given_for_other_actions(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    kwargs: dict[str, Any] = {"backend": "world_model", "model": "scripted:nothing", "reward": "replay"}
    with closing(AgentWorldEnv(CounterDomain(), record=path, max_steps=3, **kwargs)) as env:
        env.reset(seed=0, options={"task_id": "count-2"})
        assert [env.step(action)[1] for action in ("add 1", "add 1", "")] == [0.0, 0.0, 1.0]
    with closing(AgentWorldEnv(CounterDomain(), backend=f"replay:{path}")) as env:
        env.reset(seed=0)
        assert [env.step("")[1] for _ in range(3)] == [0.0] * 3
        env.reset(seed=0)
        assert [env.step(action)[1] for action in ("add 1", "add 1", "")] == [0.0, 0.0, 1.0]
