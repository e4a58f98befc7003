"""Training small world models: its examples, and that it can be interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
from text_world.support import DOMAIN, call

from agentworld_envs.domains.text_world.generate import split_of
from agentworld_envs.domains.text_world.wording import NOTHING
from agentworld_envs.interface import ConfigError
from agentworld_envs.training import text_world_examples
from agentworld_envs.training.scoring import held_out
from agentworld_envs.training.text_world_examples import examples


def test_examples_are_a_pure_function_of_seed_and_number() -> None:
    assert examples(1, 5) == examples(1, 5)
    assert examples(1, 5) != examples(2, 5)
    assert examples(1, 5) != examples(1, 6)


def test_examples_have_every_verb_and_refusals() -> None:
    verbs = {row.verb for index in range(60) for row in examples(3, index)}
    assert verbs == set(text_world_examples._WEIGHTS) | {"refused"}
    refused = [row for index in range(20) for row in examples(3, index) if row.verb == "refused"]
    assert {row.answer for row in refused} == {NOTHING}


def test_training_sees_no_household_of_the_other_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    original = text_world_examples.generate

    def note(split: str, index: int) -> object:
        task = original(split, index)
        seen.append(task)
        return task

    monkeypatch.setattr(text_world_examples, "generate", note)
    for index in range(40):
        examples(4, index)
    assert len(seen) > 5
    assert {split_of(task.initial_state) for task in seen} == {"train"}


def test_a_held_out_answer_is_that_of_the_real_world() -> None:
    task = DOMAIN.tasks("valid_unseen")[0]
    world = DOMAIN.world(task)
    world.reset()
    commands = DOMAIN.expert(task, world)
    rows = held_out(games=1)[: len(commands)]
    for command, row in zip(commands, rows, strict=True):
        assert row.prompt.endswith(f"\nAction: {command}")
        assert row.answer == world.act(call(command))


def test_an_interrupted_training_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from agentworld_envs.training.model_export import export
    from agentworld_envs.training.trainer import SIZES, Trainer

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        whole = Trainer(tmp_path / "whole", SIZES["micro"])
        whole.train(steps=6)
        first = Trainer(tmp_path / "parts", SIZES["micro"])
        assert first.train(steps=6, stop_after=2).step == 2
        second = Trainer(tmp_path / "parts", SIZES["micro"], resume=True)
        assert second.train(steps=6).step == 6
    finally:
        torch.set_num_threads(threads)
    assert second.progress.chunk == whole.progress.chunk
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, second.model.state_dict()[name]), name
    with pytest.raises(ConfigError, match="exists already"):
        Trainer(tmp_path / "whole", SIZES["micro"])
    with pytest.raises(ConfigError, match="no checkpoint"):
        Trainer(tmp_path / "none", SIZES["micro"], resume=True)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"holds config.json and no checkpoint"):
        Trainer(tmp_path / "theirs", SIZES["micro"])
    with pytest.raises(ConfigError, match=r"holds config.json and no checkpoint"):
        export(whole, tmp_path / "theirs", "train")
    with pytest.raises(ConfigError, match="Cannot use the folder"):
        Trainer(tmp_path / "theirs" / "config.json", SIZES["micro"])
    with pytest.raises(ConfigError, match="same size and seed"):
        Trainer(tmp_path / "whole", SIZES["tiny"], resume=True)
    with pytest.raises(ConfigError, match="either steps or minutes"):
        whole.train()
