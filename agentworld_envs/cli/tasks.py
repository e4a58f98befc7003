"""`agentworld tasks`: look at task sets, and choose from them by difficulty."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agentworld_envs.agents import Agent, NoisyExpert, Searcher
from agentworld_envs.agents.searcher import VISITS
from agentworld_envs.cli import options
from agentworld_envs.cli.console import plain_table, say, stderr, stdout
from agentworld_envs.cli.rollout import AgentVisits, make_agent
from agentworld_envs.domains import load_domain
from agentworld_envs.evaluation.difficulty import DifficultyFilter, DifficultySettings
from agentworld_envs.evaluation.difficulty import Progress as Callback
from agentworld_envs.evaluation.difficulty_report import DifficultyReport
from agentworld_envs.interface import ConfigError, Task, TaskError
from agentworld_envs.task_files import named_tasks

NOISY = "noisy-expert"
"""Name of the agent that is the expert with slips."""
LAST = ("sql", "program")
"""What of a task's hidden parts is long, and shown last."""
AGENT = "Agent"


def sub_app() -> typer.Typer:
    """The group of commands, fresh on every call."""
    app = typer.Typer(no_args_is_help=True, help="Task sets: look at tasks, and keep those of the right difficulty.")
    app.command("show")(show)
    app.command("filter")(filter_command)
    return app


def show(
    env_id: options.EnvId,
    tasks: options.Tasks = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many, from the first one on.")] = 3,
    answers: Annotated[bool, typer.Option("--answers", help="Print what is hidden from agents, too.")] = False,
) -> None:
    """Print the instructions and tags of the first tasks of a set; answers only when asked for."""
    console = stdout()
    source = named_tasks(load_domain(options.domain_of(env_id)), tasks)
    size = source.size
    say(console, f"{source.name}: {'no end of' if size is None else size} tasks", "bold")
    for index in range(n if size is None else min(n, size)):
        try:
            task = source[index]
        except TaskError as error:  # one broken task hides no other
            say(console, f"\n{index}: cannot be opened: {error}", "red")
            continue
        say(console, f"\n{task.id}  [{', '.join(task.tags)}]  {task.max_steps} steps", "bold")
        say(console, task.instruction)
        if answers:
            if shown := _answer(task):
                say(console, f"answer: {shown}")
            hidden = dict(sorted(task.hidden.items(), key=lambda item: item[0] in LAST))
            for name, value in (("hidden", hidden), ("verifier", task.verifier)):
                say(console, f"{name}: {json.dumps(value, ensure_ascii=False)}")


def _answer(task: Task) -> str | None:
    """The right answer to a question, in short; `None` for tasks that have none."""
    spec = task.verifier.get("answer")
    if isinstance(spec, Mapping) and spec.get("aliases"):
        return f"any of: {' / '.join(map(str, (spec.get('value'), *spec['aliases'])))}"
    answer = task.hidden.get("answer")
    return answer if isinstance(answer, str) else None


