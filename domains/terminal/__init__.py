"""A shell on a machine of its own: generated tasks, tasks from folders, and the state of the machine as the judge."""

from agentworld_envs.domains.terminal.domain import Terminal
from agentworld_envs.domains.terminal.scenario import Entry, InitialState, Scenario
from agentworld_envs.domains.terminal.tasks import GeneratedTasks

__all__ = ["Entry", "GeneratedTasks", "InitialState", "Scenario", "Terminal"]
