"""`request_key`: the content address of a generation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from agentworld_envs.backends.world_model.engines.base import GenerationRequest, Message, Sampling

SEED_BITS = 31


def _digest(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return blake2b(text.encode("ascii"), digest_size=32).digest()


def _plain(messages: Sequence[Message]) -> list[list[str]]:
    return [[message.role, message.content] for message in messages]


def request_key(model: str, revision: str, request: GenerationRequest) -> bytes:
    """32 bytes over all that determines an answer: model, revision, prompt version, messages, sampling and seed.

    Canonical ASCII JSON under BLAKE2b, so that the key is the same in every process and on every machine. The deadline
    and the session are left out: they do not change what the answer is.
    """
    return _digest(
        {
            "model": model,
            "revision": revision,
            "prompt_version": request.prompt_version,
            "messages": _plain(request.messages),
            "sampling": _sampling(request.sampling),
            "seed": request.seed,
        }
    )


def _sampling(sampling: Sampling) -> dict[str, Any]:
    """All of it; without an adapter as before there were any, so that older cassettes stay good."""
    return sampling.model_dump(mode="json", exclude=None if sampling.adapter else {"adapter"})


def messages_key(model: str, revision: str, messages: Sequence[Message]) -> bytes:
    """32 bytes over all that determines the length of a prompt in tokens."""
    return _digest({"model": model, "revision": revision, "messages": _plain(messages)})


def files_digest(folder: Path, names: Sequence[str]) -> str:
    """16 hexadecimal digits over the contents of files, for names behind which contents may change.

    Args:
        folder: where they are.
        names: of the files; those that are not there count as such.
    """
    found = blake2b(digest_size=8)
    for name in names:
        path = folder / name
        found.update(f"{name}:{path.is_file()}\n".encode())
        if path.is_file():
            with path.open("rb") as file:
                while block := file.read(1 << 20):
                    found.update(block)
    return found.hexdigest()


def attempt_seed(seed: int, turn: int, attempt: int) -> int:
    """Seed of one generation, a pure function of its place in the episode.

    Args:
        seed: the session's seed. turn: 0-based turn. attempt: 0 for the first try of a turn.

    Returns:
        An integer in [0, 2**31).
    """
    raw = blake2b(f"{seed}/{turn}/{attempt}".encode("ascii"), digest_size=8).digest()
    return int.from_bytes(raw, "big") >> (64 - SEED_BITS)
