"""`checked`: pydantic models whose errors are in the words of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agentworld_envs.interface import ConfigError, unknown_name

M = TypeVar("M", bound=BaseModel)


def checked(model: type[M], what: str, fields: Mapping[str, Any]) -> M:
    """Make a model of fields.

    Args:
        model: its class.
        what: the noun for a field of it, e.g. `"world-model setting"`.
        fields: by name.

    Raises:
        ConfigError: unknown or impossible fields; says which and why.
    """
    try:
        return model(**fields)
    except ValidationError as error:
        raise config_error(what, error, model.model_fields) from error


def config_error(what: str, error: ValidationError, known: Iterable[str]) -> ConfigError:
    """A `ConfigError` for a rejected configuration, with the nearest names for unknown fields.

    Args:
        what: the noun, e.g. `"world-model setting"`.
        error: what pydantic raised.
        known: the names of all fields.
    """
    names = sorted(known)
    lines = []
    for item in error.errors(include_url=False):
        path = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden" and len(item["loc"]) == 1:
            lines.append(str(unknown_name(what, path, names)))
        elif item["type"] == "missing":
            lines.append(f"The {what} {path!r} is missing.")
        else:
            reason = item["msg"].removeprefix("Value error, ")
            lines.append(f"The {what} {path!r} is wrong: {reason}." if path else f"Wrong {what}s: {reason}.")
    return ConfigError(" ".join(lines))
