"""`Trainer`: trains a small Llama from scratch on the CPU, on examples that are made as it goes."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from agentworld_envs.backends.world_model.codec import PREFILL
from agentworld_envs.backends.world_model.engines.bundled_tokenizer import WordTokenizer
from agentworld_envs.interface import ConfigError, MissingExtraError
from agentworld_envs.training.copying_heads import write_copying_heads
from agentworld_envs.training.scoring import held_out
from agentworld_envs.training.text_world_examples import Example, examples
from agentworld_envs.training.text_world_tokens import ASSISTANT, END, HIGHEST, PAD, USER, classes, tokenizer_json

CHECKPOINT: Final = "checkpoint.pt"
LOG: Final = "log.jsonl"
_HOUSEHOLDS: Final = 12  # whose examples are shuffled together
_IGNORED: Final = -100  # label that has no loss, as in torch's cross_entropy


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a model is made of and how it is trained. Everything that decides the result, except for the clock."""

    hidden_size: int = 160
    layers: int = 4
    heads: int = 5
    intermediate_size: int = 448
    context: int = 1024
    seed: int = 0
    batch: int = 64
    learning_rate: float = 2e-3
    warmup: int = 60
    weight_decay: float = 0.05


SIZES: Final = {"tiny": Recipe(), "micro": Recipe(hidden_size=64, layers=2, heads=2, intermediate_size=160, batch=32)}
"""Recipes by name. `micro` is for tests of the machinery."""


@dataclass(slots=True)
class Progress:
    """Where a training stands."""

    step: int = 0
    chunk: int = 0
    """Next block of households."""
    offset: int = 0
    """Batches of that block that are done."""
    seconds: float = 0.0
    """Time spent in training, over all runs."""
    loss: float = math.nan
    """Mean over the last steps."""
    score: float = math.nan
    """Exact match on the held-out examples, when last looked at."""
    by_verb: dict[str, tuple[int, int]] | None = None
    """Right answers and examples by verb, likewise."""


class NameTable:
    """Embeddings in parts: a name such as `mug 12` is the sum of a class and a number.

    There are thousands of names, of which each is seldom seen. As sums, all of them learn from every example. The
    finished model has the sums written out, so it is an ordinary one.
    """

    def __init__(self, tokenizer: WordTokenizer, size: int) -> None:
        """Args: tokenizer: whose last tokens are the names, by class and then by number. size: of an embedding."""
        import torch

        kinds = len(classes())
        words = len(tokenizer.vocabulary) - kinds * HIGHEST
        self.tables = [torch.nn.Parameter(torch.randn(rows, size) * 0.02) for rows in (words, kinds, HIGHEST)]
        """Other tokens, classes, numbers."""

    def table(self) -> Any:
        """All embeddings, shape (tokens, size), through which gradients flow."""
        import torch

        words, kinds, numbers = self.tables
        names = (kinds[:, None] + numbers[None]).reshape(-1, kinds.shape[1])
        return torch.cat([words, names])