def filter_command(
    env_id: options.EnvId,
    out: Annotated[Path, typer.Option("--out", help="File of the kept tasks (JSONL).")],
    tasks: options.Tasks = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many tasks, from the first one on.")] = 100,
    k: Annotated[int, typer.Option("--k", "-k", min=2, help="Rollouts of each task, each with another seed.")] = 8,
    keep: Annotated[str | None, typer.Option(help="Successes of a kept task, e.g. 1-7. Default: 1 to k-1.")] = None,
    agent: Annotated[
        str | None,
        typer.Option(
            help=f"random, searcher, llm or {NOISY}: one that draws. Default: searcher for questions, else {NOISY}.",
            rich_help_panel=AGENT,
        ),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(min=0.0, max=1.0, help=f"Share of slips of {NOISY}.", rich_help_panel=AGENT)
    ] = 0.3,
    backend: options.Backend = "real",
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes at a time; changes speed, never results.")] = 16,
    seed: Annotated[int, typer.Option(min=0, help="Of the rollouts and of the agent.")] = 0,
    reward: options.Reward = "verifier",
    max_steps: options.MaxSteps = None,
    sandbox: options.Sandbox = None,
    agent_model: Annotated[str | None, typer.Option(help="Model string of agent llm.", rich_help_panel=AGENT)] = None,
    agent_max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest answer in tokens.", rich_help_panel=AGENT)
    ] = 512,
    agent_temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.", rich_help_panel=AGENT)] = 0.7,
    agent_visits: AgentVisits = VISITS,
    model: options.Model = None,
    cassette: options.Cassette = None,
) -> None:
    """Keep the tasks that an agent solves sometimes: not never, and not always.

    The kept file opens as a task set everywhere: --tasks FILE. Killed at any time, the same command goes on where it
    was. Exit code 1 when no task is kept.
    """
    if agent is None:  # an expert that slips still hands in the right answer, and measures nothing
        agent = NOISY if load_domain(options.domain_of(env_id)).answer_tool is None else Searcher.name
    say(stderr(), f"Agent: {agent}")
    about: dict[str, Any] = {"name": agent}
    about |= {"epsilon": epsilon} if agent == NOISY else {}
    if agent == "llm":
        about |= {"model": agent_model, "max_tokens": agent_max_tokens, "temperature": agent_temperature}
    if agent == Searcher.name:
        about |= {"visits": agent_visits, "temperature": agent_temperature}
    environment: dict[str, Any] = {"backend": backend, "reward": reward, "max_steps": max_steps, "sandbox": sandbox}
    environment |= {"model": model, "cassette": cassette}
    settings = DifficultySettings(
        tasks=tasks, n=n, k=k, keep=parse_keep(keep), seed=seed, agent=about, environment=environment
    )
    player = _agent(agent, epsilon, seed, agent_model, agent_max_tokens, agent_temperature, agent_visits)
    try:
        chooser = DifficultyFilter(options.domain_of(env_id), settings, out, player, num_envs=num_envs)
        try:
            with _progress() as progress:
                report = chooser.run(progress)
        except KeyboardInterrupt:
            say(stdout(), f"Interrupted. {chooser.journal} has what was played; the same command goes on.")
            raise typer.Exit(130) from None
    finally:
        player.close()
    _print(report, out)
    if not report.kept:
        raise typer.Exit(1)


def parse_keep(text: str | None) -> tuple[int, int] | None:
    """Fewest and most successes out of `1-7` or `3`.

    Raises:
        ConfigError: neither.
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text.strip())
    if match is None:
        raise ConfigError(f"Expected --keep to be two numbers such as 1-7, got {text!r}.")
    return int(match[1]), int(match[2] or match[1])


def _agent(
    name: str, epsilon: float, seed: int, model: str | None, max_tokens: int, temperature: float, visits: int
) -> Agent:
    if name == NOISY:
        return NoisyExpert(epsilon, seed)
    return make_agent(name, model, max_tokens, temperature, seed, visits)


@contextmanager
def _progress() -> Iterator[Callback]:
    """A bar in a terminal; in a log one plain line per tenth of the rollouts."""
    console = stderr()
    if not console.is_terminal:
        tenths = 0

        def plain(done: int, total: int) -> None:
            nonlocal tenths
            if done * 10 // total > tenths:
                tenths = done * 10 // total
                say(console, f"{done}/{total} rollouts")

        yield plain
        return
    columns = (TextColumn("rollouts"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(report: DifficultyReport, out: Path) -> None:
    console = stdout()
    low, high = report.bounds
    say(console, f"{len(report.counts)} tasks, {report.k} rollouts each", "bold")
    table = plain_table("tasks", "count")
    table.add_row(f"kept ({low} to {high} successes)", str(len(report.kept)))
    table.add_row("never solved", str(report.all_fail))
    table.add_row("always solved", str(report.all_pass))
    table.add_row("invalid (a rollout without a valid reward)", str(len(report.invalid)))
    console.print(table)
    for kind, count in report.failures.items():
        say(console, f"invalid by {kind}: {count}")
    if report.pass_at_k is not None and report.mean_success is not None:
        say(console, f"pass@{report.k} {report.pass_at_k:.3f}, mean success {report.mean_success:.3f}")
    table = plain_table("successes", "tasks")
    for successes, count in report.histogram.items():
        table.add_row(str(successes), str(count))
    console.print(table)
    if report.kept:
        say(console, f"Kept: {out}. Use it: --tasks {out}")
    else:
        say(console, "Nothing kept, no file written.", "yellow")
    say(console, f"Report: {out}.report.json")
