"""A fidelity report in words: tables with the models side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console

from agentworld_envs.cli.console import plain_table, say
from agentworld_envs.cli.report import tokens_text
from agentworld_envs.evaluation.episode_bootstrap import Estimate
from agentworld_envs.evaluation.fidelity_report import FidelityReport, ModelReport, ModeReport, Rate
from agentworld_envs.evaluation.step_scores import SCORES
from agentworld_envs.interface import Usage

MOST_VERBS = 12
"""Kinds of commands in the table, the most frequent ones."""
MOST_STEPS = (1, 2, 3, 5, 8, 12, 20, 30, 50)
"""Steps whose score is in the table; the JSON and the picture have all."""
TITLES = {
    "teacher_forced": "Teacher-forced: every step predicted from a true past",
    "free_running": "Free-running: the simulator goes on from its own predictions",
}


def print_fidelity(console: Console, report: FidelityReport) -> None:
    """All tables."""
    done = "interrupted; " if report.interrupted else ""
    say(console, f"{report.environment}, agent {report.agent}, {done}{report.episodes} episodes a model and mode")
    say(console, "In brackets: 95 % intervals; those of means over steps are from resampled episodes.\n")
    for mode, title in TITLES.items():
        played = {model.label: model.modes[mode] for model in report.models if mode in model.modes}
        if played:
            _mode_table(console, title, played)
    _success_table(console, report.models)
    _verb_table(console, report.models)


def _mode_table(console: Console, title: str, played: Mapping[str, ModeReport]) -> None:
    say(console, title, "bold")
    table = plain_table("per step", *played)
    table.columns[0].no_wrap = True
    columns = list(played.values())

    def row(name: str, text: Callable[[ModeReport], str]) -> None:
        cells = [text(column) for column in columns]
        if any(cell not in ("", "-") for cell in cells):
            table.add_row(name, *cells)

    row("steps predicted", lambda c: f"{c.answered} in {c.episodes} episodes")
    row("steps failed", lambda c: _counts(c.failures) or "0")
    row("not scored", _left_out)
    for name, label in SCORES.items():
        row(label, lambda c, name=name: _estimate(c.scores.get(name)))  # type: ignore[misc]
    row("exact, failed as 0", lambda c: _estimate(c.with_failures["exact"]))
    row("contradicts its past", lambda c: _estimate(c.contradicting))
    row("tag found, closed", lambda c: f"{_percent(c.format['tag_found'])}, {_percent(c.format['tag_closed'])}")
    row("empty, cut at length", lambda c: f"{_percent(c.format['empty'])}, {_percent(c.format['cut'])}")
    row("first difference", _first)
    for step in MOST_STEPS:
        row(f"exact at step {step}", lambda c, step=step: _at(c, step))  # type: ignore[misc]
    row("ended apart", lambda c: _counts(c.parted))
    row("tokens", lambda c: tokens_text(_usage(c.usage)))
    console.print(table)
    say(console, "")


def _success_table(console: Console, models: list[ModelReport]) -> None:
    say(console, "Success, in episodes", "bold")
    table = plain_table("", *(model.label for model in models))
    rows: list[tuple[str, Callable[[ModelReport], str]]] = [
        ("real", lambda m: _rate(m.success.real)),
        ("simulated", lambda m: _rate(m.success.simulated)),
        ("same actions in reality", lambda m: _rate(m.success.replay)),
        ("verdicts agree", lambda m: _rate(m.success.agreement)),
        ("deceived", lambda m: _rate(m.success.deceived)),
        ("missed", lambda m: _rate(m.success.missed)),
        ("undetermined", lambda m: str(m.success.undetermined)),
        ("no verdict, failed", lambda m: str(m.success.failed)),
    ]
    for name, text in rows:
        table.add_row(name, *(text(model) for model in models))
    console.print(table)
    say(console, "")


def _verb_table(console: Console, models: list[ModelReport]) -> None:
    """Exact match by kind of command, in the first mode that was played."""
    played = [(model.label, next(iter(model.modes.values()))) for model in models]
    verbs = list(dict.fromkeys(verb for _, column in played for verb in column.by_verb))[:MOST_VERBS]
    if not verbs:
        return
    mode = played[0][1].mode.replace("_", "-")
    say(console, f"Exact match by command, {mode}", "bold")
    table = plain_table("", *(label for label, _ in played))
    for verb in verbs:
        estimates = [column.by_verb.get(verb, {}).get("exact") for _, column in played]
        table.add_row(verb, *(_with_count(estimate) for estimate in estimates))
    console.print(table)


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None or estimate.mean is None:
        return "-"
    text = f"{estimate.mean:.3f}"
    if estimate.low is not None and estimate.high is not None:
        text += f" ({estimate.low:.3f}-{estimate.high:.3f})"
    return text


def _with_count(estimate: Estimate | None) -> str:
    return "-" if estimate is None or estimate.mean is None else f"{estimate.mean:.3f} (n={estimate.steps})"


def _percent(estimate: Estimate) -> str:
    return "-" if estimate.mean is None else f"{estimate.mean * 100:.0f} %"


def _at(column: ModeReport, step: int) -> str:
    if step > len(column.by_step):
        return "-"
    return _with_count(column.by_step[step - 1].scores.get("exact"))


def _first(column: ModeReport) -> str:
    estimate = column.first_difference
    if estimate.mean is None:
        return "none" if column.answered else "-"
    return f"step {estimate.mean:.1f} in {estimate.episodes}/{column.episodes}"


def _left_out(column: ModeReport) -> str:
    parts = {
        "answered by code": column.by_code,
        "past the end of a side": column.beyond,
        "one side gone": column.absent,
        "comparison failed": column.unscored,
    }
    return ", ".join(f"{count} {what}" for what, count in parts.items() if count)


def _rate(rate: Rate) -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "-"
    return f"{rate.count}/{rate.n} ({rate.low * 100:.0f}-{rate.high * 100:.0f} %)"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} x{count}" for kind, count in counts.items())


def _usage(fields: Mapping[str, Any]) -> Usage:
    return Usage(**{name: value if name in ("cost", "seconds") else int(value) for name, value in fields.items()})
