"""`agentworld fidelity`: how far a simulator can be trusted, measured against the real world."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agentworld_envs import ConfigError, resolve_id
from agentworld_envs.backends.shadow import Mode
from agentworld_envs.backends.world_model import WorldModelConfig
from agentworld_envs.cli import options
from agentworld_envs.cli.console import say, stderr, stdout
from agentworld_envs.cli.fidelity_report import print_fidelity
from agentworld_envs.cli.rollout import AGENT, AgentTemperature, make_agent
from agentworld_envs.domains import load_domain
from agentworld_envs.evaluation.drift_plot import draw_drift
from agentworld_envs.evaluation.fidelity import MODES, Fidelity
from agentworld_envs.evaluation.fidelity import Progress as Callback
from agentworld_envs.evaluation.fidelity_report import FidelityReport
from agentworld_envs.interface import MissingExtraError, unknown_name

SIMULATOR = "World model"


def fidelity(
    env_id: options.EnvId,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            help="bundled:NAME, openai:URL#MODEL, vllm:PATH, transformers:PATH or scripted:NAME; may be given more "
            "than once, to compare. Default: the domain's own, if any.",
        ),
    ] = None,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="Of each model in each mode.")] = 20,
    mode: Annotated[str, typer.Option(help="teacher_forced, free_running or both.")] = "both",
    agent: Annotated[str, typer.Option(help="expert, random, searcher or llm.", rich_help_panel=AGENT)] = "expert",
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="Step limit. Default: the task's own.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for fidelity.json and drift.png.")] = Path("fidelity"),
    seed: options.Seed = 0,
    num_envs: Annotated[int, typer.Option(min=1, help="Episodes at a time; changes speed, never results.")] = 8,
    tasks: options.Tasks = None,
    sandbox: options.Sandbox = None,
    record: Annotated[
        Path | None, typer.Option(help="Trajectory file (JSONL) to append to, with both observations of every step.")
    ] = None,
    agent_model: Annotated[str | None, typer.Option(help="Model string of agent llm.", rich_help_panel=AGENT)] = None,
    agent_max_tokens: Annotated[
        int, typer.Option(min=1, help="Longest answer in tokens.", rich_help_panel=AGENT)
    ] = 512,
    agent_temperature: AgentTemperature = None,
    cassette: Annotated[
        str | None, typer.Option(help="FILE, record:FILE or replay-or-fail:FILE.", rich_help_panel=SIMULATOR)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Longest prediction in tokens.", rich_help_panel=SIMULATOR)
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0.0, help="0 is greedy.", rich_help_panel=SIMULATOR)] = None,
    stop: Annotated[
        list[str] | None, typer.Option("--stop", help="Text that ends a prediction.", rich_help_panel=SIMULATOR)
    ] = None,
    prefill: Annotated[
        bool, typer.Option("--prefill", help="Open the observation's tag for the model.", rich_help_panel=SIMULATOR)
    ] = False,
    tracked_state: Annotated[
        bool, typer.Option("--tracked-state", help="Tell the model the tracked state.", rich_help_panel=SIMULATOR)
    ] = False,
) -> None:
    """Step reality and world models in lock-step on the same actions; print how they compare.

    Writes fidelity.json and drift.png into OUT. Exit code 1 when no step of any model could be scored.
    """
    domain = options.domain_of(env_id)
    sampling = {"max_tokens": max_tokens, "temperature": temperature, "stop": tuple(stop) if stop else None}
    sampling = {name: value for name, value in sampling.items() if value is not None}
    settings = options.simulator_settings(sampling, prefill=prefill, tracked_state=tracked_state)
    configs: list[str | WorldModelConfig] = [
        WorldModelConfig.of(model=name, cassette=cassette, **settings) for name in model or _own_model(domain)
    ]
    modes = _modes(mode)
    player = make_agent(agent, agent_model, agent_max_tokens, agent_temperature, seed)
    interrupted = False
    try:
        with _progress(len(configs) * len(modes), episodes) as progress:
            measurement = Fidelity(
                domain,
                configs,
                player,
                episodes=episodes,
                modes=modes,
                seed=seed,
                num_envs=num_envs,
                tasks=tasks,
                max_steps=steps,
                sandbox=sandbox,
                record=record,
                environment=resolve_id(env_id),
                progress=progress,
            )
            _make_folder(out)
            try:
                measurement.run()
            except KeyboardInterrupt:
                interrupted = True
            except BaseException:
                _write(stdout(), measurement.report(), out)  # what was measured until then may have taken hours
                raise
    finally:
        player.close()
    report = measurement.report()
    console = stdout()
    print_fidelity(console, report)
    _write(console, report, out)
    if interrupted:
        raise typer.Exit(130)
    if not any(played.answered for one in report.models for played in one.modes.values()):
        say(console, "No step could be scored: see the failures above.", style="bold red")
        raise typer.Exit(1)


def _own_model(domain: str) -> list[str]:
    own = load_domain(domain).default_model
    if own is None:
        raise ConfigError(f"The domain {domain!r} has no model of its own: name one with --model.")
    return [own]


def _modes(text: str) -> list[Mode]:
    if text == "both":
        return list(MODES)
    chosen: list[Mode] = [mode for mode in MODES if mode == text.replace("-", "_")]
    if not chosen:
        raise unknown_name("mode", text, [*MODES, "both"])
    return chosen


def _make_folder(out: Path) -> None:
    """What cannot be written is said before hours of work and not after them."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Cannot write to {out}: {error.strerror}. Expected a folder.") from error


def _write(console: Console, report: FidelityReport, out: Path) -> None:
    path, picture = out / "fidelity.json", out / "drift.png"
    try:
        path.write_text(report.to_json(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error
    say(console, f"Numbers: {path}")
    try:
        draw_drift(report, picture)
    except MissingExtraError as error:
        say(console, f"No picture: {error}", style="yellow")
        return
    say(console, f"Drift by step: {picture}")


@contextmanager
def _progress(runs: int, episodes: int) -> Iterator[Callback]:
    """A bar in a terminal; in a log one plain line per tenth of a run."""
    console = stderr()
    finished: dict[tuple[str, str], int] = {}
    if not console.is_terminal:

        def plain(label: str, mode: str, done: int, wanted: int) -> None:
            if done * 10 // wanted > (done - 1) * 10 // wanted:
                say(console, f"{label}, {mode}: {done}/{wanted} episodes")

        yield plain
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("episodes", total=runs * episodes)

        def drawn(label: str, mode: str, done: int, wanted: int) -> None:
            finished[label, mode] = done
            bar.update(task, completed=sum(finished.values()), description=f"{label}, {mode}")

        yield drawn
