"""`Journal`: results that survive a kill: JSONL, appended to, synced, repaired when it is opened again."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from agentworld_envs.interface import ConfigError

logger = logging.getLogger(__name__)

VERSION: Final = 1


class Journal:
    """A header line, then one line per result; of several lines with one key the last counts.

    Every batch is one `write` and one `fsync`. A kill loses at most the batch being written; a line that it tore is cut
    off at the next opening. The file is locked: two runs cannot write the same results.
    """

    def __init__(self, path: str | os.PathLike[str], header: Mapping[str, Any]) -> None:
        """Open, repair, or create the file.

        Args:
            path: the file; its folder is made.
            header: what the results depend on; JSON.

        Raises:
            ConfigError: the file cannot be written, is in use, or holds results of another configuration.
        """
        self.path = Path(path)
        self.torn = 0
        """Lines cut off at the end of the file, because a kill had torn them."""
        self.corrupt = 0
        """Unreadable lines in the middle of the file; their results are made again."""
        self._results: dict[str, dict[str, Any]] = {}
        wanted = json.loads(json.dumps({"type": "header", "version": VERSION, **header}))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fd: int | None = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise ConfigError(f"Cannot write {self.path}: {error.strerror}.") from error
        try:
            self._lock()
            self._load(wanted)
        except BaseException:
            self.close()
            raise

    @property
    def results(self) -> Mapping[str, dict[str, Any]]:
        """Key -> its last line."""
        return self._results

    def append(self, lines: Sequence[dict[str, Any]]) -> None:
        """Write results, each with a `key`, and wait until they are on disk.

        Raises:
            ConfigError: the disk is full, or the journal is closed.
        """
        self._write(lines)
        for line in lines:
            self._results[line["key"]] = line

    def close(self) -> None:
        """Close and unlock the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock(self) -> None:
        assert self._fd is not None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(
                f"{self.path} is being written by another run: wait for it, or use another --out."
            ) from error

    def _load(self, wanted: dict[str, Any]) -> None:
        assert self._fd is not None
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            self.torn = 1
            os.ftruncate(self._fd, end)
            logger.warning("%s: its last line was torn by a kill and is cut off.", self.path)
            data = data[:end]
        header, *lines = data.split(b"\n")
        if not header:
            self._write([wanted])
            return
        self._check(_parsed(header), wanted)
        for raw in lines:
            if not raw:
                continue
            line = _parsed(raw)
            if line is None or not isinstance(line.get("key"), str):
                self.corrupt += 1
                continue
            self._results[line["key"]] = line
        if self.corrupt:
            logger.warning("%s: %d unreadable lines are left out.", self.path, self.corrupt)

    def _check(self, found: dict[str, Any] | None, wanted: dict[str, Any]) -> None:
        if found is None or found.get("type") != "header":
            raise ConfigError(f"{self.path} is no journal of this benchmark. Use another --out.")
        differing = [name for name in sorted({*found, *wanted}) if found.get(name) != wanted.get(name)]
        if differing:
            name = differing[0]
            raise ConfigError(
                f"{self.path} holds results with another {name}: {_short(found.get(name))} there, "
                f"{_short(wanted.get(name))} now. Use another --out, or the same settings to go on."
            )

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        if self._fd is None:
            raise ConfigError(f"The journal {self.path} is closed.")
        # ASCII escapes keep U+2028 and lone surrogates inside of one valid line.
        data = memoryview("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode("ascii"))
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            os.fsync(self._fd)
        except OSError as error:
            raise ConfigError(f"Cannot go on writing {self.path}: {error.strerror}.") from error


def read_journal(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Header and results of a journal, without locking or changing it.

    Raises:
        ConfigError: there is no such file, or it is no journal.
    """
    path = Path(path)
    try:
        header, *lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}. Run the step before first.") from error
    found = _parsed(header)
    if found is None or found.get("type") != "header":
        raise ConfigError(f"{path} is no journal of this benchmark.")
    parsed = [line for raw in lines if raw and (line := _parsed(raw)) is not None]
    return found, {line["key"]: line for line in parsed if isinstance(line.get("key"), str)}


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 120 else text[:120] + "..."
