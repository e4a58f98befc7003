"""The domains, by name. Each is one package, imported only when it is asked for."""

from __future__ import annotations

import importlib

from agentworld_envs.interface import ConfigError, Domain, unknown_name

DOMAINS: dict[str, str] = {
    "search": "agentworld_envs.domains.search:Search",
    "terminal": "agentworld_envs.domains.terminal:Terminal",
    "text_world": "agentworld_envs.domains.text_world:TextWorld",
}
"""Name of a domain -> `module:Class`."""


def load_domain(name: str) -> Domain:
    """Build a domain by name.

    Raises:
        ConfigError: no such domain, or its entry does not lead to a `Domain`.
    """
    if name not in DOMAINS:
        raise unknown_name("domain", name, DOMAINS)
    module, _, attribute = DOMAINS[name].partition(":")
    domain = getattr(importlib.import_module(module), attribute)()
    if not isinstance(domain, Domain):
        raise ConfigError(f"Expected {DOMAINS[name]} to be a Domain, got {type(domain).__name__}.")
    return domain
