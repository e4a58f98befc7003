"""Web search: a local engine over fictional worlds without end, or over a corpus of one's own."""

from agentworld_envs.domains.search.domain import Search
from agentworld_envs.domains.search.tasks import GeneratedTasks

__all__ = ["GeneratedTasks", "Search"]
