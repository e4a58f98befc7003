"""`agentworld control`: how an agent gets on when things go wrong on purpose."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from gymnasium.vector import AutoresetMode

from agentworld_envs import AgentWorldVectorEnv, ConfigError, resolve_id
from agentworld_envs.agents import RolloutSummary, build_agent, rollout
from agentworld_envs.cli import options
from agentworld_envs.cli.console import plain_table, say, stderr, stdout
from agentworld_envs.cli.report import failures_text, faults_text, obedience_text, success_text

AGENTS = ("expert", "random")


def control_command(
    env_id: options.EnvId,
    levels: Annotated[str, typer.Option(help="Levels, separated by commas.")] = "E0,E1,E2,E3",
    backend: options.Backend = "real",
    agent: Annotated[str, typer.Option(help="expert (plays its plan, whatever it sees) or random.")] = "expert",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="Episodes of each level.")] = 20,
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes at a time; changes speed, never results.")] = 8,
    seed: options.Seed = 0,
    tasks: options.Tasks = None,
    reward: options.Reward = "verifier",
    max_steps: options.MaxSteps = None,
    sandbox: options.Sandbox = None,
    inject: options.Inject = "code",
    fault_count: options.FaultCount = 2,
    fault_duration: options.FaultDuration = 2,
    model: options.Model = None,
    cassette: options.Cassette = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    stop: options.Stop = None,
    prefill: options.Prefill = False,
) -> None:
    """Let an agent play the same episodes at each level of faults, and compare. Exit code 1 without a valid reward.

    Levels are those of OccuBench: E0 clean, E1 explicit faults, E2 implicit ones, E3 both.
    """
    if agent not in AGENTS:
        raise ConfigError(f"Expected --agent to be {' or '.join(AGENTS)}, got {agent!r}. Use agentworld rollout else.")
    wanted = [level.strip() for level in levels.split(",") if level.strip()]
    if not wanted:
        raise ConfigError("Expected --levels to name at least one level, e.g. E0,E1,E2,E3.")
    domain = options.domain_of(env_id)
    controls = {level: options.control_of(level, inject, fault_count, fault_duration, None) for level in wanted}
    arguments: dict[str, Any] = {
        "domain": domain,
        "tasks": tasks,
        "reward": reward,
        "max_steps": max_steps,
        "sandbox": sandbox,
        **options.backend_arguments(
            backend,
            domain=domain,
            model=model,
            cassette=cassette,
            max_tokens=max_tokens,
            temperature=temperature,
            stop=stop,
            prefill=prefill,
        ),
    }
    summaries: dict[str, RolloutSummary] = {}
    for level, control in controls.items():
        env = AgentWorldVectorEnv(
            num_envs=min(num_envs, episodes), control=control, autoreset_mode=AutoresetMode.DISABLED, **arguments
        )
        player = build_agent(agent, seed=seed)
        try:
            summaries[level] = rollout(env, player, episodes, seed=seed)
        finally:
            player.close()
            env.close()
        say(stderr(), f"{level}: {summaries[level].n} episodes played")
    _print(f"{resolve_id(env_id)}, backend {backend}, agent {agent}, faults by {inject}", summaries)
    if not any(summary.n_valid for summary in summaries.values()):
        raise typer.Exit(1)


def _print(title: str, summaries: dict[str, RolloutSummary]) -> None:
    console = stdout()
    say(console, title, style="bold")
    table = plain_table("level", "success", "mean steps", "faults", "failures")
    for level, summary in summaries.items():
        steps = "-" if summary.mean_steps is None else f"{summary.mean_steps:.1f}"
        table.add_row(level, success_text(summary), steps, faults_text(summary), failures_text(summary))
    console.print(table)
    for level, summary in summaries.items():
        obedience = obedience_text(summary)
        if obedience:
            say(console, f"{level}: obeyed {obedience}")
