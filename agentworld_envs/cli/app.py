"""The command group. Imported only when typer and rich are there."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agentworld_envs import __version__
from agentworld_envs.cli import (
    bench,
    check,
    control,
    corpus,
    data,
    doctor,
    fidelity,
    listing,
    play,
    replay,
    rollout,
    sandbox,
    serve_model,
    tasks,
    train,
)
from agentworld_envs.cli.console import show_error
from agentworld_envs.interface import AgentWorldError


class Group(TyperGroup):
    """Errors that a user can act on are one message and exit code 2, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except AgentWorldError as error:
            show_error(error)
            raise typer.Exit(2) from None


def build() -> typer.Typer:
    """The app, fresh on every call."""
    app = typer.Typer(
        name="agentworld",
        cls=Group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Environments for language agents, backed by a real world or by a language world model.",
    )
    app.callback()(root)
    app.command("list")(listing.list_environments)
    app.command("doctor")(doctor.doctor)
    app.command("play")(play.play)
    app.command("rollout")(rollout.rollout_command)
    app.command("control")(control.control_command)
    app.command("fidelity")(fidelity.fidelity)
    app.command("check")(check.check)
    app.command("replay")(replay.replay_command)
    app.command("serve-model")(serve_model.serve_model)
    app.add_typer(sandbox.sub_app(), name="sandbox")
    app.add_typer(data.app, name="data")
    app.add_typer(corpus.app, name="corpus")
    app.add_typer(bench.sub_app(), name="bench")
    app.add_typer(train.sub_app(), name="train")
    app.add_typer(tasks.sub_app(), name="tasks")
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"agentworld-envs {__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Options of `agentworld` itself."""
