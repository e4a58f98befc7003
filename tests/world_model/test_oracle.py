"""The oracle keeps real worlds between steps: they go with their episodes, and never fail another one."""

from __future__ import annotations

from contextlib import closing
from typing import ClassVar

import pytest

from agentworld_envs import AgentWorldEnv, AgentWorldVectorEnv
from agentworld_envs.backends.world_model import WorldModelConfig
from agentworld_envs.backends.world_model.engines import oracle
from agentworld_envs.domains.text_world.domain import TextWorld
from agentworld_envs.domains.text_world.world import HouseWorld
from agentworld_envs.interface import Task


class Counted(HouseWorld):
    """Counts what is open."""

    live: ClassVar[set[int]] = set()
    resets: ClassVar[list[int]] = []
    stumbles: ClassVar[bool] = False

    def reset(self) -> str:
        self.live.add(id(self))
        self.resets.append(id(self))
        return super().reset()

    def close(self) -> None:
        if self.stumbles:
            raise OSError("cannot remove the sandbox")
        self.live.discard(id(self))


class CountedWorld(TextWorld):
    def world(self, task: Task) -> HouseWorld:
        made = super().world(task)
        return Counted(made.state, task.instruction)


@pytest.fixture(autouse=True)
def fresh() -> None:
    Counted.live.clear()
    Counted.resets.clear()


def test_a_world_goes_on_with_its_episode_and_goes_with_it() -> None:
    backend = WorldModelConfig.of(model="scripted:oracle").build()
    with closing(AgentWorldEnv(CountedWorld(), backend=backend)) as env:
        env.reset(seed=0)
        for _ in range(5):
            env.step("look")
        assert len(Counted.resets) == len(Counted.live) == 1
        with closing(env.fork()) as twin:
            assert twin.step("inventory")[0] == env.step("inventory")[0]
            assert len(Counted.live) == 2
        assert len(Counted.live) == 1
    assert not Counted.live
    backend.shutdown()


def test_most_worlds_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "MOST_WORLDS", 2)
    settings = {"backend": "world_model", "model": "scripted:oracle"}
    with (
        closing(AgentWorldVectorEnv(CountedWorld(), num_envs=5, **settings)) as many,
        closing(AgentWorldVectorEnv(TextWorld(), num_envs=5)) as real,
    ):
        assert list(many.reset(seed=3)[0]) == list(real.reset(seed=3)[0])
        for action in ("look", "inventory", "look"):
            assert list(many.step([action] * 5)[0]) == list(real.step([action] * 5)[0])
        assert len(Counted.live) == 2
    assert not Counted.live


def test_a_world_that_cannot_be_closed_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Counted, "stumbles", True)
    env = AgentWorldEnv(CountedWorld(), backend="world_model", model="scripted:oracle")
    env.reset(seed=0)
    env.step("look")
    env.reset(seed=1)
    assert env.step("look")[4]["failure"] is None
    env.close()
    assert "could not be closed" in caplog.text
