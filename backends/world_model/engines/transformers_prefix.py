"""`PrefixStore`: attention states of earlier prompts, so that a turn reads only what is new in it.

An episode's prompt begins with the prompt of its turn before, and all episodes of a domain begin with the same rules.
On a CPU, where reading a prompt takes longer than answering it, this is most of the time of a step. Importing this
imports torch.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
import transformers

MIN_SHARED: Final = 64
"""A beginning shorter than this is not worth a forward pass of its own."""

States = list[tuple[Any, Any]]
"""Keys and values of each layer, (heads, tokens, width)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A left-padded batch whose rows begin with known states: `[padding, known, padding, new]`."""

    ids: Any
    mask: Any
    known: int
    """Columns before the new part."""
    cache: Any
    """What `generate` continues, `None` to begin afresh."""


class PrefixStore:
    """The latest prompts of one model, with their states, up to a budget.

    Args:
        model: a causal language model.
        budget: bytes of states that are kept. 0 keeps none.
    """

    def __init__(self, model: Any, budget: int) -> None:
        self._model = model
        self._budget = budget if _plain_cache(model) else 0
        self._entries: OrderedDict[bytes, tuple[Any, States]] = OrderedDict()
        self._bytes = 0
        self._argument = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"

    def batch(self, prompts: Sequence[list[int]], pad: int) -> tuple[Batch, dict[str, Any]]:
        """A batch of prompts, and the arguments with which `generate` continues it."""
        if not self._budget:
            return self._assembled(prompts, pad, [None] * len(prompts)), {}
        shared = _common(prompts)
        if len(prompts) > 1 and shared >= MIN_SHARED:
            self._read(prompts[0][:shared])
        batch = self._assembled(prompts, pad, [self._find(prompt) for prompt in prompts])
        return batch, {self._argument: batch.cache}

    def keep(self, prompts: Sequence[list[int]], batch: Batch) -> None:
        """Remember the prompts of a batch that has been generated from."""
        if not self._budget:
            return
        for row, prompt in enumerate(prompts):
            columns = batch.mask[row].nonzero().squeeze(1)
            states = [
                (layer.keys[row].index_select(1, columns), layer.values[row].index_select(1, columns))
                for layer in batch.cache.layers
            ]
            self._add(prompt, states)

    def clear(self) -> None:
        """Forget everything, for its memory."""
        self._entries.clear()
        self._bytes = 0

    def _read(self, tokens: list[int]) -> None:
        """Compute the states of a common beginning once, for all rows of the batch to come."""
        found = self._find([*tokens, -1])
        if found is not None and found[0] >= len(tokens):
            return
        batch = self._assembled([tokens], 0, [found])
        arguments = {self._argument: batch.cache, "attention_mask": batch.mask, "use_cache": True}
        self._model.base_model(input_ids=batch.ids[:, batch.known :], **arguments)
        self.keep([tokens], batch)

    def _find(self, prompt: list[int]) -> tuple[int, States] | None:
        """The longest known beginning. At least one token stays new, for its logits."""
        array, best, best_key = np.asarray(prompt), 0, b""
        for key, (tokens, _) in self._entries.items():
            size = min(len(tokens), len(array) - 1)
            differs = np.flatnonzero(tokens[:size] != array[:size])
            length = int(differs[0]) if differs.size else size
            if length > best:
                best, best_key = length, key
        if not best:
            return None
        self._entries.move_to_end(best_key)
        return best, self._entries[best_key][1]

    def _add(self, prompt: list[int], states: States) -> None:
        array = np.asarray(prompt)
        key = array.tobytes()
        for old, (tokens, _) in list(self._entries.items()):
            size = min(len(tokens), len(array))
            if not np.array_equal(tokens[:size], array[:size]):
                continue
            if len(tokens) >= len(array):  # it has all of this prompt already
                self._entries.move_to_end(old)
                return
            self._drop(old)  # this prompt has all of it
        self._entries[key] = (array, states)
        self._bytes += _size(states)
        while self._bytes > self._budget:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: bytes) -> None:
        self._bytes -= _size(self._entries.pop(key)[1])

    def _assembled(self, prompts: Sequence[list[int]], pad: int, found: Sequence[tuple[int, States] | None]) -> Batch:
        lengths = [0 if entry is None else entry[0] for entry in found]
        known = max(lengths)
        new = max(len(prompt) - length for prompt, length in zip(prompts, lengths, strict=True))
        ids, mask = [], []
        for prompt, length in zip(prompts, lengths, strict=True):
            before, between = known - length, new - (len(prompt) - length)
            ids.append([pad] * before + prompt[:length] + [pad] * between + prompt[length:])
            mask.append([0] * before + [1] * length + [0] * between + [1] * (len(prompt) - length))
        device = self._model.device
        cache = transformers.DynamicCache(config=self._model.config) if self._budget else None
        if known:
            self._fill(cache, found, known)
        return Batch(torch.tensor(ids, device=device), torch.tensor(mask, device=device), known, cache)

    @staticmethod
    def _fill(cache: Any, found: Sequence[tuple[int, States] | None], known: int) -> None:
        some = next(entry[1] for entry in found if entry is not None)
        for layer, (keys, values) in enumerate(some):
            parts: list[list[Any]] = [[], []]
            for entry in found:
                for part, like, which in zip(parts, (keys, values), (0, 1), strict=True):
                    row = like.new_zeros((like.shape[0], known, like.shape[2]))
                    if entry is not None:
                        length, states = entry
                        row[:, known - length :] = states[layer][which][:, :length]
                    part.append(row)
            cache.update(torch.stack(parts[0]), torch.stack(parts[1]), layer)


def _plain_cache(model: Any) -> bool:
    """Whether the model's memory is nothing but keys and values of all tokens: no windows, no recurrent states."""
    supports = getattr(model, "_supports_default_dynamic_cache", None)
    if supports is None or not supports():
        return False
    try:
        layers = transformers.DynamicCache(config=model.config).layers
        plain = transformers.cache_utils.DynamicLayer
    except (TypeError, AttributeError):  # older transformers have neither
        return False
    return bool(layers) and all(type(layer) is plain for layer in layers)


def _size(states: States) -> int:
    return sum(tensor.numel() * tensor.element_size() for pair in states for tensor in pair)


def _common(prompts: Sequence[list[int]]) -> int:
    """Tokens that all prompts begin with, at least one less than the shortest has."""
    first = np.asarray(prompts[0])
    length = min(len(prompt) for prompt in prompts) - 1
    for prompt in prompts[1:]:
        differs = np.flatnonzero(np.asarray(prompt[:length]) != first[:length])
        length = int(differs[0]) if differs.size else length
    return length
