"""The engine: corpora, the index, ranking, snippets, and reading of pages."""

from agentworld_envs.domains.search.engine.build import BuildReport, build
from agentworld_envs.domains.search.engine.corpus import Corpus, read_corpus
from agentworld_envs.domains.search.engine.index import open_index
from agentworld_envs.domains.search.engine.memory import memory_index
from agentworld_envs.domains.search.engine.ranking import Ranking
from agentworld_envs.domains.search.engine.urls import BadURL, canonical

__all__ = [
    "BadURL",
    "BuildReport",
    "Corpus",
    "Ranking",
    "build",
    "canonical",
    "memory_index",
    "open_index",
    "read_corpus",
]
