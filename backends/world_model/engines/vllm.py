"""`VLLMEngine`: a model in this process under vLLM, a whole wave of requests as one batch."""

from __future__ import annotations

import json
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Message, Sampling
from agentworld_envs.backends.world_model.engines.keys import files_digest, request_key
from agentworld_envs.backends.world_model.engines.vllm_driver import Flight
from agentworld_envs.backends.world_model.engines.vllm_loading import adapter_rank, check_installed, find_model
from agentworld_envs.backends.world_model.engines.vllm_model import LoadedVLLM, release, shared_model
from agentworld_envs.backends.world_model.engines.vllm_options import VLLMOptions
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.interface import (
    ContextOverflow,
    ProviderError,
    ProviderTimeout,
    Usage,
    classify,
    unknown_name,
)

ADAPTER_FILES: Final = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")


@dataclass(slots=True)
class _Slot:
    """One request on its way."""

    request: GenerationRequest
    flight: Flight
    joined: bool
    started: float

    @property
    def end(self) -> float:
        return self.started + self.request.deadline_s


class VLLMEngine(Engine):
    """Generates with a local model under vLLM's continuous batching.

    All requests of a `generate` enter the same batch, with their own seeds, limits, stop strings and adapters; those of
    other threads join it. The model is loaded at the first `generate` (the time does not count towards deadlines), once
    per process for all engines with the same settings, and freed when the last of them is closed. A request that is
    over its deadline is aborted, and the others' answers come back. Identical requests in flight are made once.

    In half precision an answer may depend on what else is in the batch, because kernels add up in another order. With
    `dtype="float32"` it does not, as far as was seen; a cassette makes it certain.

    Args:
        path: hub id or folder.
        revision: commit or branch of a hub id; for a path, any label. Part of every cassette key.
        options: see `VLLMOptions`.
    """

    def __init__(self, path: str, revision: str = "", options: VLLMOptions | None = None) -> None:
        self.options = options or VLLMOptions()
        self.path = path
        self.model = f"vllm:{path}"
        changes = self.options.model_dump(
            mode="json",
            include={"adapter", "chat_template", "sampling_args", "dtype", "engine_args"},
            exclude_defaults=True,
        )
        if self.options.adapters:  # a name stays while what is behind it is trained on
            changes["adapters"] = {
                name: files_digest(Path(path), ADAPTER_FILES) for name, path in self.options.adapters.items()
            }
        extra = json.dumps(changes, sort_keys=True) if changes else ""
        self.revision = f"{revision}+{extra}" if extra else revision
        self._weights = revision
        self._opening = threading.Lock()
        self._closer: weakref.finalize[..., Any] | None = None
        self._loaded: LoadedVLLM | None = None

    @classmethod
    def parse(cls, text: str, revision: str, options: Mapping[str, Any]) -> VLLMEngine:
        """Make the engine of a path.

        Raises:
            ConfigError: an option is wrong.
        """
        return cls(text, revision, checked(VLLMOptions, "option of the vllm engine", options))

    def check(self) -> None:
        find_model(self.path, self._weights)
        for name, folder in self.options.adapters.items():
            adapter_rank(name, folder)
        check_installed()

    def check_sampling(self, sampling: Sampling) -> None:
        if sampling.adapter and sampling.adapter not in self.options.adapters:
            raise unknown_name("adapter", sampling.adapter, self.options.adapters)

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        return len(self._model().encode(messages, ""))

    def close(self) -> None:
        with self._opening:
            closer, self._closer, self._loaded = self._closer, None, None
        if closer is not None:
            closer()

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        try:
            loaded = self._model()
            driver = loaded.driver()
        except Exception as error:  # noqa: BLE001 - a model that cannot be loaded fails the wave, not the program
            return [Completion(failure=classify(error)) for _ in requests]
        answers: dict[int, Completion] = {}
        started = time.monotonic()
        flights: dict[bytes, Flight] = {}
        places: dict[int, bytes] = {}
        for place, request in enumerate(requests):
            key = request_key(self.model, self.revision, request)
            try:
                flights[key] = flights.get(key) or self._flight(loaded, driver.context_tokens, key, request)
                places[place] = key
            except Exception as error:  # noqa: BLE001 - what cannot be asked fails its own slot
                answers[place] = Completion(failure=classify(error))
        try:
            taken = driver.submit([flights[key] for key in places.values()])
        except ProviderError as error:
            return [Completion(failure=classify(error)) for _ in requests]
        slots = {
            place: _Slot(requests[place], flight, joined, started)
            for place, (flight, joined) in zip(places, taken, strict=True)
        }
        try:
            # The earliest deadline first, so that nobody's wait is somebody else's.
            for place in sorted(slots, key=lambda place: slots[place].end):
                slot = slots[place]
                slot.flight.done.wait(max(0.0, slot.end - time.monotonic()))
                answers[place] = self._answered(loaded, slot)
                driver.leave(slots.pop(place).flight)
        finally:
            for slot in slots.values():
                driver.leave(slot.flight)
        return [answers[place] for place in range(len(requests))]

    def _model(self) -> LoadedVLLM:
        with self._opening:
            if self._loaded is None:
                self.check()
                arguments = (self.path, self._weights, self.options, id(self))
                self._loaded = shared_model(*arguments)
                # Many users never call `close`.
                self._closer = weakref.finalize(self, release, *arguments)
            return self._loaded

    def _flight(self, loaded: LoadedVLLM, context: int, key: bytes, request: GenerationRequest) -> Flight:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        sampling = request.sampling
        self.check_sampling(sampling)
        prompt = loaded.encode(request.messages, sampling.prefill)
        if len(prompt) >= context:
            raise ContextOverflow(
                f"The prompt has {len(prompt)} tokens, the model's context {context}. Raise max_model_len in "
                "engine_options as far as the model goes, or set context_tokens with context_policy='drop_oldest'."
            )
        params = SamplingParams(
            **{
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "top_k": sampling.top_k,
                "max_tokens": min(sampling.max_tokens, context - len(prompt)),
                "stop": list(sampling.stop),
                "seed": request.seed,
                "output_kind": RequestOutputKind.FINAL_ONLY,
                **self.options.sampling_args,
            }
        )
        return Flight(key, prompt, params, loaded.lora(sampling.adapter or self.options.adapter))

    def _answered(self, loaded: LoadedVLLM, slot: _Slot) -> Completion:
        flight, seconds = slot.flight, time.monotonic() - slot.started
        if not flight.done.is_set():
            late = ProviderTimeout(
                f"No answer within {slot.request.deadline_s:g} s; it was aborted. Raise deadline_s, or lower "
                "sampling.max_tokens or the number of environments."
            )
            return Completion(usage=Usage(seconds=seconds), failure=classify(late))
        if flight.error is not None:
            return Completion(usage=Usage(seconds=seconds), failure=classify(flight.error))
        output = flight.output.outputs[0]
        reason = output.finish_reason or "unknown"
        if reason in ("abort", "error"):
            broken = ProviderError(f"vLLM ended the generation with {reason!r}.")
            return Completion(usage=Usage(seconds=seconds), failure=classify(broken))
        if slot.joined:
            return Completion(output.text, finish_reason=reason, usage=Usage(cache_hits=1, seconds=seconds))
        usage = Usage(
            prompt_tokens=len(flight.prompt),
            completion_tokens=len(output.token_ids),
            reasoning_tokens=self._reasoning_tokens(loaded, slot),
            seconds=seconds,
            cached_tokens=flight.output.num_cached_tokens or 0,
        )
        return Completion(output.text, finish_reason=reason, usage=usage)

    def _reasoning_tokens(self, loaded: LoadedVLLM, slot: _Slot) -> int:
        """Tokens up to the end of the thinking; the text itself is taken apart by the codec."""
        if slot.request.sampling.prefill or loaded.think_end is None:
            return 0
        tokens = list(slot.flight.output.outputs[0].token_ids)
        return tokens.index(loaded.think_end) + 1 if loaded.think_end in tokens else 0
