"""`Exporter`: rows as files that trainers and `datasets` load: chat JSONL, Parquet, and a card that says what they are.

    DIR/README.md            the card; `datasets.load_dataset(DIR)` reads from it where the splits are
    DIR/data/SPLIT.jsonl     one row per line
    DIR/parquet/SPLIT.parquet
    DIR/report.json          every count

Rows are written as they come. A file appears under its name when it is whole.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Protocol

from agentworld_envs.interface import ConfigError, MissingExtraError
from agentworld_envs.training.card import Card, write_card
from agentworld_envs.training.manifest import replace_file, split_name
from agentworld_envs.training.report import DataReport
from agentworld_envs.training.row import Layout, Row
from agentworld_envs.trajectories import Trajectory

logger = logging.getLogger(__name__)

GROUP_ROWS = 1_000
GROUP_CHARACTERS = 8_000_000
"""A row group of Parquet is written when either is reached: all that is held in memory of the rows."""


class RowBuilder(Protocol):
    """`WorldModelRows` or `AgentRows`."""

    def build(self, trajectory: Trajectory, report: DataReport) -> Iterator[Row]:
        """The rows of one episode."""


class Exporter:
    """Writes the splits of one data set, which share no row."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        builder: RowBuilder,
        *,
        layout: Layout = "messages",
        parquet: bool = False,
        max_characters: int | None = None,
    ) -> None:
        """Prepare; nothing is written yet.

        Args:
            folder: of the data set.
            builder: makes the rows.
            layout: columns, see `Row.to_dict`.
            parquet: write Parquet, too.
            max_characters: longer rows are dropped, and counted; `None`: no limit.

        Raises:
            ConfigError: an unknown layout, or a limit out of range.
            MissingExtraError: Parquet is wanted, and pyarrow is not installed.
        """
        if layout not in ("messages", "prompt_completion"):
            raise ConfigError(f"Expected the layout 'messages' or 'prompt_completion', got {layout!r}.")
        if max_characters is not None and max_characters < 1:
            raise ConfigError(f"Expected max_characters to be at least 1, got {max_characters}.")
        if parquet:
            _pyarrow()
        self.folder, self.layout = Path(folder), layout
        self._builder, self._parquet, self._limit = builder, parquet, max_characters
        self._written: set[bytes] = set()
        """Keys of all rows, of all splits."""
        self.reports: dict[str, DataReport] = {}
        """Split -> counts."""

    def split(self, name: str | None, trajectories: Iterable[Trajectory], report: DataReport | None = None) -> Path:
        """Write one split.

        Args:
            name: task set, or any name; see `split_name`.
            trajectories: its episodes.
            report: counts that there are already.

        Returns:
            The JSONL file.

        Raises:
            ConfigError: a file cannot be written; or the rows do not fit the layout.
        """
        split = split_name(name)
        report = self.reports.setdefault(split, report if report is not None else DataReport())
        files = [self.folder / "data" / f"{split}.jsonl"]
        if self._parquet:
            files.append(self.folder / "parquet" / f"{split}.parquet")
        try:
            for file in files:
                file.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as stack:
                lines = stack.enter_context(_part(files[0]).open("w", encoding="ascii"))
                table = stack.enter_context(_Table(_part(files[1]))) if self._parquet else None
                for row in self._rows(trajectories, report):
                    self._write(row, lines, table)
            if not self._parquet:
                self._drop_parquet(split)
            for file in files:
                _part(file).replace(file)
        except OSError as error:
            raise ConfigError(f"Cannot write to {self.folder}: {error.strerror}.") from error
        return files[0]

    def finish(self, card: Card) -> Path:
        """Write the card and the report; returns the card.

        Raises:
            ConfigError: they cannot be written.
        """
        try:
            counts = {split: report.to_dict() for split, report in self.reports.items()}
            replace_file(self.folder / "report.json", json.dumps(counts, indent=2) + "\n")
            return write_card(self.folder, card, self.reports, parquet=self._parquet)
        except OSError as error:
            raise ConfigError(f"Cannot write to {self.folder}: {error.strerror}.") from error

    def _drop_parquet(self, split: str) -> None:
        """Delete what an earlier export of the split left: it would not be the rows of its JSONL file."""
        file = self.folder / "parquet" / f"{split}.parquet"
        if file.exists():
            file.unlink()
            logger.warning("%s is of an earlier export and was deleted; add --parquet to write it again.", file)
            if not any(file.parent.iterdir()):
                file.parent.rmdir()

    def _rows(self, trajectories: Iterable[Trajectory], report: DataReport) -> Iterator[Row]:
        for trajectory in trajectories:
            for built in self._builder.build(trajectory, report):
                row, replaced = built.encodable()
                key = bytes.fromhex(row.key)
                if self._limit is not None and row.characters > self._limit:
                    report.rows_dropped["too_long"] += 1
                elif key in self._written:
                    report.rows_dropped["duplicate"] += 1
                else:
                    self._written.add(key)
                    report.surrogates_replaced += replaced
                    report.rows += 1
                    yield row

    def _write(self, row: Row, lines: IO[str], table: _Table | None) -> None:
        data = row.to_dict(self.layout)
        lines.write(json.dumps(data, separators=(",", ":")) + "\n")
        if table is not None:
            table.add(data, row.characters)


class _Table:
    """A Parquet file under way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._group: list[dict[str, Any]] = []
        self._characters = 0
        self._writer: Any = None

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def add(self, data: dict[str, Any], characters: int) -> None:
        self._group.append(data)
        self._characters += characters
        if len(self._group) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        arrow, parquet = _pyarrow()
        if self._group or self._writer is None:
            schema = _schema(self._group[0] if self._group else {})
            if self._writer is None:
                self._writer = parquet.ParquetWriter(self._path, schema)
            self._writer.write_table(arrow.Table.from_pylist(self._group, schema=schema))
            self._group, self._characters = [], 0


def _schema(data: dict[str, Any]) -> Any:
    """Types of the columns of a row."""
    arrow, _ = _pyarrow()
    chat = arrow.list_(arrow.struct([("role", arrow.string()), ("content", arrow.string())]))
    kinds = {"messages": chat, "prompt": chat, "completion": chat, "loss": arrow.list_(arrow.float32())}
    kinds |= {"seed": arrow.int64(), "turn": arrow.int32()}
    lists = {name for name, value in data.items() if name == "mask_class" and isinstance(value, list)}
    kinds |= {name: arrow.list_(arrow.string()) for name in lists}
    return arrow.schema([(name, kinds.get(name, arrow.string())) for name in data])


def _pyarrow() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'agentworld-envs[datasets]'") from error
    return pyarrow, parquet


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")
