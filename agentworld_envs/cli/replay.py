"""`agentworld replay`: whether a recording can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from agentworld_envs.agents import Difference, reexecute
from agentworld_envs.cli.console import plain_table, say, stdout, visible
from agentworld_envs.interface import ConfigError, unknown_name
from agentworld_envs.trajectories import Trajectory, read_trajectories

BACKENDS = ("replay", "real")
SHORT = 8
"""Characters of an episode's name that are shown; `--episode` takes any beginning."""


def replay_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Trajectory file (JSONL) written by --record.")],
    backend: Annotated[
        str, typer.Option("--backend", "-b", help="replay: from the recording. real: executed in the real world.")
    ] = "replay",
    episode: Annotated[str | None, typer.Option(help="Only this episode (beginning of its name).")] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the transcripts.")] = False,
) -> None:
    """Play recorded actions again and report the first difference of every episode.

    Compares observations, rewards, flags and admissible commands. Exit code 1 when something differs or is unreadable.
    """
    if backend not in BACKENDS:
        raise unknown_name("backend for replay", backend, BACKENDS)
    problems: list[str] = []
    trajectories = read_trajectories(file, problems)
    if not trajectories:
        raise ConfigError(f"{file} holds no episode; expected a file written with --record.")
    if episode is not None:
        chosen = [t for t in trajectories if t.episode.startswith(episode)]
        if not chosen:
            raise unknown_name("episode", episode, [t.episode for t in trajectories])
        trajectories = chosen
    console = stdout()
    differences: dict[str, Difference] = {}
    table = plain_table("episode", "task", "seed", "steps", "score", "recorded on", "result")
    for trajectory in trajectories:
        if show:
            _print_transcript(console, trajectory)
        found = reexecute(trajectory, backend)
        if found is not None:
            differences[trajectory.episode] = found
        reset = trajectory.reset
        score = f"{trajectory.score:.2f}" if trajectory.reward_valid else "invalid"
        table.add_row(
            trajectory.episode[:SHORT],
            visible(reset.task.id),
            str(reset.seed),
            f"{len(trajectory.steps)}{'' if trajectory.finished else ' (open)'}",
            score,
            str(reset.backend.get("name", "?")),
            f"differs at step {found.step}" if found is not None else "identical" if trajectory.steps else "no steps",
        )
    console.print(table)
    for name, difference in differences.items():
        say(console, f"{name[:SHORT]}: {difference}", style="yellow")
    count = len(trajectories)
    say(console, f"{count - len(differences)} of {count} episodes are identical on backend {backend}.")
    empty = sum(not trajectory.steps for trajectory in trajectories)
    if empty:
        say(console, f"{empty} of them have no steps: there is nothing to compare.", style="yellow")
    if problems:
        say(console, f"{len(problems)} lines of {file} are left out ({problems[0]}).", style="yellow")
    if differences or problems:
        raise typer.Exit(1)


def _print_transcript(console: Console, trajectory: Trajectory) -> None:
    reset = trajectory.reset
    say(console, f"--- {trajectory.episode[:SHORT]}  {reset.task.id}  seed {reset.seed}", style="bold")
    say(console, reset.observation)
    for line in trajectory.steps:
        say(console, f"> {line.command or line.action}", style="bold cyan")
        if line.failure is not None:
            say(console, f"failure {line.failure.kind}: {line.failure.message}", style="red")
        else:
            say(console, line.observation)
    end = "open" if not trajectory.finished else "terminated" if trajectory.steps[-1].terminated else "truncated"
    score = f"score {trajectory.score:.2f}" if trajectory.reward_valid else "no valid reward"
    say(console, f"[{end} after {len(trajectory.steps)} steps, {score}]\n", style="bold")
