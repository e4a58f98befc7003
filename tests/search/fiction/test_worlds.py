"""Fictional worlds: the same bytes everywhere, read-only copies, sizes."""

from __future__ import annotations

import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentworld_envs.domains.search.fiction.population import SIZES
from agentworld_envs.domains.search.fiction.world import FictionalWorld
from agentworld_envs.interface.errors import ConfigError


def _rows(connection: sqlite3.Connection) -> int:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return sum(connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in tables)


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_equal_seeds_give_equal_worlds(size: str) -> None:
    first, second = FictionalWorld(7, size), pickle.loads(pickle.dumps(FictionalWorld(7, size)))
    assert first.pages == second.pages
    assert [first.question(n, 2) for n in range(5)] == [second.question(n, 2) for n in reversed(range(5))][::-1]
    assert first.pages != FictionalWorld(8, size).pages
    assert set(first.entities["person"]).isdisjoint(FictionalWorld(8, size).entities["person"])


def test_sizes_of_the_database() -> None:
    for size, low, high in (("tiny", 80, 160), ("small", 300, 500)):
        for seed in range(10):
            connection = FictionalWorld(seed, size).connect()
            assert low <= _rows(connection) <= high
            connection.close()
    assert SIZES["large"]["person"] == 100 * SIZES["small"]["person"]


def test_copies_are_fresh_and_read_only() -> None:
    world = FictionalWorld(3, "tiny")
    first, second = world.connect(), world.connect()
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        first.execute("DELETE FROM person")
    first.close()
    assert second.execute("SELECT COUNT(*) FROM person").fetchone()[0] == SIZES["tiny"]["person"]
    second.close()


def test_saved_files_are_equal_and_nothing_is_written_over(tmp_path: Path) -> None:
    one = FictionalWorld(5).save(tmp_path / "one.db")
    two = FictionalWorld(5).save(str(tmp_path / "two.db"))
    assert one.read_bytes() == two.read_bytes()
    with pytest.raises(FileExistsError, match=r"one\.db"):
        FictionalWorld(6).save(one)
    assert one.read_bytes() == two.read_bytes()


def test_references_hold() -> None:
    connection = FictionalWorld(11).connect()
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_unknown_size_level_and_number() -> None:
    with pytest.raises(ConfigError, match="small"):
        FictionalWorld(1, "huge")
    for number, level in ((0, 4), (-1, 1), (0, 0)):
        with pytest.raises(ConfigError, match="level"):
            FictionalWorld(1, "tiny").question(number, level)


@pytest.mark.parametrize("seed", [-1, 0, 2**80])
def test_any_integer_is_a_seed(seed: int) -> None:
    assert FictionalWorld(seed, "tiny").question(0).text


def test_threads_share_a_world() -> None:
    shared, alone = FictionalWorld(9), FictionalWorld(9)
    wanted = [(number, level) for level in (1, 2, 3) for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda key: shared.question(*key), wanted))
    assert found == [alone.question(*key) for key in wanted]
