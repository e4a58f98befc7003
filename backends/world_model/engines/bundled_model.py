"""`NumpyLlama`: the forward pass of a small Llama model in numpy alone, with a cache of keys and values."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agentworld_envs.interface import ConfigError

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_TYPES: Final = {"F32": np.float32, "F16": np.float16}
_LONGEST_HEADER: Final = 10 * 2**20  # bytes
_BLOCK: Final = 16
"""Positions that a cache grows by."""


def read_safetensors(path: Path) -> dict[str, Floats]:
    """All tensors of a safetensors file as float32.

    Raises:
        ConfigError: the file is not there, is cut, or holds other types than float32 and float16.
    """
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        if not 0 < size <= min(len(data) - 8, _LONGEST_HEADER):
            raise ConfigError(f"{path} is no safetensors file.")
        header: dict[str, Any] = json.loads(data[8 : 8 + size])
        header.pop("__metadata__", None)
        body = memoryview(data)[8 + size :]
        found = {}
        for name, row in header.items():
            begin, end = row["data_offsets"]
            flat = np.frombuffer(body[begin:end], dtype=np.dtype(_TYPES[row["dtype"]]).newbyteorder("<"))
            found[name] = flat.reshape(row["shape"]).astype(np.float32)
        return found
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"Cannot read {path}: {error}. Expected float32 or float16 in safetensors form.") from error


class _Layer:
    """Weights of one layer, transposed for `x @ w`."""

    def __init__(self, tensors: dict[str, Floats], prefix: str) -> None:
        def weight(*names: str) -> Floats:
            parts = [tensors[f"{prefix}.{name}.weight"] for name in names]
            return np.ascontiguousarray(np.concatenate(parts).T)

        self.before_attention = tensors[f"{prefix}.input_layernorm.weight"]
        self.before_mlp = tensors[f"{prefix}.post_attention_layernorm.weight"]
        self.qkv = weight("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
        self.out = weight("self_attn.o_proj")
        self.gate_up = weight("mlp.gate_proj", "mlp.up_proj")
        self.down = weight("mlp.down_proj")


class Cache:
    """Keys and values of a batch: one array each, shape (layers, rows, heads, positions, head size)."""

    def __init__(self, layers: int, rows: int, heads: int, positions: int, size: int) -> None:
        self.keys = np.zeros((layers, rows, heads, positions + _BLOCK, size), np.float32)
        self.values = np.zeros_like(self.keys)

    def make_room(self, positions: int) -> None:
        """Have at least so many positions."""
        have = self.keys.shape[3]
        if positions > have:
            pad = [(0, 0), (0, 0), (0, 0), (0, positions - have + _BLOCK), (0, 0)]
            self.keys, self.values = np.pad(self.keys, pad), np.pad(self.values, pad)

    def keep(self, rows: Ints) -> None:
        """Forget all rows but these."""
        self.keys, self.values = self.keys[:, rows], self.values[:, rows]


class NumpyLlama:
    """Weights and forward pass: RMSNorm, rotary positions, (grouped) attention, SwiGLU, as in `transformers`.

    Rows of a batch may differ in length: padding takes part in attention only, and is masked there.
    """

    def __init__(self, folder: Path) -> None:
        """Args: folder: with `config.json` and `model.safetensors`.

        Raises:
            ConfigError: a file is missing, or the model is of another architecture.
        """
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            if config["model_type"] != "llama" or config.get("hidden_act", "silu") != "silu":
                raise ConfigError(f"{folder} holds a {config['model_type']!r} model; expected 'llama'.")
            self.hidden: int = config["hidden_size"]
            self.heads: int = config["num_attention_heads"]
            self.kv_heads: int = config.get("num_key_value_heads") or self.heads
            self.size: int = config.get("head_dim") or self.hidden // self.heads
            self.context: int = config["max_position_embeddings"]
            self._epsilon: float = config["rms_norm_eps"]
            rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
            if rope.get("rope_type", rope.get("type", "default")) != "default":
                raise ConfigError(f"{folder} scales its rotary positions; only the plain ones are supported.")
            theta = float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0)
            layers: int = config["num_hidden_layers"]
        except (OSError, ValueError, KeyError) as error:
            raise ConfigError(f"Cannot read {folder / 'config.json'}: {error!r}. Expected a Llama model.") from error
        tensors = read_safetensors(folder / "model.safetensors")
        try:
            self._embedding = tensors["model.embed_tokens.weight"]
            self._layers = [_Layer(tensors, f"model.layers.{i}") for i in range(layers)]
            self._norm = tensors["model.norm.weight"]
            head = tensors.get("lm_head.weight", self._embedding)
        except KeyError as error:
            raise ConfigError(f"{folder}: the weights lack {error}.") from error
        self._head = np.ascontiguousarray(head.T)
        frequencies = theta ** (-np.arange(0, self.size, 2, dtype=np.float64) / self.size)
        angles = np.outer(np.arange(self.context), np.concatenate([frequencies, frequencies]))
        self._cos, self._sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def prefill(self, prompts: Sequence[Sequence[int]]) -> tuple[Floats, Cache, Ints]:
        """Read prompts.

        Args:
            prompts: token numbers, at least one each, within the context.

        Returns:
            Scores of the next token, shape (rows, vocabulary); the cache; the lengths, shape (rows,).
        """
        lengths = np.array([len(prompt) for prompt in prompts])
        width = int(lengths.max())
        cache = Cache(len(self._layers), len(prompts), self.kv_heads, width, self.size)
        row = np.repeat(np.arange(len(prompts)), lengths)
        column = np.concatenate([np.arange(length) for length in lengths])
        tokens = np.concatenate([np.asarray(prompt) for prompt in prompts])
        # Padding comes after a row's last token, so that looking back never meets it.
        future = np.triu(np.full((width, width), -np.inf, np.float32), 1)
        hidden = self._forward(tokens, row, column, cache, width, future[None, None])
        last = np.cumsum(lengths) - 1
        return self._scores(hidden[last]), cache, lengths

    def extend(self, tokens: Ints, cache: Cache, lengths: Ints) -> Floats:
        """Read one more token per row, which stands at position `lengths` of its row.

        Returns:
            Scores of the next token, shape (rows, vocabulary).
        """
        row = np.arange(len(tokens))
        width = int(lengths.max()) + 1
        cache.make_room(width)
        unseen = np.where(np.arange(width) > lengths[:, None], np.float32(-np.inf), np.float32(0))
        return self._scores(self._forward(tokens, row, lengths, cache, width, unseen[:, None, None]))

    def _forward(self, tokens: Ints, row: Ints, column: Ints, cache: Cache, width: int, mask: Floats) -> Floats:
        """Hidden states of flat tokens, shape (tokens, hidden); `row` and `column` say where each stands."""
        x = self._embedding[tokens]
        cos, sin = self._cos[column][:, None], self._sin[column][:, None]
        rows = cache.keys.shape[1]
        single = mask.shape[2] == 1  # one token per row, in order: nothing has to be put in its place
        q_width, kv_width = self.heads * self.size, self.kv_heads * self.size
        share = self.heads // self.kv_heads
        for i, layer in enumerate(self._layers):
            qkv = self._normed(x, layer.before_attention) @ layer.qkv
            q = _rotated(qkv[:, :q_width].reshape(-1, self.heads, self.size), cos, sin)
            k = _rotated(qkv[:, q_width : q_width + kv_width].reshape(-1, self.kv_heads, self.size), cos, sin)
            cache.keys[i, row, :, column] = k
            cache.values[i, row, :, column] = qkv[:, q_width + kv_width :].reshape(-1, self.kv_heads, self.size)
            if single:
                queries = q[:, :, None]
            else:
                queries = np.zeros((rows, self.heads, width, self.size), np.float32)
                queries[row, :, column] = q
            keys, values = cache.keys[i, :, :, :width], cache.values[i, :, :, :width]
            if share > 1:
                keys, values = keys.repeat(share, axis=1), values.repeat(share, axis=1)
            weights = queries @ keys.swapaxes(2, 3) * np.float32(1 / math.sqrt(self.size)) + mask
            weights = np.exp(weights - weights.max(axis=-1, keepdims=True))
            weights /= weights.sum(axis=-1, keepdims=True)
            mixed = weights @ values
            mixed = mixed[:, :, 0] if single else mixed[row, :, column]
            x = x + mixed.reshape(len(tokens), -1) @ layer.out
            inner = self._normed(x, layer.before_mlp) @ layer.gate_up
            gate, up = inner[:, : inner.shape[1] // 2], inner[:, inner.shape[1] // 2 :]
            x = x + (gate / (1 + np.exp(-gate)) * up) @ layer.down
        return x

    def _scores(self, hidden: Floats) -> Floats:
        scores: Floats = self._normed(hidden, self._norm) @ self._head
        return scores

    def _normed(self, x: Floats, weight: Floats) -> Floats:
        squares = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
        normed: Floats = x * (1 / np.sqrt(squares + np.float32(self._epsilon))) * weight
        return normed


def _rotated(x: Floats, cos: Floats, sin: Floats) -> Floats:
    """Rotary positions, halves swapped as in `transformers`. Shapes: (tokens, heads, size) and (tokens, 1, size)."""
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    rotated: Floats = (x * cos + turned * sin).astype(np.float32, copy=False)
    return rotated
