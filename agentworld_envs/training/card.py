"""The card of a data set: where its splits are, how it was made, and what was kept, masked and dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentworld_envs.training.manifest import replace_file
from agentworld_envs.training.report import DataReport

FILE = "README.md"


@dataclass(frozen=True, slots=True)
class Card:
    """What the counts do not say."""

    title: str
    command: str
    """What makes this data set again."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Name -> value, in words."""


def write_card(folder: Path, card: Card, reports: Mapping[str, DataReport], *, parquet: bool) -> Path:
    """Write `README.md` with the metadata that `datasets` reads.

    The same rows have the same card, also when collecting them was interrupted: there is no date in it, and no attempt
    or line that a kill has torn. Those are in `report.json`.

    Raises:
        OSError: it cannot be written.
    """
    filled = [split for split, report in reports.items() if report.rows]
    lines = []
    if filled:  # `datasets` refuses empty files
        lines += ["---", "configs:", "- config_name: default", "  data_files:"]
        lines += [line for split in filled for line in (f"  - split: {split}", f"    path: data/{split}.jsonl")]
        lines += ["---", ""]
    lines += [f"# {card.title}", "", "Made by:", "", "```", card.command, "```", ""]
    lines += [f"- {name}: {value}" for name, value in card.settings.items()]
    for split, report in reports.items():
        lines += ["", f"## {split}", "", *_counts(report)]
    lines += ["", "## Loading", "", *_loading(reports, parquet)]
    path = folder / FILE
    replace_file(path, "\n".join(lines) + "\n")
    return path


def _counts(report: DataReport) -> list[str]:
    lines = [
        f"{report.rows} rows from {report.episodes_kept} of {report.episodes} episodes with {report.turns} turns.",
        "",
        "| class | turns kept | turns masked |",
        "|---|---|---|",
        *(f"| {name} | {kept} | {masked} |" for name, kept, masked in report.class_rows()),
        "",
        "| dropped | kind | count |",
        "|---|---|---|",
    ]
    for what, kinds in _dropped(report).items():
        lines += [f"| {what} | {kind} | {count} |" for kind, count in kinds.items()]
    if lines[-1] == "|---|---|---|":
        lines.append("| nothing | | 0 |")
    return lines


def dropped(report: DataReport) -> dict[str, dict[str, int]]:
    """What was dropped -> kind -> count, without zeros, the most frequent first; also what a kill left."""
    found = _dropped(report)
    if report.unfinished:
        found["attempts"] = {"unfinished": report.unfinished}
    if report.lines_left_out:
        found["lines of the recording"] = {"unreadable": report.lines_left_out}
    return found


def _dropped(report: DataReport) -> dict[str, dict[str, int]]:
    """Of the finished episodes, as the card has it."""
    parts = {
        "episodes": report.episodes_dropped,
        "turns": report.turns_dropped,
        "rows": report.rows_dropped,
    }
    found = {
        name: {kind: count for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])) if count}
        for name, kinds in parts.items()
    }
    if report.turns_of_dropped_episodes:
        found["turns"]["of dropped episodes"] = report.turns_of_dropped_episodes
    if report.surrogates_replaced:
        found["characters"] = {"without encoding, replaced": report.surrogates_replaced}
    return {name: kinds for name, kinds in found.items() if kinds}


def _loading(reports: Mapping[str, DataReport], parquet: bool) -> list[str]:
    split = next(iter(reports), "train")
    lines = ["```python", "from datasets import load_dataset", "", 'rows = load_dataset("THIS_FOLDER")']
    if parquet:
        lines.append(f'rows = load_dataset("parquet", data_files="THIS_FOLDER/parquet/{split}.parquet")')
    return [
        *lines,
        "```",
        "",
        "`messages` is a chat and `loss` the weight of each message; or `prompt` and `completion`. `mask_class` is the "
        "class of a turn in the masking, `source` the digest of what was recorded.",
    ]
