"""A tiny random model in the form of the bundled ones, written without torch."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from agentworld_envs.training.scoring import held_out
from agentworld_envs.training.text_world_examples import Example
from agentworld_envs.training.text_world_tokens import END, PAD, UNKNOWN, USER, tokenizer_json

HIDDEN, LAYERS, HEADS, KV_HEADS, INNER = 32, 2, 4, 2, 48


@cache
def held() -> tuple[Example, ...]:
    return held_out(games=4)


def small_folder(folder: Path) -> Path:
    """Random weights, so large that answers differ. With grouped attention, which the shipped model does not have."""
    tokens = tokenizer_json()
    vocabulary = len(tokens["model"]["vocab"])
    size = HIDDEN // HEADS
    shapes = {"model.embed_tokens.weight": (vocabulary, HIDDEN), "model.norm.weight": (HIDDEN,)}
    for i in range(LAYERS):
        shapes |= {
            f"model.layers.{i}.input_layernorm.weight": (HIDDEN,),
            f"model.layers.{i}.post_attention_layernorm.weight": (HIDDEN,),
            f"model.layers.{i}.self_attn.q_proj.weight": (HEADS * size, HIDDEN),
            f"model.layers.{i}.self_attn.k_proj.weight": (KV_HEADS * size, HIDDEN),
            f"model.layers.{i}.self_attn.v_proj.weight": (KV_HEADS * size, HIDDEN),
            f"model.layers.{i}.self_attn.o_proj.weight": (HIDDEN, HEADS * size),
            f"model.layers.{i}.mlp.gate_proj.weight": (INNER, HIDDEN),
            f"model.layers.{i}.mlp.up_proj.weight": (INNER, HIDDEN),
            f"model.layers.{i}.mlp.down_proj.weight": (HIDDEN, INNER),
        }
    rng = np.random.default_rng(0)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, shape in shapes.items():
        data = (rng.standard_normal(shape) * 0.25 + (len(shape) == 1)).astype("<f2").tobytes()
        header[name] = {"dtype": "F16", "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + body)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocabulary,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "bos_token_id": 3,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text(json.dumps(tokens))
    turns = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"
    template = turns + "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    (folder / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "pad_token": PAD,
                "unk_token": UNKNOWN,
                "bos_token": USER,
                "eos_token": END,
                "chat_template": template,
                "clean_up_tokenization_spaces": False,
            }
        )
    )
    return folder
