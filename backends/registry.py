"""The backends, by name, each built from its own configuration."""

from __future__ import annotations

import importlib
from typing import Any, Protocol, runtime_checkable

from agentworld_envs.interface import Backend, ConfigError, unknown_name

BACKENDS: dict[str, str] = {
    "real": "agentworld_envs.backends.real:RealConfig",
    "replay": "agentworld_envs.backends.replay:ReplayConfig",
    "shadow": "agentworld_envs.backends.shadow:ShadowConfig",
    "world_model": "agentworld_envs.backends.world_model:WorldModelConfig",
}
"""Name of a backend -> `module:Config`."""


@runtime_checkable
class BackendConfig(Protocol):
    """A configuration that builds its backend."""

    def build(self) -> Backend:
        """A new backend; the caller shuts it down."""


def build_backend(
    backend: str | BackendConfig | Backend,
    *,
    model: str | None = None,
    cassette: Any = None,
    default_model: str | None = None,
) -> tuple[Backend, bool]:
    """Build a backend.

    Args:
        backend: a name (`"real"`, `"world_model"`, `"shadow"`, `"shadow:world_model"`, `"replay:FILE"`), a
            configuration, or a backend.
        model: model string for the backends that simulate; the others ignore it, so that swapping is one argument.
        cassette: recording of the model's answers, likewise.
        default_model: what simulates where a name is given and no model.

    Returns:
        The backend, and whether the caller owns it (a given instance stays the giver's).

    Raises:
        ConfigError: unknown name, or a configuration that cannot be.
    """
    if not isinstance(backend, str) and (model is not None or cassette is not None):
        raise ConfigError(
            f"backend is a {type(backend).__name__}: give model and cassette to it and not to the environment."
        )
    if isinstance(backend, Backend):
        return backend, False
    if isinstance(backend, str):
        return _from_name(backend, model or default_model, cassette).build(), True
    if isinstance(backend, BackendConfig) and not isinstance(backend, type):
        return backend.build(), True
    raise ConfigError(
        f"Expected backend to be a name ({', '.join(sorted(BACKENDS))}), a configuration or a Backend, "
        f"got {type(backend).__name__}."
    )


def _from_name(text: str, model: str | None, cassette: Any) -> BackendConfig:
    name, _, argument = text.partition(":")
    if name not in BACKENDS:
        raise unknown_name("backend", name, BACKENDS)
    module, _, attribute = BACKENDS[name].partition(":")
    config: type[Any] = getattr(importlib.import_module(module), attribute)
    if name == "replay":
        if not argument:
            raise ConfigError("backend='replay' needs a recording: backend='replay:FILE.jsonl'.")
        return config(path=argument)  # type: ignore[no-any-return]
    if argument and name != "shadow":
        raise ConfigError(f"backend={name!r} takes no argument after the colon, got {argument!r}.")
    if name in ("shadow", "world_model"):
        if model is None:
            raise ConfigError(
                f"backend={name!r} needs a model for this domain, e.g. "
                "model='openai:http://127.0.0.1:8000/v1#MODEL' or model='transformers:PATH'."
            )
        shown = {"show": argument} if argument else {}
        return config.of(model=model, cassette=cassette, **shown)  # type: ignore[no-any-return]
    return config()  # type: ignore[no-any-return]
