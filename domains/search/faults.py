"""What the tools say when they are made to fail."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_envs.domains.search.calls import Find, Open, Remember, read
from agentworld_envs.interface import Action
from agentworld_envs.interface.fault import ExplicitKind

_SEARCH: Mapping[ExplicitKind, str] = {
    "error": "Error 429: too many requests to the search service. Nothing was searched; try again.",
    "timeout": "Error: the search timed out. Nothing was found in time; try again.",
    "server_error": "Error 503: the search service is unavailable. Nothing was searched; try again.",
}
_PAGE: Mapping[ExplicitKind, str] = {
    "error": "Error 429: too many requests to this site. The page was not read; try again.",
    "timeout": "Error: the connection timed out. The page was not read; try again.",
    "server_error": "Error 503: the site is unavailable. The page was not read; try again.",
}
_MEMORY: Mapping[ExplicitKind, str] = {
    "error": "Error: the memory could not be reached. Nothing was changed; try again.",
    "timeout": "Error: the memory did not answer in time. Nothing was changed; try again.",
    "server_error": "Error 503: the memory is unavailable. Nothing was changed; try again.",
}


def fault_text(action: Action, kind: ExplicitKind) -> str | None:
    """The answer to a call that was not executed; `None` for the answer to the question, which only ends the task."""
    call = read(action)
    if isinstance(call, Find):
        return _SEARCH[kind]
    if isinstance(call, Open):
        return _PAGE[kind]
    return _MEMORY[kind] if isinstance(call, Remember) else None
