"""A run's summary for people: Markdown, and the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_envs.evaluation.agentworldbench.companion import MEASURES
from agentworld_envs.evaluation.agentworldbench.verdict import DIMENSIONS

VERSIONS: Mapping[str, str] = {"dropped": "failures left out (as published)", "as_zero": "failures as 0"}
"""Versions of the judge's scores in words."""
COLUMNS = ("domain", "rows", "judged", *VERSIONS, "edit", "F1", "exact", "tags")
"""Of `table_rows`."""


def table_rows(summary: Mapping[str, Any], *, narrow: bool = False) -> list[tuple[str, ...]]:
    """A row for each domain, then macro and micro; `-` where there is no number.

    Args:
        summary: of a run.
        narrow: intervals for the first version of the judge's scores only, as a terminal has 80 columns.
    """
    rows = []
    for name, domain in summary["domains"].items():
        rows.append((name, str(domain["rows"]), str(domain["judged"]), *_numbers(summary, ("domains", name), narrow)))
    total = sum(domain["rows"] for domain in summary["domains"].values())
    judged = sum(domain["judged"] for domain in summary["domains"].values())
    for name in ("macro", "micro"):
        rows.append((name, str(total), str(judged), *_numbers(summary, (name,), narrow)))
    return rows


def _numbers(summary: Mapping[str, Any], path: tuple[str, ...], narrow: bool) -> tuple[str, ...]:
    judge = [
        _score(summary.get("judge", {}).get(version), path, interval=not (narrow and index))
        for index, version in enumerate(VERSIONS)
    ]
    measures = ("edit_similarity", "token_f1", "exact", "well_formed")
    return (*judge, *(_score(summary["companion"].get(name), path, interval=False) for name in measures))


def _score(table: Any, path: tuple[str, ...], *, interval: bool = True) -> str:
    for part in path:
        table = table.get(part) if isinstance(table, Mapping) else None
    if not isinstance(table, Mapping):
        return "-"
    low, high = table["interval"]
    return f"{table['score']:.2f} [{low:.1f}, {high:.1f}]" if interval else f"{table['score']:.1f}"


def counts_text(counts: Mapping[str, int]) -> str:
    """`kind x3, other x1`, or `none`."""
    return ", ".join(f"{kind} x{count}" for kind, count in counts.items()) or "none"


def pending(summary: Mapping[str, Any]) -> list[str]:
    """A line for what is still to be asked, and one for what is still to be judged."""
    total = sum(domain["rows"] for domain in summary["domains"].values())
    counts = {"asked": summary["not_answered"], "judged": summary.get("not_judged", 0)}
    return [f"{count} of {total} rows not {step} yet" for step, count in counts.items() if count]


def markdown(summary: Mapping[str, Any]) -> str:
    """The whole summary as a Markdown page."""
    run = summary.get("run", {})
    parts = ["# AgentWorldBench"]
    parts.append("\n".join(f"- {name}: `{value}`" for name, value in run.items()))
    lines = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    lines += [f"| {' | '.join(row)} |" for row in table_rows(summary)]
    parts.append("\n".join(lines))
    explained = "; ".join(f"`{name}`: {text}" for name, text in VERSIONS.items())
    parts.append(
        "Judge's scores are (mean - 1) / 4 * 100 of five scores of 1 to 5, with 95 % intervals by trajectory. "
        f"{explained}. `macro` is the mean of the domains (the published column), `micro` the mean of the rows. The "
        "columns from `edit` on need no judge (%): edit similarity, token F1, exact matches, one closed "
        "block."
    )
    dimensions = ["| domain | raw mean | " + " | ".join(DIMENSIONS) + " |", "|" + "---|" * (len(DIMENSIONS) + 2)]
    for name, domain in summary["domains"].items():
        values = [domain["raw_mean"], *(domain["dimensions"][dimension] for dimension in DIMENSIONS)]
        dimensions.append(f"| {name} | " + " | ".join("-" if v is None else f"{v:.2f}" for v in values) + " |")
    parts += ["## Dimensions (raw, 1 to 5)", "\n".join(dimensions), "## What was not as it should be"]
    parts.append("\n".join(_complaints(summary)))
    parts += ["## Without a judge (%)", _companion(summary)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _complaints(summary: Mapping[str, Any]) -> list[str]:
    rows = summary["rows"]
    lines = [
        f"- rows: {rows['usable']} taken of {rows['lines']} lines, {rows['beyond_limit']} beyond the limit, "
        f"{rows['other_domains']} of other domains, {rows['trajectories']} trajectories",
        f"- missing files: {', '.join(rows['missing_files']) or 'none'}",
    ]
    for kind, entry in rows["defects"].items():
        lines.append(f"- defect {kind}: {entry['left_out']} left out, {entry['kept']} kept; first: {entry['first']}")
    lines.append(f"- questions: {counts_text(summary['notes'])}")
    lines.append(f"- answers: {counts_text(summary['answers'])}")
    if "judge" in summary:
        lines.append(f"- judgements: {counts_text(summary['judgements'])}")
    lines.append(f"- failures: {counts_text(summary['failures'])}")
    lines += [f"- {line}" for line in pending(summary)]
    return lines


def _companion(summary: Mapping[str, Any]) -> str:
    names = [*summary["domains"], "macro", "micro"]
    lines = [f"| measure | {' | '.join(names)} |", "|" + "---|" * (len(names) + 1)]
    for measure in MEASURES:
        table = summary["companion"][measure]
        cells = [_score(table, (name,) if name in ("macro", "micro") else ("domains", name)) for name in names]
        lines.append(f"| {measure} | {' | '.join(cells)} |")
    return "\n".join(lines)
