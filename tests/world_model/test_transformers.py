"""The transformers engine with a real, small language model."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from world_model.toy import ToyDomain, act, make_task

from agentworld_envs.backends.world_model import (
    GenerationRequest,
    Message,
    Sampling,
    WorldModelConfig,
    build_engine,
)
from agentworld_envs.interface import ConfigError

REQUIRED = "smollm2" in os.environ.get("AGENTWORLD_REQUIRE", "")
PATH = os.environ.get("AGENTWORLD_SMOLLM2", "")
needs_torch = pytest.mark.skipif(not REQUIRED and find_spec("torch") is None, reason="torch is not installed")
needs_model = pytest.mark.skipif(not REQUIRED and not PATH, reason="AGENTWORLD_SMOLLM2 does not point at a model")

RULES = (
    "You are a text world. The agent is in a kitchen with a table, a fridge and a sink. Answer in one sentence. " * 4
)


def ask(seed: int = 0, text: str = "I open the fridge.", **fields: Any) -> GenerationRequest:
    deadline_s = fields.pop("deadline_s", 600.0)
    sampling = Sampling(**{"max_tokens": 8, **fields})
    return GenerationRequest((Message("system", RULES), Message("user", text)), sampling, seed, deadline_s)


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    assert PATH, "set AGENTWORLD_SMOLLM2 to the folder or .gguf file of SmolLM2-135M-Instruct"
    import torch

    threads = torch.get_num_threads()
    # On a busy machine torch's threads wait for each other far longer than they work.
    torch.set_num_threads(1)
    engine = build_engine(f"transformers:{PATH}", options={"device": "cpu"})
    yield engine
    engine.close()
    engine.close()
    torch.set_num_threads(threads)


@needs_torch
def test_draws_follow_the_distribution() -> None:
    import torch

    from agentworld_envs.backends.world_model.engines.transformers_decoding import Sampler

    torch.manual_seed(0)
    logits = torch.randn(1, 12) * 2
    size = 20_000
    for sampling in (Sampling(temperature=1, top_p=1, top_k=0), Sampling(temperature=0.7, top_p=0.9, top_k=5)):
        sampler = Sampler([sampling] * size, list(range(size)), 0, "cpu")
        state = torch.get_rng_state()
        drawn = sampler(torch.zeros(size, 3, dtype=torch.long), logits.expand(size, -1)).argmax(dim=-1)
        assert torch.equal(state, torch.get_rng_state()), "the global generator is left alone"
        p = (logits[0] / sampling.temperature).softmax(0)
        order = p.argsort(descending=True)
        if sampling.top_k:
            p[order[sampling.top_k :]] = 0
            p /= p.sum()
            before = p[order].cumsum(0) - p[order]
            p[order[before >= sampling.top_p]] = 0
            p /= p.sum()
        counts = torch.bincount(drawn, minlength=12).float()
        assert counts[p == 0].sum() == 0
        expected = p * size
        chi2 = float(((counts - expected) ** 2 / expected)[p > 0].sum())
        assert chi2 < 40, "11 degrees of freedom: 1 in 30,000"


@needs_torch
def test_draws_of_successive_tokens_are_independent() -> None:
    import torch

    from agentworld_envs.backends.world_model.engines.transformers_decoding import gumbel

    seeds, tokens = torch.arange(20_000).unsqueeze(1), torch.zeros(20_000, 1, dtype=torch.long)
    columns = [gumbel(seeds, step, tokens + token).squeeze(1) for step in range(3) for token in range(3)]
    correlation = torch.corrcoef(torch.stack(columns)) - torch.eye(9)
    assert correlation.abs().max() < 0.035
    assert all(abs(float(column.mean()) - 0.5772) < 0.05 for column in columns)


@needs_torch
def test_greedy_and_mixed_batches() -> None:
    import torch

    from agentworld_envs.backends.world_model.engines.transformers_decoding import Sampler

    logits = torch.tensor([[0.0, 3.0, 1.0, 2.0]] * 3)
    samplings = [Sampling(temperature=0), Sampling(top_k=1), Sampling(top_p=1e-6, top_k=0)]
    for seed in range(50):
        out = Sampler(samplings, [seed] * 3, 0, "cpu")(torch.zeros(3, 1, dtype=torch.long), logits)
        assert out.argmax(dim=-1).tolist() == [1, 1, 1]


@needs_model
def test_seeds_and_batches(engine: Any) -> None:
    import torch

    state = torch.get_rng_state()
    texts = ["I open the fridge.", "I go to the sink and look at all of the many dishes in it.", "Dance!"]
    batch = engine.generate([ask(i, text) for i, text in enumerate(texts)])
    alone = engine.generate([ask(1, texts[1])])
    assert all(c.failure is None and c.text for c in batch)
    assert batch[1].text == alone[0].text
    assert batch[1].usage.completion_tokens == 8
    assert batch[1].finish_reason == "length"
    assert batch[1].usage.prompt_tokens == engine.count_tokens(ask(1, texts[1]).messages)
    many = engine.generate([ask(i, temperature=1.5, top_k=0, top_p=1) for i in range(4)])
    assert len({c.text for c in many}) == 4
    assert torch.equal(state, torch.get_rng_state())


@needs_model
def test_what_goes_wrong_in_one_slot_stays_there(engine: Any) -> None:
    long = engine.generate([ask(0, "x " * 9000), ask(1), ask(2, max_tokens=4000, deadline_s=0.5), ask(1)])
    kinds = [c.failure.kind if c.failure else None for c in long]
    assert kinds == ["context_overflow", None, "provider_timeout", None]
    assert long[1].text == long[3].text


@needs_model
def test_stop_strings(engine: Any) -> None:
    (whole,) = engine.generate([ask(3, max_tokens=12)])
    word = whole.text.split()[2]
    (cut,) = engine.generate([ask(3, max_tokens=12, stop=(word,))])
    assert cut.finish_reason == "stop"
    assert cut.text == whole.text.partition(word)[0]


@needs_model
def test_earlier_prompts_are_not_read_again(engine: Any) -> None:
    from agentworld_envs.backends.world_model.engines.transformers_prefix import PrefixStore

    messages = [Message("system", RULES), Message("user", "I open the fridge."), Message("assistant", "It is open.")]
    greedy = Sampling(max_tokens=6, temperature=0)
    turns = [
        [GenerationRequest((*messages[:n], Message("user", f"I take egg {i}.{' Now!' * i}")), greedy) for i in range(3)]
        for n in (1, 3)
    ]
    kept = [[c.text for c in engine.generate(turn)] for turn in turns]
    loaded = engine._model()
    store = loaded.prefixes(0)
    batch, _ = store.batch([loaded.encode(r.messages, "", {}) for r in turns[1]], 0)
    assert batch.ids.shape[1] - batch.known <= 8, "only the end is new"
    loaded._prefixes = PrefixStore(loaded.model, 0)
    try:
        assert [[c.text for c in engine.generate(turn)] for turn in turns] == kept
    finally:
        loaded._prefixes = store
    store.clear()
    small = PrefixStore(loaded.model, 1000)
    loaded._prefixes = small
    try:
        assert [c.text for c in engine.generate(turns[0])] == kept[0]
        assert not small._entries, "the budget holds"
    finally:
        loaded._prefixes = store


@needs_model
def test_engines_share_one_copy_which_is_freed_with_the_last(engine: Any) -> None:
    from agentworld_envs.backends.world_model.engines import transformers_model

    other = build_engine(f"transformers:{PATH}", options={"device": "cpu"})
    assert other._model() is engine._model()
    apart = build_engine(f"transformers:{PATH}", options={"device": "cpu", "dtype": "bfloat16"})
    assert apart._model() is not engine._model()
    before = len(transformers_model._LOADED)
    apart.close()
    gc.collect()
    assert len(transformers_model._LOADED) == before - 1


@needs_model
def test_a_whole_step_on_a_real_model(engine: Any) -> None:
    from agentworld_envs.backends.world_model import WorldModelBackend

    config = WorldModelConfig.of(
        model=engine.model, prefill=True, suffix=False, sampling=Sampling(max_tokens=24), max_retries=0
    )
    backend = WorldModelBackend(engine, config)
    sessions = backend.open(ToyDomain(), [make_task()] * 2, [0, 1])
    transitions = backend.step(sessions, [act("add 1")] * 2)
    for transition in transitions:
        assert transition.failure is None or transition.failure.kind == "simulator_malformed"
        assert transition.usage is not None
        assert transition.usage.prompt_tokens > 50


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none", "There is no model"),
        (lambda folder: folder, "neither"),
        (lambda folder: folder / "a.txt", "not a .gguf"),
        (lambda folder: folder / "two", "2 .gguf files"),
    ],
)
def test_paths_that_are_no_models(tmp_path: Path, make: Any, words: str) -> None:
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "two").mkdir()
    for name in ("x.gguf", "y.gguf"):
        (tmp_path / "two" / name).write_text("")
    with pytest.raises(ConfigError, match=words):
        WorldModelConfig.of(model=f"transformers:{make(tmp_path)}").build()


@needs_torch
def test_a_model_that_cannot_be_loaded_fails_the_wave(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_text("no model")
    answers = build_engine(f"transformers:{tmp_path}").generate([ask(), ask()])
    assert [a.failure.kind for a in answers if a.failure] == ["config", "config"]
