"""`LoadedModel`: tokeniser and weights, one copy per process however many environments use them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentworld_envs.backends.world_model.engines.base import Message
from agentworld_envs.interface import ConfigError

if TYPE_CHECKING:
    from agentworld_envs.backends.world_model.engines.transformers_prefix import PrefixStore

FORM: Final = (
    "transformers:HUB_ID_OR_PATH, where a path is a .gguf file, a folder with one, or a folder with config.json"
)

_CHATML: Final = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
"""ChatML, for models that know its tokens but come without a template."""


class Location(NamedTuple):
    """Where weights are, in the words of `from_pretrained`."""

    name: str
    """Hub id or folder."""
    revision: str
    gguf_file: str | None


def locate(text: str, revision: str) -> Location:
    """Find what `transformers:TEXT` means. Looks at the disk only, loads nothing.

    Raises:
        ConfigError: a local path that does not exist or holds no model.
    """
    path = Path(text).expanduser()
    if path.is_file():
        if path.suffix != ".gguf":
            raise ConfigError(f"The file {text!r} is not a .gguf file. Expected {FORM}.")
        return Location(str(path.parent), revision, path.name)
    if path.is_dir():
        if (path / "config.json").is_file():
            return Location(str(path), revision, None)
        files = sorted(file.name for file in path.glob("*.gguf"))
        if len(files) == 1:
            return Location(str(path), revision, files[0])
        found = f"{len(files)} .gguf files ({', '.join(files[:5])})" if files else "neither"
        raise ConfigError(f"The folder {text!r} should hold config.json or one .gguf file, but holds {found}.")
    if text.startswith((".", "/", "~")) or text.endswith(".gguf") or text.count("/") > 1:
        raise ConfigError(f"There is no model at {text!r}. Expected {FORM}.")
    return Location(text, revision, None)


class LoadedModel:
    """A model and its tokeniser, each loaded at its first use.

    Args:
        location: where they are. device: `cpu`, `cuda`, ..., or `auto`. dtype: a name, or `auto`.
    """

    def __init__(self, location: Location, device: str, dtype: str) -> None:
        self.location = location
        self._device = device
        self._dtype = dtype
        self._tokenizer: Any = None
        self._model: Any = None
        self._prefixes: PrefixStore | None = None
        self._loading = threading.RLock()
        self.busy = threading.Lock()
        """Held while the model generates: it serves one wave at a time."""

    @property
    def tokenizer(self) -> Any:
        with self._loading:
            if self._tokenizer is None:
                from transformers import AutoTokenizer

                tokenizer = AutoTokenizer.from_pretrained(self.location.name, **self._where())
                if tokenizer.pad_token_id is None:
                    tokenizer.pad_token = tokenizer.eos_token
                if not tokenizer.chat_template:
                    tokenizer.chat_template = self._fallback_template(tokenizer)
                self._tokenizer = tokenizer
            return self._tokenizer

    @property
    def model(self) -> Any:
        with self._loading:
            if self._model is None:
                import torch
                from transformers import AutoModelForCausalLM

                device = self._device
                if device == "auto":
                    device = "cuda" if torch.cuda.is_available() else "cpu"
                # Half precision is slower than float32 on CPUs without instructions for it.
                dtype = ("float32" if device == "cpu" else "auto") if self._dtype == "auto" else self._dtype
                model = AutoModelForCausalLM.from_pretrained(
                    self.location.name, dtype=dtype if dtype == "auto" else getattr(torch, dtype), **self._where()
                )
                self._model = model.to(device).eval()
            return self._model

    def prefixes(self, budget: int) -> PrefixStore:
        """Attention states of earlier prompts. Only for whoever holds `busy`.

        Args:
            budget: bytes that are kept; the first caller decides.
        """
        if self._prefixes is None:
            from agentworld_envs.backends.world_model.engines.transformers_prefix import PrefixStore

            self._prefixes = PrefixStore(self.model, budget)
        return self._prefixes

    @property
    def context_tokens(self) -> int | None:
        """Positions that the model knows, `None` when its configuration does not say."""
        config = self.model.config.get_text_config()
        length = getattr(config, "max_position_embeddings", None)
        return length if isinstance(length, int) else None

    @property
    def eos_ids(self) -> list[int]:
        """Tokens that end an answer."""
        configured = self.model.generation_config.eos_token_id
        ids = configured if isinstance(configured, list) else [configured]
        known = [self.tokenizer.eos_token_id, self.tokenizer.get_vocab().get("<|im_end|>"), *ids]
        return sorted({token for token in known if token is not None})

    def encode(self, messages: Sequence[Message], prefill: str, options: Mapping[str, Any]) -> list[int]:
        """The prompt as tokens, up to and including the prefill of the assistant's turn."""
        text = self.tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.content} for message in messages],
            tokenize=False,
            add_generation_prompt=True,
            **options,
        )
        # The template has written the special tokens already.
        ids: list[int] = self.tokenizer(text + prefill, add_special_tokens=False)["input_ids"]
        return ids

    def _where(self) -> dict[str, Any]:
        where: dict[str, Any] = {}
        if self.location.revision:
            where["revision"] = self.location.revision
        if self.location.gguf_file:
            where["gguf_file"] = self.location.gguf_file
        return where

    def _fallback_template(self, tokenizer: Any) -> str:
        if {"<|im_start|>", "<|im_end|>"} <= set(tokenizer.get_vocab()):
            return _CHATML
        raise ConfigError(
            f"The tokeniser of {self.location.name!r} has no chat template and does not know ChatML. Expected a chat "
            "model."
        )


_LOADED: weakref.WeakValueDictionary[tuple[Location, str, str], LoadedModel] = weakref.WeakValueDictionary()
_LOADED_LOCK = threading.Lock()


def shared_model(location: Location, device: str, dtype: str) -> LoadedModel:
    """The process's one copy of a model; it is freed when the last engine lets go of it."""
    with _LOADED_LOCK:
        key = (location, device, dtype)
        loaded = _LOADED.get(key)
        if loaded is None:
            loaded = _LOADED[key] = LoadedModel(location, device, dtype)
        return loaded
