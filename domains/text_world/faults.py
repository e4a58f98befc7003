"""What the game says when it is made to fail."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_envs.interface.fault import ExplicitKind

FAULT_TEXTS: Mapping[ExplicitKind, str] = {
    "error": "Something went wrong, and nothing was done.",
    "timeout": "The game does not answer: the request timed out. Nothing was done.",
    "server_error": "The game cannot be reached: 503 Service Unavailable. Nothing was done.",
}
"""They are unlike its answer to an impossible command, and unlike every acknowledgement."""
