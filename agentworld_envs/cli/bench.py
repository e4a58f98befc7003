"""`agentworld bench`: AgentWorldBench, on its own rows and on rows made from recordings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from agentworld_envs.backends.world_model import Sampling
from agentworld_envs.cli.console import plain_table, say, stderr, stdout, visible
from agentworld_envs.domains import DOMAINS, load_domain
from agentworld_envs.evaluation.agentworldbench import (
    STEPS,
    BenchmarkRun,
    JudgePrompts,
    ModelConfig,
    RowSet,
    export_rows,
    read_rows,
    record_rows,
)
from agentworld_envs.evaluation.agentworldbench.report import COLUMNS, counts_text, pending, table_rows
from agentworld_envs.interface import ConfigError, unknown_name

StepProgress = Callable[[str, int, int], None]
SIMULATOR, JUDGE = "Simulator", "Judge"


def agentworldbench(
    data: Annotated[Path, typer.Option(help="Folder with DOMAIN_test.jsonl files, or one file of rows.")],
    out: Annotated[Path, typer.Option(help="Folder of the results. A run that was stopped goes on there.")],
    model: Annotated[
        str | None, typer.Option(help="openai:URL#MODEL, transformers:PATH, ...", rich_help_panel=SIMULATOR)
    ] = None,
    judge: Annotated[str | None, typer.Option(help="Model string of the judge.", rich_help_panel=JUDGE)] = None,
    domains: Annotated[
        str | None, typer.Option(help="Only these, divided by commas: mcp,search,terminal,swe,android,web,os.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most rows of a domain.")] = None,
    only: Annotated[str | None, typer.Option(help="One step alone: infer, judge or score.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the generations and of the intervals.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions asked together.")] = 64,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest answer in tokens, thinking included.", rich_help_panel=SIMULATOR)
    ] = 32_768,
    temperature: Annotated[float, typer.Option(min=0.0, help="0 is greedy.", rich_help_panel=SIMULATOR)] = 0.6,
    prefill: Annotated[
        bool,
        typer.Option("--prefill", help="Open the observation's tag: for weak models.", rich_help_panel=SIMULATOR),
    ] = False,
    model_option: Annotated[
        list[str] | None,
        typer.Option(help="NAME=JSON: an option of the engine, e.g. extensions=false.", rich_help_panel=SIMULATOR),
    ] = None,
    judge_prompts: Annotated[
        Path | None,
        typer.Option(help="Folder with DOMAIN/judge_system_prompt.txt, in place of our own.", rich_help_panel=JUDGE),
    ] = None,
    judge_max_tokens: Annotated[int, typer.Option(min=1, help="Longest judgement.", rich_help_panel=JUDGE)] = 32_768,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(help="As --model-option, for the judge's engine.", rich_help_panel=JUDGE),
    ] = None,
    judge_retries: Annotated[
        int, typer.Option(min=0, help="Further tries where no scores can be read.", rich_help_panel=JUDGE)
    ] = 3,
    judge_context: Annotated[
        int | None, typer.Option(min=0, help="Most characters of earlier turns shown.", rich_help_panel=JUDGE)
    ] = None,
) -> None:
    """Predict what real environments answered, let a judge compare, and score.

    Without --judge, the scores that need none are computed. Stop it at any time, and give the same command to go on.
    Exit code 1 when no row has an answer.
    """
    if only is not None and only not in STEPS:
        raise unknown_name("step", only, STEPS)
    wanted = (only,) if only is not None else tuple(step for step in STEPS if step != "judge" or judge is not None)
    found = read_rows(data, _names(domains), limit)
    console = stdout()
    _print_rows(stderr(), found)
    with _progress() as progress:
        run = BenchmarkRun(found, out, progress=progress)
        common: dict[str, Any] = {"seed": seed, "concurrency": concurrency}
        if "infer" in wanted:
            opening = "<predicted_observation>\n" if prefill else ""
            sampling = Sampling(max_tokens=max_tokens, temperature=temperature, prefill=opening)
            options = _options(model_option)
            run.infer(
                ModelConfig.of(model=_given(model, "--model"), sampling=sampling, engine_options=options, **common)
            )
        if "judge" in wanted:
            prompts = JudgePrompts(judge_prompts)
            config = ModelConfig.of(
                model=_given(judge, "--judge"),
                sampling=Sampling(max_tokens=judge_max_tokens),
                max_retries=judge_retries,
                engine_options=_options(judge_option),
                **common,
            )
            run.judge(config, prompts=prompts, context_characters=judge_context)
        summary = run.score(seed=seed) if "score" in wanted else None
    if summary is not None:
        _print_summary(console, summary, out)
    for kind, message in run.first_failures().items():
        say(console, f"First {kind}: {message}", style="yellow")
    if not run.answered():
        say(console, "No row has an answer.", style="bold red")
        raise typer.Exit(1)


def export(
    recordings: Annotated[list[Path], typer.Argument(help="Trajectory files written with --record.")],
    out: Annotated[Path, typer.Option(help="File of rows; call it DOMAIN_test.jsonl.")],
    seed: Annotated[int, typer.Option(min=0, help="Of the turns that are drawn.")] = 0,
) -> None:
    """Turn real recorded episodes into rows: what was really observed is the truth."""
    done = export_rows(recordings, out, seed=seed)
    console = stdout()
    say(console, f"{done.rows} rows of {done.trajectories} trajectories: {out}")
    say(console, f"Left out: {counts_text(done.left_out)}")


def import_(
    data: Annotated[Path, typer.Argument(help="File of rows, of one domain.")],
    out: Annotated[Path, typer.Option(help="The recording; play it with backend replay:FILE.")],
    domain: Annotated[
        str | None, typer.Option(help="Play it as this domain of the suite; default: as a plain benchmark episode.")
    ] = None,
) -> None:
    """Turn rows into a recording that can be stepped."""
    if domain is not None and domain not in DOMAINS:
        raise unknown_name("domain", domain, DOMAINS)
    found = read_rows(data)
    if out.exists() and any(out.samefile(path) for path in (data, *data.glob("*.jsonl"))):
        raise ConfigError(f"The recording would replace the rows in {out}: choose another --out.")
    done = record_rows(found.rows, out, None if domain is None else load_domain(domain))
    console = stdout()
    _print_rows(console, found)
    say(console, f"{done.episodes} episodes, {done.steps} steps: {out}")
    for line in done.cut:
        say(console, f"Cut: {line}", style="yellow")


def sub_app() -> typer.Typer:
    """The group `agentworld bench`, fresh on every call."""
    app = typer.Typer(no_args_is_help=True, help="Benchmarks of world models.")
    app.command("agentworldbench")(agentworldbench)
    app.command("export")(export)
    app.command("import")(import_)
    return app


def _names(domains: str | None) -> list[str] | None:
    return None if domains is None else [name.strip() for name in domains.split(",") if name.strip()]


def _options(texts: list[str] | None) -> dict[str, Any]:
    """Engine options from `NAME=JSON`; what is no JSON is text."""
    found: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ConfigError(f"Expected NAME=JSON, e.g. extensions=false, got {text!r}.")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def _given(value: str | None, option: str) -> str:
    if value is None:
        raise ConfigError(f"This step needs {option}, e.g. {option} openai:http://127.0.0.1:8000/v1#MODEL.")
    return value


def _print_rows(console: Console, found: RowSet) -> None:
    say(console, f"{len(found.rows)} rows of {found.lines} lines.")
    if found.missing:
        say(console, f"Not there: {', '.join(found.missing)}", style="yellow")
    for kind, entry in found.counts().items():
        text = f"{kind}: {entry['left_out']} left out, {entry['kept']} kept; first: {entry['first']}"
        say(console, text, style="yellow")


def _print_summary(console: Console, summary: dict[str, Any], out: Path) -> None:
    table = plain_table(*COLUMNS)
    for row in table_rows(summary, narrow=True):
        table.add_row(*(Text(visible(cell)) for cell in row))
    console.print(table)
    say(console, "dropped: without failures, as published, with 95 % intervals; as_zero: each failure as 0.")
    say(console, f"Answers: {counts_text(summary['answers'])}")
    if "judge" in summary:
        say(console, f"Judgements: {counts_text(summary['judgements'])}")
    say(console, f"Failures: {counts_text(summary['failures'])}")
    for line in pending(summary):
        say(console, line, style="yellow")
    if "judge" not in summary:
        say(console, "No judge: only the scores that need none.")
    say(console, f"Summaries: {out / 'summary.json'}, {out / 'summary.md'}")


@contextmanager
def _progress() -> Iterator[StepProgress]:
    """A bar for each step in a terminal; in a log one plain line per tenth."""
    console = stderr()
    if not console.is_terminal:
        shown: dict[str, int] = {}

        def plain(step: str, done: int, total: int) -> None:
            tenth = done * 10 // max(total, 1)
            if tenth > shown.get(step, -1):
                shown[step] = tenth
                say(console, f"{step}: {done}/{total}")

        yield plain
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console) as bar:
        bars: dict[str, Any] = {}

        def drawn(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = bar.add_task(step, total=total)
            bar.update(bars[step], completed=done)

        yield drawn
