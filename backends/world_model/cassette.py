"""`CassetteEngine`: any engine with a memory, so that simulated episodes can be played again with no model at all."""

from __future__ import annotations

import difflib
import sqlite3
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict

from agentworld_envs.backends.world_model.cassette_store import CassetteStore
from agentworld_envs.backends.world_model.engines.base import Completion, Engine, GenerationRequest, Message, Sampling
from agentworld_envs.backends.world_model.engines.keys import messages_key, request_key
from agentworld_envs.interface import CassetteMiss, ConfigError, Failure, ProviderError, Session, Usage, classify

MAX_TOKENS: Final = 2**53
"""A count above this is nonsense from a server."""

CassetteMode = Literal["record", "replay", "replay-or-fail"]


class CassetteConfig(BaseModel):
    """Which file, and what it is used for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path
    """The SQLite file."""
    mode: CassetteMode = "replay"
    """`record`: ask for everything once and store it, over what is there. `replay`: use what is stored, ask for and
    store the rest. `replay-or-fail`: use what is stored and never ask."""

    @classmethod
    def parse(cls, text: str) -> CassetteConfig:
        """Read `FILE` (mode `replay`), `record:FILE`, `replay:FILE` or `replay-or-fail:FILE`.

        Raises:
            ConfigError: no file is named, or a mode is misspelt.
        """
        mode, colon, rest = text.partition(":")
        if colon and mode in get_args(CassetteMode):
            path = rest
        else:
            near = difflib.get_close_matches(mode, get_args(CassetteMode), n=1) if colon else []
            if near and not Path(text).exists():
                raise ConfigError(f"Unknown cassette mode {mode!r} in {text!r}. Did you mean {near[0]!r}?")
            mode, path = "replay", text
        if not path.strip():
            raise ConfigError(
                f"Malformed cassette {text!r}: expected FILE, record:FILE, replay:FILE or replay-or-fail:FILE."
            )
        return cls.model_validate({"path": path, "mode": mode})


class CassetteEngine(Engine):
    """Answers from a cassette first, as far as its mode allows, and from the wrapped engine for the rest.

    The wrapped engine is not loaded or contacted as long as every answer is on the cassette. Failures are never stored.
    An answer from the cassette has zero tokens and one cache hit in `usage`; what it once cost is in `recorded`.
    Identical requests of one `generate` are made once.

    Raises:
        ConfigError: the file is not a cassette, or is missing in mode `replay-or-fail`.
    """

    def __init__(self, engine: Engine, config: CassetteConfig) -> None:
        self.engine = engine
        self.config = config
        self.model = engine.model
        self.revision = engine.revision
        self._storing = threading.Lock()
        self._fresh: set[bytes] = set()
        """Keys that this engine has recorded itself. Asking for one again (a fork does) must not replace its answer."""
        self.store = CassetteStore(config.path, read_only=config.mode == "replay-or-fail")

    def generate(self, requests: Sequence[GenerationRequest]) -> list[Completion]:
        keys = [request_key(self.model, self.revision, request) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        try:
            recorded = [key for key in wanted if self.config.mode != "record" or key in self._fresh]
            answers = self._hits(recorded) if recorded else {}
        except Exception as error:  # noqa: BLE001 - a cassette that cannot be read fails the wave, not the program
            return [Completion(failure=self._failure(error)) for _ in requests]
        answers |= self._ask({key: request for key, request in wanted.items() if key not in answers})
        completions, seen = [], set()
        for key in keys:
            completions.append(_again(answers[key]) if key in seen else answers[key])
            seen.add(key)
        return completions

    def _hits(self, keys: Sequence[bytes]) -> dict[bytes, Completion]:
        found = self.store.completions(keys)
        return {
            key: Completion(c.text, c.reasoning, c.finish_reason, Usage(cache_hits=1), recorded=c.recorded)
            for key, c in found.items()
        }

    def _ask(self, missing: dict[bytes, GenerationRequest]) -> dict[bytes, Completion]:
        if not missing:
            return {}
        if self.config.mode == "replay-or-fail":
            miss = classify(
                CassetteMiss(
                    f"The cassette {str(self.config.path)!r} has no answer for this request. The model, its revision, "
                    "the prompt, the sampling, the seed or an action differs from the recording; record it with "
                    f"cassette='replay:{self.config.path}'."
                )
            )
            return {key: Completion(failure=miss) for key in missing}
        # What the cassette knows is still good when the engine breaks.
        answers = dict(zip(missing, self.engine.answer(list(missing.values())), strict=True))
        good = {key: _storable(answer) for key, answer in answers.items() if answer.failure is None}
        answers |= good
        try:
            if good:
                with self._storing:
                    new = {key: answer for key, answer in good.items() if key not in self._fresh}
                    self.store.store(new, self.model, replace=self.config.mode == "record")
                    self._fresh.update(new)
                answers |= self._first_recorded(good)
        except Exception as error:  # noqa: BLE001 - an answer that is not on the cassette would not be reproducible
            failure = self._failure(error)
            answers |= {key: Completion(usage=answer.usage, failure=failure) for key, answer in good.items()}
        return answers

    def _first_recorded(self, answers: dict[bytes, Completion]) -> dict[bytes, Completion]:
        """Where another thread or process was faster, its answer is on the cassette, and has to be ours too."""
        stored = self.store.completions(list(answers))
        return {key: Completion(c.text, c.reasoning, c.finish_reason, answers[key].usage) for key, c in stored.items()}

    def _failure(self, error: Exception) -> Failure:
        if isinstance(error, sqlite3.Error):
            error = ProviderError(f"The cassette {str(self.config.path)!r} cannot be used now: {error}.")
        return classify(error)

    def count_tokens(self, messages: Sequence[Message]) -> int | None:
        """The wrapped engine's count, remembered, because it decides which turns a long prompt leaves out."""
        key = messages_key(self.model, self.revision, messages)
        known = self.store.token_count(key)
        if known is not None or self.config.mode == "replay-or-fail":
            return known
        tokens = self.engine.count_tokens(messages)
        if tokens is not None:
            self.store.store_token_count(key, tokens)
        return tokens

    def check(self) -> None:
        """A recording needs its engine; a replay may do without."""
        if self.config.mode == "record":
            self.engine.check()

    def check_sampling(self, sampling: Sampling) -> None:
        self.engine.check_sampling(sampling)

    def forget(self, sessions: Sequence[Session]) -> None:
        self.engine.forget(sessions)

    def close(self) -> None:
        self.engine.close()
        self.store.close()

    def describe(self) -> dict[str, Any]:
        return {**self.engine.describe(), "cassette": self.config.mode}


def _storable(answer: Completion) -> Completion:
    """The answer in a form that the file can hold: lone surrogates escaped, token counts within 64 bits."""
    usage = replace(
        answer.usage,
        prompt_tokens=min(answer.usage.prompt_tokens, MAX_TOKENS),
        completion_tokens=min(answer.usage.completion_tokens, MAX_TOKENS),
        reasoning_tokens=min(answer.usage.reasoning_tokens, MAX_TOKENS),
    )
    return replace(answer, text=_encodable(answer.text), reasoning=_encodable(answer.reasoning), usage=usage)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _again(answer: Completion) -> Completion:
    """The answer for a second identical request of the same wave, which cost nothing."""
    if answer.failure is not None:
        return Completion(failure=answer.failure)
    recorded = answer.usage if answer.recorded is None else answer.recorded
    return Completion(answer.text, answer.reasoning, answer.finish_reason, Usage(cache_hits=1), recorded=recorded)
