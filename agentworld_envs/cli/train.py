"""`agentworld train`: small world models, trained here."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agentworld_envs.cli.console import plain_table, say, stderr, stdout
from agentworld_envs.interface import ConfigError, unknown_name

DOMAINS = ("text_world",)
"""Domains for which there are examples to train on."""


def world_model(
    out: Annotated[Path, typer.Option(help="Folder for the model and its checkpoint.")],
    domain: Annotated[str, typer.Option(help="Domain whose worlds it shall imitate.")] = "text_world",
    size: Annotated[str, typer.Option(help="tiny, or micro to try things out.")] = "tiny",
    steps: Annotated[int | None, typer.Option(min=1, help="Steps of the optimizer, over all runs.")] = None,
    minutes: Annotated[float | None, typer.Option(min=0.01, help="Minutes of training, over all runs.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of weights and data.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
    evaluate_every: Annotated[int, typer.Option(min=1, help="Steps between two looks at held-out tasks.")] = 500,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the folder.")] = False,
) -> None:
    """Train a world model from scratch, on the CPU, and write it as a folder that transformers and vLLM load."""
    from agentworld_envs.training.model_export import export
    from agentworld_envs.training.trainer import SIZES, Trainer
    from agentworld_envs.training.trainer import Progress as State

    if domain not in DOMAINS:
        raise unknown_name("domain to train for", domain, DOMAINS)
    if size not in SIZES:
        raise unknown_name("size", size, SIZES)
    if (steps is None) == (minutes is None):
        raise ConfigError("Say how long to train: either --steps or --minutes.")
    trainer = Trainer(out, replace(SIZES[size], seed=seed), resume=resume)
    import torch  # the trainer has said what to install where it is missing

    torch.set_num_threads(threads)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    total = float(steps) if steps is not None else 60 * (minutes or 0)
    with Progress(*columns, console=stderr(), transient=True) as bar:
        line = bar.add_task("training", total=total)

        def report(state: State) -> None:
            done = state.step if steps is not None else state.seconds
            text = f"step {state.step}  loss {state.loss:.4f}  exact match {100 * state.score:.1f} %"
            bar.update(line, completed=done, description=text)

        state = trainer.train(steps=steps, minutes=minutes, evaluate_every=evaluate_every, report=report)
    export(trainer, out, _command())
    table = plain_table("verb", "right", "of", "exact match")
    for verb, (hits, count) in (state.by_verb or {}).items():
        table.add_row(verb, str(hits), str(count), f"{100 * hits / count:.1f} %")
    stdout().print(table)
    say(stdout(), f"{100 * state.score:.2f} % of the held-out answers are exactly right after {state.step} steps.")
    say(stdout(), f"Model: {out}    Play: agentworld play TextWorld -b world_model --model bundled:{out}")


def _command() -> str:
    return shlex.join(["agentworld", *sys.argv[1:]])


def sub_app() -> typer.Typer:
    """The commands below `agentworld train`."""
    app = typer.Typer(no_args_is_help=True, help="Train small world models.")
    app.command("world-model")(world_model)
    return app
