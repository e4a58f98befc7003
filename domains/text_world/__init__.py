"""Text world: households in the style of ALFWorld, with a rules engine of our own and a reader for official games."""

from agentworld_envs.domains.text_world.domain import TextWorld

__all__ = ["TextWorld"]
