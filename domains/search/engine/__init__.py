"""The engine: corpora, the index, ranking, snippets, and reading of pages."""

from agentworld_envs.domains.search.engine.memory import memory_index
from agentworld_envs.domains.search.engine.urls import BadURL, canonical

__all__ = ["BadURL", "canonical", "memory_index"]
