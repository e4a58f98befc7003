"""`TransformersEngine`: a model in this process, a wave at a time."""

from __future__ import annotations

import importlib.util
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Message
from agentworld_envs.backends.world_model.engines.transformers_model import LoadedModel, locate, shared_model
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.interface import (
    AgentWorldError,
    ConfigError,
    ContextOverflow,
    MissingExtraError,
    ProviderError,
    ProviderTimeout,
    Usage,
    classify,
)

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.engines.transformers_decoding import Stopper


logger = logging.getLogger(__name__)

PATIENT_TOKENS = 1_024
"""Predictions that may get longer than this on a CPU are warned of."""


class TransformersOptions(BaseModel):
    """How a model is loaded and batched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str = "auto"
    """`cpu`, `cuda`, `cuda:1`, ...; `auto` takes a GPU if there is one."""
    dtype: str = "auto"
    """`float32`, `bfloat16`, ...; `auto` is float32 on a CPU and the checkpoint's own type elsewhere."""
    max_batch: int = Field(default=32, ge=1)
    """Prompts in one forward pass; a larger wave is served in parts, prompts of similar length together."""
    prefix_cache_mb: int = Field(default=1024, ge=0)
    """MiB of attention states of earlier prompts that are kept, so that a turn reads only what is new; 0 keeps none.
    Models with windows or recurrent states do without."""
    chat_template: dict[str, Any] = Field(default_factory=dict)
    """Variables of the chat template, e.g. `{"enable_thinking": false}`; part of the revision, and so of cassettes."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """One request, tokenised."""

    place: int
    request: GenerationRequest
    prompt: list[int]
    limit: int
    end: float


class TransformersEngine(Engine):
    """Generates with a local model, batched with left padding.

    The model is loaded at the first `generate` (the time does not count towards deadlines), once per process for all
    engines of the same path, and used by one wave at a time. Deadlines are looked at between tokens.

    Args:
        path: hub id, folder, or `.gguf` file.
        revision: commit or branch of a hub id; for a path, any label. Part of every cassette key.
        options: see `TransformersOptions`.
    """

    def __init__(self, path: str, revision: str = "", options: TransformersOptions | None = None) -> None:
        self.options = options or TransformersOptions()
        self.path = path
        # The path as it was typed: what is behind it cannot be looked at while a cassette plays without it.
        self.model = f"transformers:{path}"
        extra = json.dumps(self.options.chat_template, sort_keys=True) if self.options.chat_template else ""
        self.revision = f"{revision}+{extra}" if extra else revision
        self._weights = revision
        self._loaded: LoadedModel | None = None
        self._warned = False

    @classmethod
    def parse(cls, text: str, revision: str, options: Mapping[str, Any]) -> TransformersEngine:
        """Make the engine of a path.

        Raises:
            ConfigError: an option is wrong.
        """
        return cls(text, revision, checked(TransformersOptions, "option of the transformers engine", options))

    def check(self) -> None:
        location = locate(self.path, self._weights)
        needed = ["torch", "transformers"] + (["gguf", "accelerate"] if location.gguf_file else [])
        absent = [name for name in needed if importlib.util.find_spec(name) is None]
        if absent:
            raise MissingExtraError(
                f"The transformers engine needs {' and '.join(absent)}, not installed here. Run: "
                "pip install 'agentworld-envs[transformers]'"
            )

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        return len(self._model().encode(messages, "", self.options.chat_template))

    def close(self) -> None:
        self._loaded = None

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        try:
            loaded = self._model()
            slots, failed = self._tokenised(loaded, requests)
        except Exception as error:  # noqa: BLE001 - a model that cannot be loaded fails the wave, not the program
            return [Completion(failure=classify(_load_error(self.model, error))) for _ in requests]
        answers = dict(failed)
        self._warn_of_patience(loaded, slots)
        if slots:
            patience = max(slot.end for slot in slots) - time.monotonic()
            if loaded.busy.acquire(timeout=max(0.0, patience)):
                try:
                    for part in _parts(slots, self.options.max_batch):
                        answers |= self._answered(loaded, part)
                finally:
                    loaded.busy.release()
        late = ProviderTimeout("The model was busy with other waves until the deadline. Raise deadline_s.")
        return [answers.get(place) or Completion(failure=classify(late)) for place in range(len(requests))]

    def _warn_of_patience(self, loaded: LoadedModel, slots: Sequence[_Slot]) -> None:
        """Say once that this may take long: on a CPU, thousands of tokens look like a hang."""
        longest = max((slot.limit for slot in slots), default=0)
        if longest > PATIENT_TOKENS and not self._warned and str(loaded.model.device) == "cpu":
            self._warned = True
            logger.warning(
                "%s may write up to %d tokens per observation on the CPU, which takes minutes. Lower "
                "WorldModelConfig(sampling=Sampling(max_tokens=...)), or --max-tokens on the command line.",
                self.model,
                longest,
            )

    def _model(self) -> LoadedModel:
        if self._loaded is None:
            self.check()
            self._loaded = shared_model(locate(self.path, self._weights), self.options.device, self.options.dtype)
        return self._loaded

    def _tokenised(
        self, loaded: LoadedModel, requests: Sequence[GenerationRequest]
    ) -> tuple[list[_Slot], dict[int, Completion]]:
        context = loaded.context_tokens
        started = time.monotonic()
        slots, failed = [], {}
        for place, request in enumerate(requests):
            try:
                self.check_sampling(request.sampling)
                prompt = loaded.encode(request.messages, request.sampling.prefill, self.options.chat_template)
                room = request.sampling.max_tokens if context is None else context - len(prompt)
                if room <= 0:
                    raise ContextOverflow(
                        f"The prompt has {len(prompt)} tokens, the model's context {context}. Use a model with a "
                        "longer context, or set context_tokens with context_policy='drop_oldest'."
                    )
            except Exception as error:  # noqa: BLE001 - a prompt that cannot be rendered fails its own slot
                failed[place] = Completion(failure=classify(error))
            else:
                limit = min(request.sampling.max_tokens, room)
                slots.append(_Slot(place, request, prompt, limit, started + request.deadline_s))
        return slots, failed

    def _answered(self, loaded: LoadedModel, slots: Sequence[_Slot]) -> dict[int, Completion]:
        import torch

        started = time.monotonic()
        slots = [slot for slot in slots if slot.end > started]
        if not slots:
            return {}
        try:
            rows, stopper = _run(loaded, slots, self.options.prefix_cache_mb * 2**20)
        except torch.OutOfMemoryError as error:
            if len(slots) == 1:
                too_big = ProviderError(f"The device has too little memory for a single prompt: {error}.")
                return {slots[0].place: Completion(failure=classify(too_big))}
            loaded.prefixes(0).clear()
            torch.cuda.empty_cache()
            half = len(slots) // 2
            return self._answered(loaded, slots[:half]) | self._answered(loaded, slots[half:])
        except Exception as error:  # noqa: BLE001 - a part that breaks leaves the other parts of the wave alone
            return {slot.place: Completion(failure=classify(error)) for slot in slots}
        seconds = time.monotonic() - started
        eos = set(loaded.eos_ids)
        return {
            slot.place: _completion(loaded, slot, rows[i], stopper.reasons[i], stopper.lengths[i], eos, seconds)
            for i, slot in enumerate(slots)
        }


def _run(loaded: LoadedModel, slots: Sequence[_Slot], prefix_bytes: int) -> tuple[list[list[int]], Stopper]:
    """New tokens of each slot, and who stopped them."""
    import torch
    from transformers import GenerationConfig

    from agentworld_envs.backends.world_model.engines.transformers_decoding import Sampler, Stopper

    model, tokenizer = loaded.model, loaded.tokenizer
    pad = tokenizer.pad_token_id
    prefixes = loaded.prefixes(prefix_bytes)
    prompts = [slot.prompt for slot in slots]
    with torch.inference_mode():
        batch, arguments = prefixes.batch(prompts, pad)
    width = batch.ids.shape[1]
    samplings = [slot.request.sampling for slot in slots]
    sampler = Sampler(samplings, [slot.request.seed for slot in slots], width, model.device)
    stopper = Stopper(
        tokenizer, width, [slot.limit for slot in slots], [s.stop for s in samplings], [slot.end for slot in slots]
    )
    # Said in full, so that defaults from the checkpoint (penalties, beams) do not change what was asked for.
    config = GenerationConfig(
        do_sample=False,
        num_beams=1,
        temperature=1.0,
        top_k=50,
        top_p=1.0,
        repetition_penalty=1.0,
        no_repeat_ngram_size=0,
        max_new_tokens=max(slot.limit for slot in slots),
        pad_token_id=pad,
        eos_token_id=loaded.eos_ids,
        use_cache=True,
    )
    with torch.inference_mode():
        output = model.generate(
            input_ids=batch.ids,
            attention_mask=batch.mask,
            generation_config=config,
            logits_processor=[sampler],
            stopping_criteria=[stopper],
            **arguments,
        )
        prefixes.keep(prompts, batch)
    rows: list[list[int]] = output[:, width:].tolist()
    return rows, stopper


def _completion(
    loaded: LoadedModel, slot: _Slot, row: list[int], reason: str, length: int, eos: set[int], seconds: float
) -> Completion:
    tokens = row[:length]
    ended = next((i for i, token in enumerate(tokens) if token in eos), None)
    usage = Usage(len(slot.prompt), len(tokens) if ended is None else ended + 1, seconds=seconds)
    if ended is not None:
        tokens, reason = tokens[:ended], "stop"
    if reason == "deadline":
        cut = ProviderTimeout(
            f"No answer within {slot.request.deadline_s:g} s; {len(tokens)} tokens were written. Raise deadline_s or "
            "lower sampling.max_tokens."
        )
        return Completion(usage=usage, failure=classify(cut))
    text = loaded.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    for stop in slot.request.sampling.stop:
        text = text.partition(stop)[0]
    return Completion(text, finish_reason=reason or "stop", usage=usage)


def _parts(slots: Sequence[_Slot], size: int) -> list[list[_Slot]]:
    """Parts of at most `size` slots, prompts of similar length together, so that little is padding."""
    ordered = sorted(slots, key=lambda slot: (len(slot.prompt), slot.place))
    return [ordered[i : i + size] for i in range(0, len(ordered), size)]


def _load_error(model: str, error: Exception) -> Exception:
    if isinstance(error, AgentWorldError):
        return error
    return ConfigError(f"Cannot load {model!r}: {type(error).__name__}: {error}")
