"""Attention heads that copy, from the first step on.

Most of what the small model has to say is copied from its prompt: lists, name by name. The circuit that does it takes
two layers (Olsson et al., "In-context Learning and Induction Heads", 2022): a head that looks at the token before, and
a head that finds where the present token stood before and says what came next. A model of this size needs thousands of
steps until the two happen to meet; written into the first weights, they are there at once, and training goes on from
there. Nothing else of the model or its training is different.
"""

from __future__ import annotations

from typing import Any, Final

_WORD_STD: Final = 0.06
_CONSTANT: Final = 0.3  # first entry of every embedding: what a head that only looks at positions attends with
_SHARPNESS: Final = 5.0  # of the look at the token before
_FAST: Final = 8  # rotary frequencies that tell neighbours apart
_SLOW: Final = 6  # frequencies from here on turn too slowly to disturb a comparison of contents
_WRITE: Final = 0.14  # keeps what a head writes about as large as an embedding


def write_copying_heads(model: Any, tables: list[Any], seed: int) -> None:
    """Overwrite the first weights of two layers and of the embeddings.

    Args:
        model: a `LlamaModel` with at least two layers of five heads; smaller ones are left as they are.
        tables: its embeddings in parts: words, then parts that are summed up. Changed in place.
        seed: of the random projections.
    """
    import torch

    config = model.config
    size, heads = config.hidden_size, config.num_attention_heads
    width = size // heads
    half = width // 2
    if heads < 5 or config.num_hidden_layers < 2:
        return
    generator = torch.Generator().manual_seed(seed)
    first, second = model.layers[0].self_attn, model.layers[1].self_attn
    with torch.no_grad():
        words, *parts = tables
        words.normal_(0, _WORD_STD, generator=generator)
        words[:, 0] = _CONSTANT
        for i, part in enumerate(parts):
            part.normal_(0, _WORD_STD / len(parts) ** 0.5, generator=generator)
            part[:, 0] = _CONSTANT if i == 0 else 0.0
        norm = (((size - 1) * _WORD_STD**2 + _CONSTANT**2) / size) ** 0.5
        random = torch.randn(size - 1, size - 1, generator=generator)
        basis = torch.zeros(size - 1, size)
        basis[:, 1:] = torch.linalg.qr(random)[0]
        reads, writes = basis[: 2 * width].split(width), basis[2 * width : 4 * width].split(width)
        angles = torch.tensor([config.rope_parameters["rope_theta"] ** (-2 * i / width) for i in range(_FAST)])
        for h in (0, 1):
            rows = slice(h * width, (h + 1) * width)
            query, key = torch.zeros(width), torch.zeros(width)
            key[:_FAST] = _SHARPNESS
            query[:_FAST] = _SHARPNESS * torch.cos(angles)
            query[half : half + _FAST] = -_SHARPNESS * torch.sin(angles)
            first.q_proj.weight[rows] *= 0.2
            first.k_proj.weight[rows] *= 0.2
            first.q_proj.weight[rows, 0] = query * norm / _CONSTANT
            first.k_proj.weight[rows, 0] = key * norm / _CONSTANT
            first.v_proj.weight[rows] = reads[h]
            first.o_proj.weight[:, rows] = _WRITE * writes[h].T
        slow = torch.zeros(width, 1)
        slow[_SLOW:half] = slow[half + _SLOW :] = 1
        for h in range(4):
            rows = slice(h * width, (h + 1) * width)
            # Two heads compare the present token with what stood before another one, two the token before it.
            asked, sharpness = (reads[h % 2], 1.7) if h < 2 else (writes[h % 2], 1.25)
            copied = basis[rows] if (h + 1) * width < size else basis[-width:]
            second.q_proj.weight[rows] = sharpness * asked * slow
            second.k_proj.weight[rows] = sharpness * writes[h % 2] * slow
            second.v_proj.weight[rows] = copied
            second.o_proj.weight[:, rows] = 0.4 * copied.T
