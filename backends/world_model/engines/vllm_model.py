"""`LoadedVLLM`: one copy of a model per process, however many environments use it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from agentworld_envs.backends.world_model.engines.base import Message
from agentworld_envs.backends.world_model.engines.transformers_model import LoadedModel
from agentworld_envs.backends.world_model.engines.vllm_driver import Driver
from agentworld_envs.backends.world_model.engines.vllm_loading import find_model, load_engine
from agentworld_envs.backends.world_model.engines.vllm_options import VLLMOptions
from agentworld_envs.interface import ConfigError


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

    def encode(self, messages: Sequence[Message], prefill: str) -> list[int]:
        """The prompt as tokens, up to and including the prefill of the assistant's turn."""
        with self._encoding:  # the tokeniser changes settings of its own now and then
            return self._prompts.encode(messages, prefill, self.options.chat_template)

    @cached_property
    def think_end(self) -> int | None:
        """Id of `</think>`, `None` when the model has no such token. Kept: it takes a look at the whole vocabulary."""
        found: int | None = self._prompts.tokenizer.get_vocab().get("</think>")
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
        return load_engine(self.location, self.options, f"vllm:{self.path}")


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
