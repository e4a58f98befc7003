"""Writes a trained model as a folder in Hugging Face's layout, with a model card."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from agentworld_envs.training.scoring import GAMES
from agentworld_envs.training.text_world_tokens import ASSISTANT, END, PAD, UNKNOWN, USER, tokenizer_json
from agentworld_envs.training.trainer import Progress, Recipe, Trainer, claim_folder

_TEMPLATE: Final = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>"
    "{% else %}<|user|>{{ message['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
FILES: Final = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
)
"""What the folder holds besides the card, `README.md`, which names the digest of each."""


def export(trainer: Trainer, folder: Path, command: str) -> list[Path]:
    """Write the model.

    Args:
        trainer: its weights are stored as float16, half the size of what they were trained in.
        folder: the trainer's, where files are replaced, or a new or empty one.
        command: how the model was trained, for the card.

    Returns:
        The files.

    Raises:
        ConfigError: another folder that holds anything, or cannot be made.
    """
    import torch

    if folder.resolve() != trainer.folder.resolve():
        claim_folder(folder)
    trainer.finish()
    weights = {
        name: value.detach().to(torch.float16)
        for name, value in trainer.model.state_dict().items()
        if name != "lm_head.weight"  # the embedding once more
    }
    trainer.model.save_pretrained(folder, state_dict=weights)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["dtype"] = "float16"
    _write(folder / "config.json", config)
    _write(folder / "tokenizer.json", tokenizer_json(), indent=None)
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": PAD,
            "unk_token": UNKNOWN,
            "bos_token": USER,
            "eos_token": END,
            "additional_special_tokens": [ASSISTANT],
            "model_max_length": trainer.recipe.context,
            "clean_up_tokenization_spaces": False,
            "chat_template": _TEMPLATE,
        },
    )
    special = trainer.tokenizer.special
    _write(
        folder / "generation_config.json",
        {
            "bos_token_id": special[USER],
            "eos_token_id": special[END],
            "pad_token_id": special[PAD],
            "do_sample": False,
        },
    )
    (folder / "model.safetensors").chmod(0o644)
    size = sum(value.numel() for value in trainer.model.parameters())
    card = _card(folder, trainer.recipe, trainer.progress, size, command)
    (folder / "README.md").write_text(card, encoding="utf-8")
    return [folder / name for name in (*FILES, "README.md")]


def _write(path: Path, data: Any, indent: int | None = 2) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=False, separators=None if indent else (",", ":"))
    path.write_text(text + "\n", encoding="utf-8")


def _card(folder: Path, recipe: Recipe, progress: Progress, size: int, command: str) -> str:
    digests = [f"| `{name}` | `{hashlib.sha256((folder / name).read_bytes()).hexdigest()}` |" for name in FILES]
    by_verb = [
        f"| {verb} | {hits} of {count} | {100 * hits / count:.1f} % |"
        for verb, (hits, count) in (progress.by_verb or {}).items()
    ]
    return _CARD.format(
        size=f"{size / 1e6:.2f}",
        layers=recipe.layers,
        hidden=recipe.hidden_size,
        heads=recipe.heads,
        intermediate=recipe.intermediate_size,
        command=command,
        seed=recipe.seed,
        steps=progress.step,
        batch=recipe.batch,
        examples=f"{progress.step * recipe.batch:,}",
        minutes=f"{progress.seconds / 60:.0f}",
        rate=recipe.learning_rate,
        score=f"{100 * progress.score:.2f}",
        games=GAMES,
        by_verb="\n".join(by_verb),
        digests="\n".join(digests),
    )


_CARD: Final = """\
---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [world-model, text-world, simulation]
---
# A tiny world model of the text world

{size} million parameters, Llama architecture ({layers} layers, hidden size {hidden}, {heads} heads, MLP
{intermediate}), trained from scratch. It answers one command in a household of the text world. It reads the facts that
the command may touch, which code keeps track of, and the command; it writes what the game would say. It sees no
history, no task and no goal.

```
agent: at cabinet 2
holding: nothing
mug 1: in cabinet 2 (here), at this spot, can be picked up, cleanable, heatable, coolable
cabinet 2: here, open
Action: take mug 1 from cabinet 2
```

is answered with `You pick up the mug 1 from the cabinet 2.` The answer's turn has to begin with
`<predicted_observation>` and a line break, and greedy decoding is meant to be used. In agentworld-envs all this is the
default of `gym.make("AgentWorld/TextWorld-v0", backend="world_model")`, which needs numpy and nothing else.

## Data

Made while training, from (seed, number of the household), by the package's own rules engine. 30 % of the households are
of the generated split `train` (`valid_seen` and `valid_unseen` never appear). The others are drawn more widely: any
class may stand anywhere and have any property, receptacles share spots, doors are open, things are sliced, hot or
inside others, numbers go up to 40 and sometimes beyond, and placing is worded either way. 40 % of all households are
there for long lists of contents alone. Walks through the others are half-random; a quarter of the commands may be
wrong in one respect. Each example is one step, and the loss is on the answer alone.

A name such as `mug 12` is one token. While training, its embedding is the sum of one for the class and one for the
number, so that every name is learned from all examples. The weights here have the sums written out. Names of a list in
the prompt are neighbours: the tokenizer drops the `; ` between them.

The first weights are random, but for two layers whose heads look at the token before and copy what followed it earlier
(induction heads, Olsson et al. 2022). Training goes on from there. Without them, a model of this size still got most
lists of three and more names wrong after 1,100 steps; with them, nearly all are right after 1,000.

## Training

`{command}`

Seed {seed}, {steps} steps of {batch} examples ({examples} in all), AdamW, learning rate {rate} with a cosine, {minutes}
minutes on one thread of a shared CPU.

## Scores

Whole answers that are exactly right, greedy, on expert and random play of {games} tasks of `valid_unseen` with the true
state before every step: **{score} %**.

| verb | right | |
|---|---|---|
{by_verb}

`inspect`: an object is examined. `refused`: commands to which the game says that nothing happens.
`benchmarks/bundled.py` measures more, free-running episodes and success among them.

## Limits

- It knows the classes of things in ALFWorld households. Things with other names, or with numbers above 40, are spelled
  letter by letter, in which it has little practice.
- It is of no use without the tracked state, and knows no other game.
- Its float16 weights were float32 in training; scores are those before rounding.

## Files

| file | SHA-256 |
|---|---|
{digests}
"""
