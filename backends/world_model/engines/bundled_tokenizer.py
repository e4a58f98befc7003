"""`WordTokenizer`: the `tokenizer.json` of a small model, read and used without the `tokenizers` package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agentworld_envs.interface import ConfigError


class WordTokenizer:
    """A WordLevel model behind one `Split` pre-tokenizer, and control tokens in front of it.

    It gives the same numbers as the `tokenizers` package does for the same file.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Args: data: content of `tokenizer.json`.

        Raises:
            ConfigError: another kind of tokenizer.
        """
        try:
            model, split = data["model"], data["pre_tokenizer"]
            if model["type"] != "WordLevel" or split["type"] != "Split" or data["decoder"]["type"] != "Fuse":
                raise ConfigError("Expected a WordLevel tokenizer with a Split pre-tokenizer and a Fuse decoder.")
            self.vocabulary: dict[str, int] = dict(model["vocab"])
            self._unknown = self.vocabulary[model["unk_token"]]
            self._split = re.compile(split["pattern"]["Regex"])
            normalizer = data.get("normalizer")
            if normalizer is not None and (normalizer["type"] != "Replace" or normalizer["content"] != ""):
                raise ConfigError("Expected no normalizer, or one that drops a fixed text.")
            self._dropped: str = "" if normalizer is None else normalizer["pattern"]["String"]
            self.special: dict[str, int] = {row["content"]: row["id"] for row in data["added_tokens"]}
        except (KeyError, TypeError, re.error) as error:
            raise ConfigError(f"tokenizer.json is not of the expected form: {error!r}.") from error
        self._control = re.compile(f"({'|'.join(re.escape(word) for word in self.special)})")
        self._words = {number: word for word, number in self.vocabulary.items()}

    @classmethod
    def read(cls, path: Path) -> WordTokenizer:
        """Read a file.

        Raises:
            ConfigError: it is not there, or not of the expected form.
        """
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise ConfigError(f"Cannot read {path}: {error}. Expected the folder of a small model.") from error

    def encode(self, text: str) -> list[int]:
        """Token numbers of a text. Control tokens in it count as such."""
        found: list[int] = []
        for i, part in enumerate(self._control.split(text)):
            if i % 2:
                found.append(self.special[part])
            else:
                get, unknown = self.vocabulary.get, self._unknown
                kept = part.replace(self._dropped, "") if self._dropped else part
                found += [get(word, unknown) for word in self._split.findall(kept)]
        return found

    def decode(self, numbers: Iterable[int]) -> str:
        """The text, without control tokens."""
        control = set(self.special.values())
        return "".join(self._words.get(number, "") for number in numbers if number not in control)