class Trainer:
    """One training, resumable: weights, optimizer and place in the data are in the checkpoint.

    The same recipe and number of steps give the same data in the same order; the clock only decides how fast the
    learning rate falls, and only where a time and no number of steps was asked for.
    """

    def __init__(self, folder: Path, recipe: Recipe, *, resume: bool = False) -> None:
        """Args: folder: where the checkpoint is kept. recipe: see there. resume: go on from the folder's checkpoint.

        Raises:
            MissingExtraError: torch or transformers are not installed.
            ConfigError: nothing to resume, or a checkpoint of another recipe; or the folder holds anything else, or
                cannot be made.
        """
        try:
            import torch
            from transformers import LlamaConfig, LlamaForCausalLM
        except ImportError as error:
            raise MissingExtraError(
                f"Training needs {error.name}, not installed here. Run: pip install 'agentworld-envs[train]'"
            ) from error
        self.recipe, self.folder = recipe, folder
        if not resume:
            claim_folder(folder)
        self.tokenizer = WordTokenizer(tokenizer_json())
        special = self.tokenizer.special
        torch.manual_seed(recipe.seed)
        self.model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(self.tokenizer.vocabulary),
                hidden_size=recipe.hidden_size,
                intermediate_size=recipe.intermediate_size,
                num_hidden_layers=recipe.layers,
                num_attention_heads=recipe.heads,
                num_key_value_heads=recipe.heads,
                max_position_embeddings=recipe.context,
                tie_word_embeddings=True,
                pad_token_id=special[PAD],
                bos_token_id=special[USER],
                eos_token_id=special[END],
            )
        )
        self.names = NameTable(self.tokenizer, recipe.hidden_size)
        write_copying_heads(self.model.model, self.names.tables, recipe.seed)
        inner = list(self.model.model.layers.parameters()) + list(self.model.model.norm.parameters())
        decayed = [p for p in inner if p.ndim > 1]
        others = [p for p in inner if p.ndim <= 1] + self.names.tables
        self.optimizer = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=recipe.learning_rate,
            betas=(0.9, 0.98),
        )
        self.progress = Progress()
        self._losses: list[float] = []
        if resume:
            self._load(folder / CHECKPOINT)

    def train(
        self,
        *,
        steps: int | None = None,
        minutes: float | None = None,
        stop_after: int | None = None,
        evaluate_every: int = 500,
        save_every_s: float = 90.0,
        report: Callable[[Progress], None] = lambda _: None,
    ) -> Progress:
        """Train up to a number of steps or a time, both counted over all runs.

        Args:
            steps: of the optimizer.
            minutes: of training time; one of both has to be given.
            stop_after: leave at this step, though the learning rate falls towards the limit above.
            evaluate_every: steps between two looks at the held-out examples.
            save_every_s: seconds between two checkpoints; there is one at the end in any case.
            report: called after every step.

        Raises:
            ConfigError: neither or both limits.
        """
        if (steps is None) == (minutes is None):
            raise ConfigError(f"Expected either steps or minutes, got steps={steps} and minutes={minutes}.")
        progress, before = self.progress, self.progress.seconds
        started = saved = time.monotonic()
        self.model.train()
        batches = self._batches()
        while True:
            done = progress.step / steps if steps is not None else progress.seconds / (60 * (minutes or 1))
            if done >= 1 or progress.step == stop_after:
                break
            self._step(*next(batches), done)
            progress.seconds = before + time.monotonic() - started
            if progress.step % evaluate_every == 0:
                self.evaluate()
                self._log()
            if time.monotonic() - saved > save_every_s:
                self.save()
                saved = time.monotonic()
            report(progress)
        self.evaluate()
        self._log()
        self.save()
        return progress

    def _step(self, ids: np.ndarray, labels: np.ndarray, done: float) -> None:
        import torch

        recipe = self.recipe
        warm = min(1.0, (self.progress.step + 1) / recipe.warmup)
        rate = recipe.learning_rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        target = torch.from_numpy(labels)
        wanted = target != _IGNORED
        table = self.names.table()
        hidden = self.model.model(inputs_embeds=table[torch.from_numpy(ids)]).last_hidden_state
        loss = torch.nn.functional.cross_entropy(hidden[wanted] @ table.T, target[wanted])
        self.optimizer.zero_grad()
        loss.backward()
        for group in self.optimizer.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
        self.optimizer.step()
        self._losses = [*self._losses[-99:], loss.item()]
        self.progress.loss = sum(self._losses) / len(self._losses)
        self.progress.step += 1

    def evaluate(self) -> float:
        """Share of held-out examples whose whole answer is the likeliest at every token, which is greedy decoding."""
        import torch

        self.finish()
        self.model.eval()
        by_verb: dict[str, tuple[int, int]] = {}
        with torch.inference_mode():
            for batch, rows in self._evaluation():
                ids, labels = batch
                guess = self.model(input_ids=torch.from_numpy(ids)).logits.argmax(-1).numpy()
                right = ((guess == labels) | (labels == _IGNORED)).all(axis=1)
                for row, good in zip(rows, right.tolist(), strict=True):
                    hits, count = by_verb.get(row.verb, (0, 0))
                    by_verb[row.verb] = hits + good, count + 1
        self.model.train()
        self.progress.by_verb = dict(sorted(by_verb.items()))
        total = sum(count for _, count in by_verb.values())
        self.progress.score = sum(hits for hits, _ in by_verb.values()) / total
        return self.progress.score

    def finish(self) -> None:
        """Write the embeddings into the model, which training keeps in parts."""
        self.model.model.embed_tokens.weight.data.copy_(self.names.table().detach())

    def _evaluation(self) -> Iterator[tuple[tuple[np.ndarray, np.ndarray], list[Example]]]:
        rows = sorted(held_out(), key=lambda row: len(row.prompt))
        for i in range(0, len(rows), 128):
            yield self._batch([self._tokens(row) for row in rows[i : i + 128]]), rows[i : i + 128]

    def _batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        progress = self.progress
        while True:
            batches = self._chunk(progress.chunk)
            while progress.offset < len(batches):
                batch = batches[progress.offset]
                progress.offset += 1
                yield self._batch(batch)
            progress.chunk, progress.offset = progress.chunk + 1, 0

    def _chunk(self, chunk: int) -> list[list[tuple[list[int], int]]]:
        """Batches of similar length, in random order: a pure function of the seed and the number of the chunk."""
        first = chunk * _HOUSEHOLDS
        rows = [self._tokens(row) for i in range(first, first + _HOUSEHOLDS) for row in examples(self.recipe.seed, i)]
        rng = np.random.default_rng([self.recipe.seed, chunk])
        rows = sorted((rows[i] for i in rng.permutation(len(rows))), key=lambda row: len(row[0]))
        size = self.recipe.batch
        cut = [rows[i : i + size] for i in range(0, len(rows), size)]
        return [cut[i] for i in rng.permutation(len(cut))]

    def _tokens(self, row: Example) -> tuple[list[int], int]:
        """Tokens of an example and how many of them are the prompt."""
        prompt = self.tokenizer.encode(f"{USER}{row.prompt}{ASSISTANT}{PREFILL}")
        return [*prompt, *self.tokenizer.encode(row.answer + END)], len(prompt)

    def _batch(self, rows: list[tuple[list[int], int]]) -> tuple[np.ndarray, np.ndarray]:
        width = max(len(tokens) for tokens, _ in rows) - 1
        ids = np.full((len(rows), width), self.tokenizer.special[PAD], dtype=np.int64)
        labels = np.full((len(rows), width), _IGNORED, dtype=np.int64)
        for i, (tokens, prompt) in enumerate(rows):
            ids[i, : len(tokens) - 1] = tokens[:-1]
            labels[i, prompt - 1 : len(tokens) - 1] = tokens[prompt:]
        return ids, labels

    def _log(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / LOG).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self.progress)) + "\n")

    def save(self) -> None:
        """Write the checkpoint, replacing the old one only when the new one is whole."""
        import torch

        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / CHECKPOINT
        state: dict[str, Any] = {
            "recipe": asdict(self.recipe),
            "progress": asdict(self.progress),
            "model": self.model.model.layers.state_dict(),
            "norm": self.model.model.norm.state_dict(),
            "names": [table.detach() for table in self.names.tables],
            "optimizer": self.optimizer.state_dict(),
        }
        part = path.with_suffix(".part")
        torch.save(state, part)
        os.replace(part, path)

    def _load(self, path: Path) -> None:
        import torch

        if not path.exists():
            raise ConfigError(f"There is no checkpoint at {path} to resume from. Leave --resume out to begin.")
        state = torch.load(path, weights_only=True)
        if state["recipe"] != asdict(self.recipe):
            raise ConfigError(f"{path} was made with {state['recipe']}; resume with the same size and seed.")
        self.model.model.layers.load_state_dict(state["model"])
        self.model.model.norm.load_state_dict(state["norm"])
        for table, values in zip(self.names.tables, state["names"], strict=True):
            table.data.copy_(values)
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])


def claim_folder(folder: Path) -> None:
    """Make the folder of a training, before there is anything to be lost.

    Raises:
        ConfigError: it holds a checkpoint, or files that are not of a training, or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise ConfigError(f"Cannot use the folder {folder}: {error.strerror}.") from error
    if CHECKPOINT in names:
        raise ConfigError(f"{folder / CHECKPOINT} exists already. Go on with it (--resume), or choose another folder.")
    # A training that was killed early has left its log, and perhaps half a checkpoint.
    others = [name for name in names if name not in (LOG, Path(CHECKPOINT).with_suffix(".part").name)]
    if others:
        raise ConfigError(f"{folder} holds {others[0]} and no checkpoint of ours. Choose a new or empty folder.")
