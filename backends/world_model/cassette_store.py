"""`CassetteStore`: completions by content address in one SQLite file, shared by threads and processes."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agentworld_envs.backends.world_model.engines.base import Completion
from agentworld_envs.interface import ConfigError, Usage

APPLICATION_ID: Final = 0x41574343
"""`AWCC`: marks the file as a cassette of this package."""

FORMAT: Final = 1

BUSY_S: Final = 30.0
"""How long a writer waits for another process's transaction."""

_SCHEMA: Final = """
CREATE TABLE completions (
    key BLOB PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL, reasoning TEXT NOT NULL, finish_reason TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    cost REAL NOT NULL, retries INTEGER NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE token_counts (key BLOB PRIMARY KEY, tokens INTEGER NOT NULL) WITHOUT ROWID;
"""

_COLUMNS: Final = (
    "key, model, text, reasoning, finish_reason, prompt_tokens, completion_tokens, reasoning_tokens, cost, retries, "
    "seconds"
)
_CHUNK: Final = 500


class CassetteStore:
    """One cassette file.

    Write-ahead logging with one short transaction per wave: readers never wait, and a process that is killed leaves
    either all or nothing of a wave. The connection belongs to one process; a forked child opens its own.

    Args:
        path: the file. Its folder is made when the cassette may be written.
        read_only: refuse to write and never change the file.

    Raises:
        ConfigError: the file is missing (read only), not a cassette, or of a newer format.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._pid = os.getpid()
        with self._open():
            pass
        _STORES.add(self)

    def completions(self, keys: Sequence[bytes]) -> dict[bytes, Completion]:
        """What is recorded for these keys; keys without a record are absent."""
        found: dict[bytes, Completion] = {}
        with self._open() as connection:
            for chunk in _chunks(keys):
                marks = ",".join("?" * len(chunk))
                query = f"SELECT {_COLUMNS} FROM completions WHERE key IN ({marks})"
                for row in connection.execute(query, chunk):
                    usage = Usage(row[5], row[6], row[7], row[8], 0, row[9], row[10])
                    found[bytes(row[0])] = Completion(row[2], row[3], row[4], recorded=usage)
        return found

    def store(self, answers: Mapping[bytes, Completion], model: str, *, replace: bool) -> None:
        """Record completions in one transaction.

        Args:
            answers: completions without failures, by key.
            model: for whoever looks into the file.
            replace: overwrite older records; otherwise the older record stays.
        """
        rows = [
            (key, model, c.text, c.reasoning, c.finish_reason, c.usage.prompt_tokens, c.usage.completion_tokens,
             c.usage.reasoning_tokens, c.usage.cost, c.usage.retries, c.usage.seconds)
            for key, c in answers.items()
        ]  # fmt: skip
        verb = "REPLACE" if replace else "IGNORE"
        with self._open() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                f"INSERT OR {verb} INTO completions ({_COLUMNS}) VALUES ({','.join('?' * 11)})", rows
            )

    def token_count(self, key: bytes) -> int | None:
        """The recorded length of a prompt, `None` when there is none."""
        with self._open() as connection:
            row = connection.execute("SELECT tokens FROM token_counts WHERE key = ?", (key,)).fetchone()
        return None if row is None else int(row[0])

    def store_token_count(self, key: bytes, tokens: int) -> None:
        with self._open() as connection, connection:
            connection.execute("INSERT OR REPLACE INTO token_counts (key, tokens) VALUES (?, ?)", (key, tokens))

    def __len__(self) -> int:
        """Number of recorded completions."""
        with self._open() as connection:
            return int(connection.execute("SELECT count(*) FROM completions").fetchone()[0])

    def close(self) -> None:
        """Close the file; the last one to do so folds the log into it, so that one file can be copied. Idempotent."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                if not self.read_only:
                    _fold_log(self._connection, self.path)
                self._connection.close()
            self._connection = None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._connection is None or self._pid != os.getpid():
                # A connection inherited over fork must be neither used nor closed: its locks are the parent's.
                if self._connection is not None:
                    _INHERITED.append(self._connection)
                self._connection, self._pid = _connect(self.path, self.read_only), os.getpid()
            try:
                yield self._connection
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                raise _not_a_cassette(self.path, f"it is damaged ({error})") from error


_LOGGER = logging.getLogger(__name__)

_INHERITED: list[sqlite3.Connection] = []
_STORES: weakref.WeakSet[CassetteStore] = weakref.WeakSet()


def _before_fork() -> None:
    # A child must not be made while another thread is inside of SQLite: it would inherit a half-made state.
    _FORKING.acquire()
    _LOCKED.extend(_STORES)
    for store in _LOCKED:
        store._lock.acquire()


def _after_fork() -> None:
    for store in _LOCKED:
        store._lock.release()
    _LOCKED.clear()
    _FORKING.release()


_LOCKED: list[CassetteStore] = []
_FORKING = threading.Lock()
"""Held over a fork, so that two threads that fork at once do so one after the other."""
os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def _chunks(keys: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(keys), _CHUNK):
        yield keys[start : start + _CHUNK]


def _not_a_cassette(path: Path, found: str) -> ConfigError:
    return ConfigError(
        f"{str(path)!r} is not a usable cassette: {found}. Expected an SQLite file recorded by this package. Give "
        "another file name, or move this file away and record it anew with cassette='record:FILE'."
    )


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    if path.is_dir():
        raise _not_a_cassette(path, "it is a folder")
    try:
        connection = _connect_to_read(path) if read_only else _connect_to_write(path)
    except sqlite3.OperationalError as error:
        raise ConfigError(
            f"Cannot open the cassette {str(path)!r}: {error}. Check the folder's permissions."
        ) from error
    except sqlite3.DatabaseError as error:
        raise _not_a_cassette(path, f"it cannot be read ({error})") from error
    except OSError as error:
        raise ConfigError(f"Cannot make the cassette {str(path)!r}: {error}.") from error
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise ConfigError(
            f"There is no cassette {str(path)!r}. Record it first with cassette='record:{path}', or give the path of "
            "one that exists."
        )
    uri = path.absolute().as_uri()
    try:
        return _checked(_raw(f"{uri}?mode=ro"), path)
    except sqlite3.OperationalError:
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # On a read-only disk SQLite cannot make its lock files; without a log nothing is lost by doing without.
        return _checked(_raw(f"{uri}?immutable=1"), path)


def _connect_to_write(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _raw(path.absolute().as_uri())
    try:
        if not _tables(connection):
            # Two processes may get here at once: the second waits, and then finds the tables.
            connection.execute("BEGIN IMMEDIATE")
            if not _tables(connection):
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
            connection.execute("COMMIT")
        _checked(connection, path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Another process is just opening or closing it. Without the log it is slower, and as safe.
            _LOGGER.debug("Cassette %s without write-ahead log: %s", path, error)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def _fold_log(connection: sqlite3.Connection, path: Path) -> None:
    """Leave a plain file that can be read without lock files, unless others still use it."""
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.DatabaseError as error:
        _LOGGER.debug("Cassette %s keeps its write-ahead log for now: %s", path, error)


def _raw(uri: str) -> sqlite3.Connection:
    # The store's own lock lets one thread at a time use the connection.
    return sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        tables = _tables(connection)
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if mark != APPLICATION_ID or not {"completions", "token_counts"} <= set(tables):
            raise _not_a_cassette(path, "it is a database of something else" if tables else "it is empty")
        if version != FORMAT:
            raise _not_a_cassette(path, f"it has format {version}, this version reads format {FORMAT}")
    except BaseException:
        connection.close()
        raise
    return connection
