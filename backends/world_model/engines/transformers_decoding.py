"""Drawing and stopping for `generate`, slot by slot. Importing this imports torch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import torch

from agentworld_envs.backends.world_model.engines.base import Sampling

# Multipliers of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) as signed 64-bit numbers.
_GOLDEN: Final = 0x9E3779B97F4A7C15 - 2**64
_MIX_1: Final = 0xBF58476D1CE4E5B9 - 2**64
_MIX_2: Final = 0x94D049BB133111EB - 2**64


def _shifted(x: Any, bits: int) -> Any:
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mixed(x: Any) -> Any:
    x = (x ^ _shifted(x, 30)) * _MIX_1
    x = (x ^ _shifted(x, 27)) * _MIX_2
    return x ^ _shifted(x, 31)


def gumbel(seeds: Any, step: int, tokens: Any) -> Any:
    """Standard Gumbel noise that is a pure function of seed, step and token.

    Args:
        seeds: int64 of shape (slots, 1). step: 0-based token of the answer. tokens: int64 ids, (slots, candidates).

    Returns:
        float32 of the shape of `tokens`.
    """
    state = _mixed(seeds * _GOLDEN + step)
    bits = _shifted(_mixed(state + tokens * _GOLDEN), 40)
    # 24 bits fill a float32; the half keeps the uniform off 0 and 1, where the noise would be infinite.
    uniform = (bits.to(torch.float32) + 0.5) / 2**24
    return -torch.log(-torch.log(uniform))


class Sampler:
    """A logits processor that draws: it leaves only the drawn token possible, so that greedy decoding takes it.

    Temperature, top-k and top-p are applied in this order; then the largest logit plus Gumbel noise wins, which is an
    exact draw. The noise depends on the slot's seed alone: neither torch's global generator nor the other slots of the
    batch have a part in it, so an answer does not depend on what it is batched with, but for rounding in the logits.
    """

    def __init__(self, samplings: Sequence[Sampling], seeds: Sequence[int], prompt_tokens: int, device: Any) -> None:
        """Args: one sampling and one seed per slot. prompt_tokens: length of the padded prompt."""

        def column(values: Sequence[float], dtype: Any) -> Any:
            return torch.tensor(values, dtype=dtype, device=device).unsqueeze(1)

        self._prompt_tokens = prompt_tokens
        self._seeds = column(list(seeds), torch.int64)
        self._greedy = column([s.temperature == 0 for s in samplings], torch.bool)
        self._temperature = column([s.temperature or 1.0 for s in samplings], torch.float32)
        self._top_p = column([s.top_p for s in samplings], torch.float32)
        ks = [1 if s.temperature == 0 else s.top_k for s in samplings]
        self._k = None if 0 in ks else max(ks)
        self._top_k = column([k or 2**31 for k in ks], torch.int64)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        size = scores.shape[-1]
        logits, tokens = scores.float().topk(min(self._k or size, size), dim=-1)
        rank = torch.arange(logits.shape[-1], device=logits.device).unsqueeze(0)
        logits = ((logits - logits[:, :1]) / self._temperature).masked_fill(rank >= self._top_k, -torch.inf)
        probabilities = logits.softmax(dim=-1)
        before = probabilities.cumsum(dim=-1) - probabilities
        # The likeliest token always stays; rounding must not take it away at a tiny top_p.
        logits = logits.masked_fill((before >= self._top_p) & (rank > 0), -torch.inf)
        noise = gumbel(self._seeds, input_ids.shape[1] - self._prompt_tokens, tokens)
        best = (logits + noise.masked_fill(self._greedy, 0.0)).argmax(dim=-1, keepdim=True)
        return torch.full_like(scores, -torch.inf).scatter_(1, tokens.gather(1, best), 0.0)


class Stopper:
    """A stopping criterion per slot: its own length, stop strings and deadline.

    Attributes:
        reasons: why each slot was stopped: `length`, `stop`, `deadline`, or `""` for the model's own end.
        lengths: how many tokens of each slot count.
    """

    def __init__(
        self,
        tokenizer: Any,
        prompt_tokens: int,
        limits: Sequence[int],
        stops: Sequence[tuple[str, ...]],
        ends: Sequence[float],
    ) -> None:
        """Args: per slot: most new tokens, stop strings, and `time.monotonic()` of the deadline."""
        self._tokenizer = tokenizer
        self._prompt_tokens = prompt_tokens
        self._limits, self._stops, self._ends = limits, stops, ends
        self.reasons = [""] * len(limits)
        self.lengths = list(limits)

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        count, now = input_ids.shape[1] - self._prompt_tokens, time.monotonic()
        for slot, reason in enumerate(self.reasons):
            if reason:
                continue
            if self._hit(slot, input_ids):
                self.reasons[slot] = "stop"
            elif count >= self._limits[slot]:
                self.reasons[slot] = "length"
            elif now >= self._ends[slot]:
                self.reasons[slot] = "deadline"
            if self.reasons[slot]:
                self.lengths[slot] = count
        return torch.tensor([bool(reason) for reason in self.reasons], device=input_ids.device)

    def _hit(self, slot: int, input_ids: Any) -> bool:
        stops = self._stops[slot]
        if not stops:
            return False
        # A stop string has at most one token per byte; a few more cover characters that begin before it.
        tail = max(len(stop.encode()) for stop in stops) + 4
        start = max(self._prompt_tokens, input_ids.shape[1] - tail)
        text = self._tokenizer.decode(input_ids[slot, start:], skip_special_tokens=True)
        return any(stop in text for stop in stops)
