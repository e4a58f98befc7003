"""`draw_drift`: the scores of simulators over the steps of an episode, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentworld_envs.evaluation.fidelity_report import FidelityReport, ModeReport
from agentworld_envs.interface import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {"exact": "exact match\n(share of episodes, 0 to 1)", "edit": "edit similarity\n(mean over episodes, 0 to 1)"}
"""What is drawn: score -> label of its axis."""
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = {"teacher_forced": ("-", "o", "teacher-forced"), "free_running": ("--", "s", "free-running")}
_LEGEND_INCHES = 0.24


def draw_drift(report: FidelityReport, path: Path) -> None:
    """Write a PNG: a line for every model and mode, with its 95 % band, and how many episodes each point has.

    Args:
        report: of at least one model.
        path: of the picture.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ConfigError: the file cannot be written.
    """
    figure = drift_figure(report)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error


def drift_figure(report: FidelityReport) -> Figure:
    """The picture, not yet written. Touches no global state of matplotlib.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        raise MissingExtraError(
            "The picture needs matplotlib: pip install 'agentworld-envs[plots]'. The numbers do not."
        ) from error
    lines = [
        (f"{model.label}, {_STYLES[mode][2]}", _COLOURS[index % len(_COLOURS)], _STYLES[mode], played)
        for index, model in enumerate(report.models)
        for mode, played in model.modes.items()
    ]
    last = max((len(played.by_step) for _, _, _, played in lines), default=0) or 1
    rows = (len(lines) + 1) // 2
    height = 6.2 + _LEGEND_INCHES * rows
    figure = Figure(figsize=(10, height))
    below = (0.85 + _LEGEND_INCHES * rows) / height
    grid = figure.add_gridspec(2, 2, height_ratios=[3, 1], hspace=0.32, wspace=0.22)
    grid.update(left=0.09, right=0.98, top=0.92, bottom=below)
    for column, (score, label) in enumerate(PANELS.items()):
        axis = figure.add_subplot(grid[0, column])
        for offset, line in enumerate(lines):
            _draw(axis, score, line, offset, len(lines))
        axis.set_ylim(-0.03, 1.03)
        axis.set_ylabel(label)
        _finish(axis, MaxNLocator, last)
    axis = figure.add_subplot(grid[1, :])
    for name, colour, (dash, _, _), played in lines:
        steps, counts = _counts(played)
        axis.plot(
            steps, counts, color=colour, linestyle=dash, label=name, drawstyle="steps-mid", marker=".", linewidth=1.6
        )
    axis.set_ylim(bottom=0)
    axis.set_ylabel("episodes\n(number)")
    axis.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
    _finish(axis, MaxNLocator, last)
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=2, frameon=False)
    figure.suptitle(
        f"{report.environment}: fidelity by step of the episode (agent {report.agent}; bands: 95 % intervals)",
        fontsize=12,
    )
    return figure


def _draw(axis: Any, score: str, line: tuple[str, str, tuple[str, str, str], ModeReport], offset: int, of: int) -> None:
    name, colour, (dash, marker, _), played = line
    points = [(point.step, point.scores[score]) for point in played.by_step if score in point.scores]
    if not points:
        axis.plot([], [], color=colour, linestyle=dash, marker=marker, label=f"{name} (no step answered)")
        return
    steps = [step + (offset - (of - 1) / 2) * 0.1 for step, _ in points]  # else equal lines would hide each other
    means = [estimate.mean for _, estimate in points]
    axis.plot(
        steps,
        means,
        color=colour,
        linestyle=dash,
        marker=marker,
        markersize=5,
        markerfacecolor=colour if dash == "-" else "white",
        linewidth=1.6,
        label=name,
    )
    known = [estimate.low is not None for _, estimate in points]
    low = [estimate.low if estimate.low is not None else 0.0 for _, estimate in points]
    high = [estimate.high if estimate.high is not None else 0.0 for _, estimate in points]
    if len(points) == 1 and known[0]:  # a band of one point cannot be seen
        axis.vlines(steps, low, high, color=colour, linewidth=1.2)
    axis.fill_between(steps, low, high, where=known, color=colour, alpha=0.13, linewidth=0)


def _counts(played: ModeReport) -> tuple[list[int], list[int]]:
    points = [(point.step, point.scores["exact"].episodes) for point in played.by_step if "exact" in point.scores]
    return [step for step, _ in points], [count for _, count in points]


def _finish(axis: Any, locator: Any, last: int) -> None:
    axis.set_xlim(0.5, last + 0.5)
    axis.set_xlabel("step of the episode (number of the action)")
    axis.xaxis.set_major_locator(locator(integer=True, min_n_ticks=1))
    axis.grid(alpha=0.3)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
