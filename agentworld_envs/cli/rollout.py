"""`agentworld rollout`: an agent plays many episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from gymnasium.vector import AutoresetMode
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agentworld_envs import AgentWorldVectorEnv, ConfigError, resolve_id
from agentworld_envs.agents import Agent, EpisodeResult, Rollout, RolloutSummary, build_agent
from agentworld_envs.agents.rollout import Progress as Callback
from agentworld_envs.agents.searcher import VISITS
from agentworld_envs.cli import options
from agentworld_envs.cli.console import say, stderr, stdout
from agentworld_envs.cli.report import print_summary

AGENT = "Agent"
LLM_TEMPERATURE = 0.7

AgentTemperature = Annotated[
    float | None,
    typer.Option(min=0.0, help="0 is greedy. Default: 0.7 for llm, 0 for searcher.", rich_help_panel=AGENT),
]
AgentVisits = Annotated[
    int, typer.Option(min=0, help="Pages that agent searcher may open in an episode.", rich_help_panel=AGENT)
]


def rollout_command(
    env_id: options.EnvId,
    backend: options.Backend = "real",
    agent: Annotated[str, typer.Option(help="expert, random, searcher or llm.", rich_help_panel=AGENT)] = "expert",
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="How many episodes.")] = 10,
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes at a time; changes speed, never results.")] = 8,
    seed: options.Seed = 0,
    tasks: options.Tasks = None,
    reward: options.Reward = "verifier",
    max_steps: options.MaxSteps = None,
    record: options.Record = None,
    sandbox: options.Sandbox = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary and every episode here.")] = None,
    agent_model: Annotated[str | None, typer.Option(help="Model string of agent llm.", rich_help_panel=AGENT)] = None,
    agent_max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest answer in tokens.", rich_help_panel=AGENT)
    ] = 512,
    agent_temperature: AgentTemperature = None,
    agent_visits: AgentVisits = VISITS,
    model: options.Model = None,
    cassette: options.Cassette = None,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    stop: options.Stop = None,
    prefill: options.Prefill = False,
    control: options.ControlLevel = None,
    inject: options.Inject = "code",
    fault_count: options.FaultCount = 2,
    fault_duration: options.FaultDuration = 2,
    instruction: options.Instruction = None,
) -> None:
    """Let an agent play episodes; print success, validity, speed, tokens and failures.

    Episode i has seed SEED + i. Exit code 1 when no episode has a valid reward.
    """
    domain = options.domain_of(env_id)
    controlled = options.control_of(control, inject, fault_count, fault_duration, instruction)
    player = make_agent(agent, agent_model, agent_max_tokens, agent_temperature, seed, agent_visits)
    appended = record is not None and record.exists() and record.stat().st_size > 0
    try:
        env = AgentWorldVectorEnv(
            domain,
            min(num_envs, episodes),
            tasks=tasks,
            reward=reward,
            max_steps=max_steps,
            record=record,
            sandbox=sandbox,
            control=controlled,
            autoreset_mode=AutoresetMode.DISABLED,
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
        )
        try:
            summary, interrupted = _play(env, player, episodes, seed)
        finally:
            env.close()
    finally:
        player.close()
    console = stdout()
    title = f"{resolve_id(env_id)}, backend {backend}, agent {agent}, reward {reward}"
    print_summary(console, summary, title if control is None else f"{title}, control {control}")
    if record is not None:
        say(console, f"Trajectory: {record}{' (appended to what was there)' if appended else ''}")
        say(console, f"Check it: agentworld replay {record}")
    if json_file is not None:
        _write_json(json_file, summary)
        say(console, f"Summary as JSON: {json_file}")
    if interrupted:
        raise typer.Exit(130)
    if not summary.n_valid:
        raise typer.Exit(1)


def make_agent(
    name: str, model: str | None, max_tokens: int, temperature: float | None, seed: int, visits: int = VISITS
) -> Agent:
    """An agent from the options that commands have for it."""
    if name != "llm":
        return build_agent(name, seed=seed, visits=visits, temperature=temperature or 0.0)
    from agentworld_envs.backends.world_model import Sampling

    if model is None:
        raise ConfigError("--agent llm needs --agent-model, e.g. openai:http://127.0.0.1:8000/v1#MODEL.")
    temperature = LLM_TEMPERATURE if temperature is None else temperature
    return build_agent(name, model=model, seed=seed, sampling=Sampling(temperature=temperature, max_tokens=max_tokens))


def _play(env: AgentWorldVectorEnv, agent: Agent, episodes: int, seed: int) -> tuple[RolloutSummary, bool]:
    """The summary, and whether the user interrupted."""
    with _progress(episodes) as progress:
        rollout = Rollout(env, agent, episodes, seed=seed, progress=progress)
        try:
            return rollout.run(), False
        except KeyboardInterrupt:
            return rollout.summary(), True


@contextmanager
def _progress(episodes: int) -> Iterator[Callback]:
    """A bar in a terminal; in a log one plain line per tenth of the episodes."""
    console = stderr()
    done = solved = 0

    def count(result: EpisodeResult) -> None:
        nonlocal done, solved
        done += 1
        solved += result.status == "valid" and result.success

    if not console.is_terminal:

        def plain(result: EpisodeResult) -> None:
            count(result)
            if done * 10 // episodes > (done - 1) * 10 // episodes:
                say(console, f"{done}/{episodes} episodes, {solved} solved")

        yield plain
        return
    columns = (TextColumn("episodes"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[solved]} solved"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=episodes, solved=0)

        def drawn(result: EpisodeResult) -> None:
            count(result)
            bar.update(task, completed=done, solved=solved)

        yield drawn


def _write_json(path: Path, summary: RolloutSummary) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(summary.to_dict(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error
