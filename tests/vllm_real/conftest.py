"""A real vLLM with SmolLM2-135M on the CPU: once in this process and once as a server, for all tests of this folder.

Loading takes most of a minute each, so the server starts at once and is waited for when a test asks for it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vllm_real.support import CONTEXT, MODEL, PLAIN, QUICK, Server, alive

from agentworld_envs.backends.world_model import Engine, WorldModelConfig, build_engine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    missing = "vLLM is not installed" if find_spec("vllm") is None else "AGENTWORLD_VLLM_MODEL names no model"
    if (find_spec("vllm") is None or not MODEL) and "vllm" not in os.environ.get("AGENTWORLD_REQUIRE", "").split(","):
        for item in items:
            if here in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter with random weights, so large that it changes every answer."""
    from safetensors.numpy import save_file

    folder = tmp_path_factory.mktemp("adapter")
    config = json.loads((Path(MODEL) / "config.json").read_text())
    hidden, rank = config["hidden_size"], 8
    keys = config["num_key_value_heads"] * (hidden // config["num_attention_heads"])
    rng, weights = np.random.default_rng(0), {}
    for layer in range(config["num_hidden_layers"]):
        for module, width in (("q_proj", hidden), ("v_proj", keys)):
            name = f"base_model.model.model.layers.{layer}.self_attn.{module}"
            weights[f"{name}.lora_A.weight"] = rng.normal(0, 0.1, (rank, hidden)).astype(np.float32)
            weights[f"{name}.lora_B.weight"] = rng.normal(0, 0.1, (width, rank)).astype(np.float32)
    save_file(weights, folder / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": rank, "lora_alpha": 16, "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps({**settings, "target_modules": ["q_proj", "v_proj"]}))
    return folder


@pytest.fixture(scope="session")
def options(adapter: Path) -> dict[str, Any]:
    """Options under which all engines of this folder share one model in this process."""
    return {
        "max_model_len": CONTEXT,
        "dtype": "float32",  # half precision decides ties otherwise in batches of another size
        "enforce_eager": True,
        "cpu_threads": 1,
        "adapters": {"loud": str(adapter)},
        "engine_args": {"block_size": 32},
    }


@pytest.fixture(scope="session", autouse=True)
def server(adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(adapter, tmp_path_factory.mktemp("server") / "log")
    yield server
    started = server.processes()
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.communicate()
    end = time.monotonic() + 30
    while alive(started) and time.monotonic() < end:
        time.sleep(0.2)
    assert len(started) >= 3, "the command, its guard, the server"
    assert not alive(started), "killed -9, the command leaves processes behind"


@pytest.fixture(scope="session")
def untouched() -> list[str]:
    """The answer to `PLAIN` before any adapter was loaded."""
    return []


@pytest.fixture(scope="session")
def process_engine(options: dict[str, Any], untouched: list[str]) -> Iterator[Engine]:
    """The engine in this process; it keeps the model loaded for all others with the same options."""
    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist(), dict(os.environ)
    engine = build_engine(f"vllm:{MODEL}", options=options)
    [answer] = engine.generate([PLAIN])
    assert answer.failure is None, answer.failure
    untouched.append(answer.text)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before[:2], "loading touches global generators"
    assert os.environ.get("LD_PRELOAD") == before[2].get("LD_PRELOAD")
    assert "VLLM_ENABLE_V1_MULTIPROCESSING" not in os.environ
    yield engine
    engine.close()
    engine.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("agentworld-vllm")]


@pytest.fixture(params=["process", "server"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(kind: str, process_engine: Engine, server: Server) -> Iterator[Engine]:
    """A real engine of either kind."""
    if kind == "process":
        yield process_engine
        return
    client = build_engine(server.model)
    yield client
    client.close()


@pytest.fixture
def config(kind: str, process_engine: Engine, server: Server, options: dict[str, Any]) -> Callable[..., Any]:
    """Makes backend configurations over either kind of engine, with quick predictions."""

    def make(**fields: Any) -> WorldModelConfig:
        where: dict[str, Any] = {"model": server.model}
        if kind == "process":
            where = {"model": f"vllm:{MODEL}", "engine_options": options}
        return WorldModelConfig.of(**{"sampling": QUICK, "prefill": True, "suffix": False, **where, **fields})

    return make


@pytest.fixture
def vllm_model(server: Server) -> str:
    """The model string of the server, for tests that need some real model and no options."""
    return server.model
