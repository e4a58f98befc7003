"""Engines by model string. Importing this loads none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentworld_envs.backends.world_model.engines.base import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Role,
    Sampling,
)
from agentworld_envs.backends.world_model.engines.scripted import ScriptedEngine, scripted
from agentworld_envs.interface import ConfigError, unknown_name

__all__ = [
    "FORMS",
    "Completion",
    "Engine",
    "GenerationRequest",
    "Message",
    "Role",
    "Sampling",
    "ScriptedEngine",
    "build_engine",
    "recommended_settings",
]

FORMS: dict[str, str] = {
    "bundled": "bundled:NAME_OR_PATH, e.g. bundled:text_world",
    "openai": "openai:URL#MODEL, e.g. openai:http://127.0.0.1:8000/v1#Qwen/Qwen-AgentWorld-35B-A3B",
    "scripted": "scripted:NAME, e.g. scripted:oracle",
    "transformers": "transformers:HUB_ID_OR_PATH, e.g. transformers:HuggingFaceTB/SmolLM2-135M-Instruct",
    "vllm": "vllm:HUB_ID_OR_PATH, e.g. vllm:Qwen/Qwen-AgentWorld-35B-A3B",
}
"""The form of a model string, by scheme."""


def build_engine(model: str, revision: str = "", options: Mapping[str, Any] | None = None) -> Engine:
    """The engine that a model string names. Nothing is loaded or contacted yet.

    Args:
        model: `bundled:NAME_OR_PATH`, `openai:URL#MODEL`, `transformers:HUB_ID_OR_PATH`, `vllm:HUB_ID_OR_PATH` or
            `scripted:NAME`.
        revision: which weights, where the name does not say it; a commit or branch for a hub id.
        options: the engine's own options, fields of `BundledOptions`, `OpenAIOptions`, `TransformersOptions` or
            `VLLMOptions`.

    Raises:
        ConfigError: unknown scheme, malformed string or unknown option.
    """
    scheme, colon, rest = model.strip().partition(":")
    if not colon or not rest:
        if scheme in FORMS:
            raise ConfigError(f"Malformed model {model!r}: expected {FORMS[scheme]}.")
        raise ConfigError(f"Malformed model {model!r}: expected one of {'; '.join(FORMS.values())}.")
    if scheme not in FORMS:
        raise ConfigError(f"{unknown_name('engine', scheme, FORMS)} Expected one of {'; '.join(FORMS.values())}.")
    return _BUILDERS[scheme](rest, revision, options or {})


def recommended_settings(model: str) -> dict[str, Any]:
    """Fields of `WorldModelConfig` that a model wants where the user says nothing; none for most. A fresh dictionary.

    Args:
        model: a model string; one that cannot be is no error here.
    """
    if model.strip().partition(":")[0] != "bundled":
        return {}
    from agentworld_envs.backends.world_model.engines.bundled import RECOMMENDED

    return dict(RECOMMENDED)


def _bundled(rest: str, revision: str, options: Mapping[str, Any]) -> Engine:
    from agentworld_envs.backends.world_model.engines.bundled import BundledEngine

    return BundledEngine.parse(rest, revision, options)


def _openai(rest: str, revision: str, options: Mapping[str, Any]) -> Engine:
    from agentworld_envs.backends.world_model.engines.openai import OpenAIEngine

    return OpenAIEngine.parse(rest, revision, options)


def _transformers(rest: str, revision: str, options: Mapping[str, Any]) -> Engine:
    from agentworld_envs.backends.world_model.engines.transformers import TransformersEngine

    return TransformersEngine.parse(rest, revision, options)


def _vllm(rest: str, revision: str, options: Mapping[str, Any]) -> Engine:
    from agentworld_envs.backends.world_model.engines.vllm import VLLMEngine

    return VLLMEngine.parse(rest, revision, options)


def _scripted(rest: str, revision: str, options: Mapping[str, Any]) -> Engine:
    if options:
        raise ConfigError(f"Scripted engines have no options, got {', '.join(sorted(options))}.")
    return scripted(rest)


_BUILDERS: dict[str, Callable[[str, str, Mapping[str, Any]], Engine]] = {
    "bundled": _bundled,
    "openai": _openai,
    "scripted": _scripted,
    "transformers": _transformers,
    "vllm": _vllm,
}
