"""How far a collection is: a bar in a terminal, a line per tenth in a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import TimeRemainingColumn as Remaining

from agentworld_envs.cli.console import say, stderr
from agentworld_envs.training.collect import Progress as Callback


@contextmanager
def collecting(unit: str) -> Iterator[Callback]:
    """Args: unit: what is counted, in the plural."""
    console = stderr()
    if not console.is_terminal:
        tenths: dict[str, int] = {}

        def plain(split: str, done: int, total: int) -> None:
            if done * 10 // total > tenths.get(split, 0):
                tenths[split] = done * 10 // total
                say(console, f"{split}: {done}/{total} {unit}")

        yield plain
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn(unit))
    with Progress(*columns, TimeElapsedColumn(), Remaining(), console=console, transient=True) as bar:
        bars: dict[str, TaskID] = {}

        def drawn(split: str, done: int, total: int) -> None:
            if split not in bars:
                bars[split] = bar.add_task(split, total=total)
            bar.update(bars[split], completed=done)

        yield drawn
