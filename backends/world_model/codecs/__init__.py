"""The markup of Qwen-AgentWorld's seven domains: actions and observations, structured and as text, both ways."""

from __future__ import annotations

from agentworld_envs.backends.world_model.codecs.android import AndroidCodec
from agentworld_envs.backends.world_model.codecs.base import ActionBlock, Call, DomainCodec, Observation, Raw
from agentworld_envs.backends.world_model.codecs.layout import UserTurn, read_observation_turn, read_user_turn
from agentworld_envs.backends.world_model.codecs.mcp import MCPCodec
from agentworld_envs.backends.world_model.codecs.os import OSCodec
from agentworld_envs.backends.world_model.codecs.search import SearchCodec
from agentworld_envs.backends.world_model.codecs.swe import SWECodec
from agentworld_envs.backends.world_model.codecs.terminal import TerminalCodec
from agentworld_envs.backends.world_model.codecs.web import WebCodec
from agentworld_envs.interface import unknown_name

__all__ = [
    "CODECS",
    "ActionBlock",
    "AndroidCodec",
    "Call",
    "DomainCodec",
    "MCPCodec",
    "OSCodec",
    "Observation",
    "Raw",
    "SWECodec",
    "SearchCodec",
    "TerminalCodec",
    "UserTurn",
    "WebCodec",
    "codec_for",
    "read_observation_turn",
    "read_user_turn",
]

CODECS: dict[str, DomainCodec] = {
    codec.name: codec
    for codec in (MCPCodec(), SearchCodec(), TerminalCodec(), SWECodec(), AndroidCodec(), WebCodec(), OSCodec())
}
"""Name of a Qwen-AgentWorld domain -> its codec, in the order of the published table."""


def codec_for(name: str) -> DomainCodec:
    """The codec of a Qwen-AgentWorld domain.

    Args:
        name: `mcp`, `search`, `terminal`, `swe`, `android`, `web` or `os`; of a path such as `x/mcp` the last part.

    Raises:
        ConfigError: no such domain; names the nearest.
    """
    domain = name.rpartition("/")[2]
    if domain not in CODECS:
        raise unknown_name("Qwen-AgentWorld domain", domain, CODECS)
    return CODECS[domain]
