"""The engine of bundled models: a tiny random one, against transformers and against itself in other batches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from world_model.small import held, small_folder

from agentworld_envs.backends.world_model import GenerationRequest, Message, Sampling, WorldModelConfig, build_engine
from agentworld_envs.backends.world_model.codec import PREFILL
from agentworld_envs.backends.world_model.engines.bundled import BundledEngine, LoadedModel
from agentworld_envs.backends.world_model.engines.bundled_threads import _openblas, one_thread
from agentworld_envs.interface import ConfigError

GREEDY = Sampling(temperature=0, max_tokens=24, prefill=PREFILL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_folder(tmp_path_factory.mktemp("small"))


def requests(count: int, sampling: Sampling = GREEDY) -> list[GenerationRequest]:
    return [GenerationRequest((Message("user", row.prompt),), sampling, seed=i) for i, row in enumerate(held()[:count])]


def test_a_row_does_not_depend_on_its_batch(folder: Path) -> None:
    for sampling in (GREEDY, GREEDY.model_copy(update={"temperature": 0.8, "top_k": 30, "top_p": 0.9})):
        engine = BundledEngine(str(folder))
        asked = requests(40, sampling)
        together = engine.generate(asked)
        assert [engine.generate([request])[0].text for request in asked] == [answer.text for answer in together]
        assert [answer.text for answer in engine.generate(asked[::-1])][::-1] == [answer.text for answer in together]


def test_equal_prompts_get_equal_answers_and_seeds_make_others(folder: Path) -> None:
    engine = BundledEngine(str(folder))
    first = requests(1)[0]
    assert len({answer.text for answer in engine.generate([first] * 5)}) == 1
    wild = Sampling(temperature=3.0, top_p=1.0, top_k=0, max_tokens=12, prefill=PREFILL)
    drawn = [GenerationRequest(first.messages, wild, seed=seed) for seed in range(8)]
    texts = [answer.text for answer in engine.generate(drawn)]
    assert len(set(texts)) > 4
    assert texts == [answer.text for answer in engine.generate(drawn)]


def test_the_same_scores_as_transformers(folder: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loaded = LoadedModel(folder)
    prompts = []
    for row in held()[:24]:
        messages = [{"role": "user", "content": row.prompt}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + PREFILL
        prompts.append(loaded.encode([Message("user", row.prompt)], PREFILL))
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == prompts[-1]
        assert tokenizer.decode(prompts[-1], skip_special_tokens=True) == loaded.tokenizer.decode(prompts[-1])
    scores, cache, lengths = loaded.network.prefill(prompts)
    written = [list(prompt) for prompt in prompts]
    for _ in range(20):
        for i, prompt in enumerate(written):
            with torch.inference_mode():
                expected = model(torch.tensor([prompt])).logits[0, -1].numpy()
            np.testing.assert_allclose(scores[i], expected, atol=2e-4, rtol=1e-4)
            prompt.append(int(expected.argmax()))
        scores = loaded.network.extend(np.array([prompt[-1] for prompt in written]), cache, lengths)
        lengths = lengths + 1


def test_threads_of_others_stay_as_they_are(folder: Path) -> None:
    threads = _openblas()
    if threads is None:
        pytest.skip("numpy is not built on OpenBLAS here")
    before = threads.get()
    try:
        threads.set(2)
        count = threads.get()
        with one_thread():
            assert threads.get() == 1
        assert threads.get() == count
        BundledEngine(str(folder)).generate(requests(2))
        assert threads.get() == count
    finally:
        threads.set(before)


def test_limits(folder: Path) -> None:
    engine = BundledEngine(str(folder))
    row = held()[0]
    messages = (Message("user", row.prompt),)
    short = engine.generate([GenerationRequest(messages, GREEDY.model_copy(update={"max_tokens": 1}))])[0]
    assert short.usage.completion_tokens == 1
    assert short.finish_reason in ("length", "stop")
    endless = engine.generate([GenerationRequest((Message("user", "x" * 5000),), GREEDY), requests(1)[0]])
    assert endless[0].failure is not None
    assert endless[0].failure.kind == "context_overflow"
    assert endless[1].failure is None
    late = engine.generate([GenerationRequest(messages, GREEDY, deadline_s=0.0)])[0]
    assert late.failure is None or late.failure.kind == "provider_timeout"
    assert engine.generate([]) == []


def test_what_cannot_be_loaded_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Did you mean"):
        build_engine("bundled:text_wrld")
    with pytest.raises(ConfigError, match="agentworld train"):
        build_engine(f"bundled:{tmp_path}")
    with pytest.raises(ConfigError, match="one revision"):
        build_engine("bundled:text_world", "main")
    with pytest.raises(ConfigError, match="option of the bundled engine"):
        build_engine("bundled:text_world", options={"device": "cuda"})
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        broken = tmp_path / name.replace(".", "_")
        broken.mkdir()
        for path in folder.glob("*.*"):
            (broken / path.name).write_bytes(path.read_bytes() if path.name != name else path.read_bytes()[:60])
        answer = BundledEngine(str(broken)).generate(requests(2))
        assert [row.failure is not None and row.failure.kind for row in answer] == ["config", "config"], name


def test_recommended_settings_hold_where_nothing_is_said() -> None:
    plain = WorldModelConfig(model="bundled:text_world")
    assert (plain.layout, plain.tracked_state, plain.prefill, plain.sampling.temperature) == (
        "compact",
        True,
        True,
        0.0,
    )
    own = WorldModelConfig(model="bundled:text_world", tracked_state=False, sampling=Sampling(temperature=0.5))
    assert (own.layout, own.tracked_state, own.sampling.temperature) == ("compact", False, 0.5)
    assert own.sampling.max_tokens == plain.sampling.max_tokens
    other = WorldModelConfig(model="scripted:oracle")
    assert (other.layout, other.tracked_state, other.prefill) == ("agentworld", False, False)
    assert json.loads(plain.model_dump_json())["layout"] == "compact"
