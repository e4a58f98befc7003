"""`python -m agentworld_envs.cli`, the same as `agentworld`."""

from agentworld_envs.cli import main

main()
