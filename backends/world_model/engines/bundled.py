"""`BundledEngine`: the small models that come with this package, played with numpy alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Message
from agentworld_envs.backends.world_model.engines.bundled_decoding import Row, decode
from agentworld_envs.backends.world_model.engines.bundled_model import NumpyLlama
from agentworld_envs.backends.world_model.engines.bundled_threads import one_thread
from agentworld_envs.backends.world_model.engines.bundled_tokenizer import WordTokenizer
from agentworld_envs.backends.world_model.engines.keys import files_digest
from agentworld_envs.backends.world_model.validation import checked
from agentworld_envs.interface import ConfigError, ContextOverflow, ProviderTimeout, Usage, classify, unknown_name

FOLDER: Final = Path(__file__).parents[1] / "bundled"
"""Where the models lie."""
_WEIGHTS: Final = "model.safetensors"
_TURN: Final = {"system": "<|user|>", "user": "<|user|>", "assistant": "<|assistant|>"}
_END: Final = "<|end|>"

RECOMMENDED: Final[dict[str, Any]] = {
    "layout": "compact",
    "tracked_state": True,
    "prefill": True,
    "sampling": {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "max_tokens": 256},
    "max_retries": 0,
}
"""Settings of `WorldModelConfig` that these models were trained with. They apply where the user says nothing."""


class BundledOptions(BaseModel):
    """How a bundled model is batched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_batch: int = Field(default=64, ge=1)
    """Prompts in one forward pass; a larger wave is served in parts, prompts of similar length together."""


class LoadedModel:
    """Weights and tokens of one folder."""

    def __init__(self, folder: Path) -> None:
        """Raises ConfigError: the folder holds no model of this kind."""
        self.tokenizer = WordTokenizer.read(folder / "tokenizer.json")
        self.network = NumpyLlama(folder)
        if _END not in self.tokenizer.special:
            raise ConfigError(f"The tokens of {folder} lack {_END}; expected a model made by `agentworld train`.")
        self.end_token = self.tokenizer.special[_END]

    def encode(self, messages: Sequence[Message], prefill: str = "") -> list[int]:
        """The prompt, as the folder's chat template writes it, with the beginning of the answer."""
        turns = [_TURN[message.role] + message.content + _END * (message.role == "assistant") for message in messages]
        return self.tokenizer.encode("".join([*turns, _TURN["assistant"], prefill]))


@lru_cache(maxsize=4)
def _load(folder: Path, revision: str) -> LoadedModel:
    return LoadedModel(folder)


class BundledEngine(Engine):
    """Greedy or sampled decoding of a small Llama in this process, batched, without torch.

    Equal prompts that are answered greedily are asked once. The model is loaded at the first `generate` and shared by
    all engines of the same folder.

    Args:
        name: of a model in the package, or the path of a folder that `agentworld train` wrote.
        options: see `BundledOptions`.

    Raises:
        ConfigError: no such model.
    """

    def __init__(self, name: str, options: BundledOptions | None = None) -> None:
        self.options = options or BundledOptions()
        self.folder = _folder(name)
        self.model = f"bundled:{name}"
        # The name stays while its files may change with the package.
        self.revision = files_digest(self.folder, ("config.json", "tokenizer.json", _WEIGHTS))
        self._loaded: LoadedModel | None = None

    @classmethod
    def parse(cls, text: str, revision: str, options: Mapping[str, Any]) -> BundledEngine:
        """Make the engine of a name or path. The revision is that of the weights, so `revision` has to be empty.

        Raises:
            ConfigError: no such model, an option is wrong, or a revision is given.
        """
        if revision:
            raise ConfigError(f"Bundled models have one revision each: leave revision={revision!r} out.")
        return cls(text, checked(BundledOptions, "option of the bundled engine", options))

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        return len(self._model().encode(messages))

    def close(self) -> None:
        self._loaded = None

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        started = time.monotonic()
        answers: dict[int, Completion] = {}
        try:
            loaded = self._model()
        except ConfigError as error:
            return [Completion(failure=classify(error)) for _ in requests]
        rows: dict[tuple[object, ...], Row] = {}
        asking: dict[tuple[object, ...], list[int]] = {}
        for place, request in enumerate(requests):
            try:
                row = self._row(loaded, request, started)
            except ContextOverflow as error:
                answers[place] = Completion(failure=classify(error))
                continue
            seed = 0 if request.sampling.temperature == 0 else request.seed
            key: tuple[object, ...] = (tuple(row.prompt), request.sampling, row.limit, request.deadline_s, seed)
            rows.setdefault(key, row)
            asking.setdefault(key, []).append(place)
        ordered = sorted(rows.values(), key=lambda row: len(row.prompt))
        for i in range(0, len(ordered), self.options.max_batch):
            part = ordered[i : i + self.options.max_batch]
            with one_thread():
                decode(loaded.network, part, loaded.end_token, loaded.tokenizer.decode)
        seconds = time.monotonic() - started
        for key, places in asking.items():
            answers |= {place: _completion(loaded, rows[key], requests[place], seconds) for place in places}
        return [answers[place] for place in range(len(requests))]

    def _model(self) -> LoadedModel:
        if self._loaded is None:
            self._loaded = _load(self.folder, self.revision)
        return self._loaded

    @staticmethod
    def _row(loaded: LoadedModel, request: GenerationRequest, started: float) -> Row:
        prompt = loaded.encode(request.messages, request.sampling.prefill)
        room = loaded.network.context - len(prompt)
        if room <= 0:
            raise ContextOverflow(
                f"The prompt has {len(prompt)} tokens, the model's context {loaded.network.context}. Bundled models "
                "are made for layout='compact' with tracked_state=True, which is short."
            )
        limit = min(request.sampling.max_tokens, room)
        return Row(prompt, request.sampling, request.seed, limit, started + request.deadline_s)


def _folder(name: str) -> Path:
    known = sorted(path.parent.name for path in FOLDER.glob(f"*/{_WEIGHTS}"))
    if name in known:
        return FOLDER / name
    path = Path(name).expanduser()
    if (path / _WEIGHTS).is_file():
        return path
    if path.is_dir():
        raise ConfigError(f"The folder {name!r} has no {_WEIGHTS}; expected one that `agentworld train` wrote.")
    raise unknown_name("bundled model or folder", name, known)


def _completion(loaded: LoadedModel, row: Row, request: GenerationRequest, seconds: float) -> Completion:
    ended = row.reason == "stop"
    usage = Usage(len(row.prompt), len(row.tokens) + ended, seconds=seconds)
    if row.reason == "deadline":
        late = ProviderTimeout(f"No answer within {request.deadline_s:g} s; {len(row.tokens)} tokens were written.")
        return Completion(usage=usage, failure=classify(late))
    text = loaded.tokenizer.decode(row.tokens)
    for stop in request.sampling.stop:
        text = text.partition(stop)[0]
    return Completion(text, finish_reason=row.reason, usage=usage)
