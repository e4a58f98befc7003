"""`agentworld list`: what can be played."""

from __future__ import annotations

from agentworld_envs import ENV_IDS
from agentworld_envs.backends import BACKENDS
from agentworld_envs.cli.console import plain_table, say, stdout
from agentworld_envs.domains import load_domain
from agentworld_envs.interface import AgentWorldError


def list_environments() -> None:
    """List the environments with their task sets, backends and step limits."""
    console = stdout()
    table = plain_table("id", "domain", "task sets (first is default)", "steps")
    for env_id, name in ENV_IDS.items():
        try:
            domain = load_domain(name)
            task_sets = ", ".join(domain.task_sets)
            limit = str(domain.tasks()[0].max_steps)
        except AgentWorldError as error:  # one broken domain must not hide the others
            task_sets, limit = f"unusable: {error}", "-"
        table.add_row(env_id, name, task_sets, limit)
    console.print(table)
    say(console, f"\nBackends: {', '.join(BACKENDS)}. Steps: the first task's own limit.")
    say(console, "Try: agentworld play TextWorld, or agentworld rollout TextWorld --episodes 20")
