"""`agentworld data`: recordings, and rows for supervised fine-tuning that are made of them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentworld_envs import ConfigError, resolve_id
from agentworld_envs.agents import Agent, build_agent
from agentworld_envs.cli import options
from agentworld_envs.cli.console import plain_table, say, stdout
from agentworld_envs.cli.data_progress import collecting
from agentworld_envs.training.agent_rows import AgentRows, Slips
from agentworld_envs.training.card import Card, dropped
from agentworld_envs.training.collect import Collector, read_recordings
from agentworld_envs.training.export import Exporter, RowBuilder
from agentworld_envs.training.filters import Filters
from agentworld_envs.training.manifest import Collection, Unit, claim_export, recorded_epsilon
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.row import Layout, RowUnit
from agentworld_envs.training.rows import RowSettings, WorldModelRows

app = typer.Typer(no_args_is_help=True, help="Training data: collect transitions, and export them as rows.")

AGENT, ROWS = "Agent", "Rows"
Learner = Literal["world_model", "agent"]

Out = Annotated[Path, typer.Option("--out", help="Folder of the data set.")]
For = Annotated[
    Learner, typer.Option("--for", help="world_model predicts observations, agent actions.", rich_help_panel=ROWS)
]
Rows = Annotated[
    RowUnit, typer.Option("--rows", help="One row per turn, or per episode with weights.", rich_help_panel=ROWS)
]
Format = Annotated[
    Layout, typer.Option("--format", help="Columns: one chat, or prompt and completion.", rich_help_panel=ROWS)
]
Mask = Annotated[
    bool, typer.Option("--mask/--no-mask", help="Draw by class which turns are learned.", rich_help_panel=ROWS)
]
TrackedState = Annotated[
    bool, typer.Option("--tracked-state", help="Tell the tracked state before the action.", rich_help_panel=ROWS)
]
Parquet = Annotated[bool, typer.Option("--parquet", help="Write Parquet, too.", rich_help_panel=ROWS)]
MaxCharacters = Annotated[
    int | None, typer.Option(min=1, help="Longer rows are dropped, and counted.", rich_help_panel=ROWS)
]


@app.command()
def collect(
    ctx: typer.Context,
    env_id: options.EnvId,
    out: Out,
    agent: Annotated[str, typer.Option(help="expert, random or llm.", rich_help_panel=AGENT)] = "expert",
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many, per task set.")] = 100,
    unit: Annotated[Unit, typer.Option(help="What --n counts.")] = "episodes",
    tasks: Annotated[list[str] | None, typer.Option(help="Task set or path; may be given more than once.")] = None,
    backend: Annotated[str, typer.Option("--backend", "-b", help="real or replay:FILE.")] = "real",
    epsilon: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Share of steps at which the expert slips.", rich_help_panel=AGENT)
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Of episodes, agent and masking.")] = 0,
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes at a time; changes speed, never results.")] = 16,
    max_steps: options.MaxSteps = None,
    sandbox: options.Sandbox = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what --out holds.")] = False,
    learner: For = "world_model",
    rows: Rows = "turn",
    layout: Format = "messages",
    mask: Mask = True,
    tracked_state: TrackedState = False,
    parquet: Parquet = False,
    max_characters: MaxCharacters = None,
    agent_model: Annotated[str | None, typer.Option(help="Model string of agent llm.", rich_help_panel=AGENT)] = None,
    agent_max_tokens: Annotated[int, typer.Option(min=1, help="Longest answer.", rich_help_panel=AGENT)] = 512,
    agent_temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.", rich_help_panel=AGENT)] = 0.7,
) -> None:
    """Let an agent play in the real world, record every transition, and export rows for fine-tuning.

    The same options make the same rows, however often the command was killed and resumed. Exit code 1 without a row.
    """
    if backend.partition(":")[0] not in ("real", "replay"):
        raise ConfigError(
            f"Data is collected in the real world: expected backend 'real' or 'replay:FILE', got {backend!r}. For "
            "imagined episodes: agentworld rollout --record FILE, then agentworld data export FILE --simulated."
        )
    llm = {"model": agent_model, "max_tokens": agent_max_tokens, "temperature": agent_temperature}
    collection = Collection(
        domain=options.domain_of(env_id),
        agent=agent,
        splits=tuple(tasks) if tasks else (None,),
        backend=backend,
        seed=seed,
        epsilon=epsilon,
        max_steps=max_steps,
        sandbox=sandbox,
        agent_settings=llm if agent == "llm" else {},
    )
    player = _llm(agent_model, agent_max_tokens, agent_temperature, seed) if agent == "llm" else None
    try:
        collector = Collector(collection, out, n, unit=unit, num_envs=num_envs, agent=player)
        builder = _builder(learner, _settings(rows, mask, seed, tracked_state), collector.slipped if epsilon else None)
        exporter = Exporter(out, builder, layout=layout, parquet=parquet, max_characters=max_characters)
        _check_layout(rows, layout)
        try:
            with collecting(unit) as progress:
                collector.run(resume=resume, progress=progress)
        except KeyboardInterrupt:
            say(stdout(), f"Interrupted. What is recorded stays in {out}; add --resume to go on.")
            raise typer.Exit(130) from None
    finally:
        if player is not None:
            player.close()
    for split in collection.splits:
        report = DataReport()
        exporter.split(split, collector.trajectories(split, report), report)
    _finish(ctx, exporter, f"{resolve_id(env_id)}: rows for {_whom(learner)}, played by agent {agent}")


@app.command()
def export(
    ctx: typer.Context,
    recordings: Annotated[list[Path], typer.Argument(metavar="RECORDING...", help="Files written with --record.")],
    out: Out,
    split: Annotated[str, typer.Option(help="Name of the split.")] = "train",
    seed: Annotated[int, typer.Option(min=0, help="Of the masking.")] = 0,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Observations of a world model are data, too.", rich_help_panel=ROWS)
    ] = False,
    learner: For = "world_model",
    rows: Rows = "turn",
    layout: Format = "messages",
    mask: Mask = True,
    tracked_state: TrackedState = False,
    parquet: Parquet = False,
    max_characters: MaxCharacters = None,
) -> None:
    """Export recordings that exist as rows for fine-tuning, into a new folder. Exit code 1 without a row."""
    claim_export(out)
    noisy = [str(path) for path in recordings if recorded_epsilon(path)] if learner == "agent" else []
    if noisy:
        raise ConfigError(
            f"The expert slipped in {noisy[0]}, and only its collection knows where: an agent would learn the slips. "
            "Use agentworld data collect --resume --for agent."
        )
    settings = _settings(rows, mask, seed, tracked_state, Filters(simulated=simulated))
    builder = _builder(learner, settings, None)
    exporter = Exporter(out, builder, layout=layout, parquet=parquet, max_characters=max_characters)
    _check_layout(rows, layout)
    report = DataReport()
    exporter.split(split, read_recordings(recordings, report), report)
    _finish(ctx, exporter, f"Rows for {_whom(learner)} from {len(recordings)} recordings")


def _settings(rows: RowUnit, mask: bool, seed: int, tracked_state: bool, filters: Filters | None = None) -> RowSettings:
    return RowSettings(unit=rows, mask=mask, seed=seed, tracked_state=tracked_state, filters=filters or Filters())


def _builder(learner: Learner, settings: RowSettings, slips: Slips | None) -> RowBuilder:
    return AgentRows(settings, slips=slips) if learner == "agent" else WorldModelRows(settings)


def _llm(model: str | None, max_tokens: int, temperature: float, seed: int) -> Agent:
    from agentworld_envs.backends.world_model import Sampling

    if model is None:
        raise ConfigError("--agent llm needs --agent-model, e.g. openai:http://127.0.0.1:8000/v1#MODEL.")
    return build_agent("llm", model=model, seed=seed, sampling=Sampling(temperature=temperature, max_tokens=max_tokens))


def _check_layout(rows: RowUnit, layout: Layout) -> None:
    """Before anything is played."""
    if rows == "trajectory" and layout == "prompt_completion":
        raise ConfigError("--format prompt_completion has one answer per row: it needs --rows turn.")


def _whom(learner: Learner) -> str:
    return "an agent" if learner == "agent" else "a world model"


def _finish(ctx: typer.Context, exporter: Exporter, title: str) -> None:
    """Write the card, and say what came of it."""
    settings = {name: str(ctx.params[name]) for name in ("learner", "rows", "layout", "mask", "tracked_state", "seed")}
    card = exporter.finish(Card(title, _command(ctx), settings))
    console = stdout()
    for split, report in exporter.reports.items():
        say(console, f"{split}: {report.rows} rows from {report.episodes_kept} of {report.episodes} episodes", "bold")
        table = plain_table("class", "turns kept", "turns masked")
        for name, kept, masked in report.class_rows():
            table.add_row(name, str(kept), str(masked))
        console.print(table)
        table = plain_table("dropped", "kind", "count")
        for what, kinds in dropped(report).items():
            for kind, count in kinds.items():
                table.add_row(what, kind, str(count))
        console.print(table if table.row_count else "Nothing was dropped.")
    say(console, f"Rows: {exporter.folder / 'data'}. Card: {card}. Load: datasets.load_dataset('{exporter.folder}')")
    if not any(report.rows for report in exporter.reports.values()):
        say(console, "No row is left: the counts above say why.", "bold red")
        raise typer.Exit(1)


def _command(ctx: typer.Context) -> str:
    """The command with what was given and decides what the rows are: not where they go, nor how fast."""
    words = ["agentworld", "data", str(ctx.info_name)]
    for parameter in ctx.command.params:
        name = str(parameter.name)
        value = ctx.params[name]
        source = ctx.get_parameter_source(name)  # an enumeration of typer's own click, which may be any
        if name in ("out", "resume", "num_envs") or source is None or source.name != "COMMANDLINE":
            continue
        values = [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]
        if parameter.param_type_name == "argument":
            words += values
        elif isinstance(value, bool):
            words.append(parameter.opts[0] if value else parameter.secondary_opts[0])
        else:
            words += [word for each in values for word in (parameter.opts[0], each)]
    return shlex.join(words)
