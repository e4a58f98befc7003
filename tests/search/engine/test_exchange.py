"""Replacing an index: only an index is ever deleted, and no kill loses one."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_envs.domains.search.engine import build, open_index
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

OLD = [Page(str(n), f"https://a.org/{n}", f"Old {n}", f"fruit number {n} is a pear") for n in range(20)]
NEW = [Page(str(n), f"https://a.org/{n}", f"New {n}", f"fruit number {n} is a plum or pear") for n in range(5)]


def _all(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("manifest", ['{"name": "my web app"}', "[]", "{", '{"what": "agentworld search indices"}'])
def test_a_folder_with_some_manifest_is_no_index(tmp_path: Path, kind: str, manifest: str) -> None:
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "manifest.json").write_text(manifest)
    (app / "src" / "main.js").write_text("mine")
    before = _all(tmp_path)
    with pytest.raises(ConfigError, match="no search index"):
        build(OLD, app, kind=kind)  # type: ignore[arg-type]
    (app / "src" / "main.js").unlink()
    (app / "src").rmdir()
    with pytest.raises(ConfigError, match="no search index"):
        build(OLD, app, kind=kind)  # type: ignore[arg-type]
    assert _all(tmp_path) == {"app/manifest.json": before["app/manifest.json"]}


@pytest.mark.parametrize("name", ["notes.txt", "old/pages.bin", "terms.tantivy/notes.txt", "rows.npy/mine"])
def test_an_index_with_something_else_in_it_stays(tmp_path: Path, kind: str, name: str) -> None:
    index = tmp_path / "index"
    build(OLD, index, kind=kind)  # type: ignore[arg-type]
    mine = index / name
    if mine.parent.is_file():
        mine.parent.unlink()
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    before = _all(tmp_path)
    with pytest.raises(ConfigError, match=r"holds other things.*(notes|old|rows)"):
        build(NEW, index, kind=kind)  # type: ignore[arg-type]
    assert _all(tmp_path) == before


def test_an_index_of_another_version_is_replaced(tmp_path: Path, kind: str) -> None:
    index = tmp_path / "index"
    build(OLD, index, kind=kind)  # type: ignore[arg-type]
    (index / "manifest.json").write_text('{"what": "agentworld search index", "format": 0}')
    (index / "offsets.npy").unlink()
    build(NEW, index, kind="fts5")
    assert len(open_index(index)) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index"]


def test_what_comes_during_a_build_stays(tmp_path: Path, kind: str) -> None:
    def pages() -> list[Page]:
        (tmp_path / "index").mkdir()
        (tmp_path / "index" / "diary.txt").write_text("dear diary")
        return NEW

    with pytest.raises(ConfigError, match="no search index"):
        build((page for page in [*OLD, *pages()]), tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert list(_all(tmp_path)) == ["index/diary.txt"]


def test_a_link_stays_a_link(tmp_path: Path, kind: str) -> None:
    build(OLD, tmp_path / "real", kind=kind)  # type: ignore[arg-type]
    (tmp_path / "link").symlink_to(tmp_path / "real")
    build(NEW, tmp_path / "link", kind=kind)  # type: ignore[arg-type]
    assert (tmp_path / "link").is_symlink()
    assert len(open_index(tmp_path / "real")) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


KILLED = """
import os, pathlib, shutil, sys
from agentworld_envs.domains.search.engine import build
from agentworld_envs.domains.search.pages import Page
last = int(sys.argv[3])
done = 0
rename, rmtree = pathlib.Path.rename, shutil.rmtree
def step():
    global done
    done += 1
    if done > last:
        os._exit(9)
def renamed(self, target):
    step()
    return rename(self, target)
def removed(path, **more):
    step()
    (next(pathlib.Path(path).rglob("*.npy"))).unlink()
    step()
    rmtree(path, **more)
pathlib.Path.rename, shutil.rmtree = renamed, removed
pages = [Page(str(n), f"https://a.org/{n}", f"New {n}", f"fruit number {n} is a plum or pear") for n in range(5)]
build(pages, pathlib.Path(sys.argv[1]), kind=sys.argv[2])
"""


@pytest.mark.parametrize("last", range(6))
@pytest.mark.parametrize("name", ["index", "an [index]*"])
def test_killed_at_any_moment(tmp_path: Path, last: int, name: str) -> None:
    folder = tmp_path / name
    build(OLD, folder, kind="fts5")
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), "fts5", str(last)], check=False)
    assert done.returncode == (9 if last < 5 else 0)
    if last == 1:
        with pytest.raises(ConfigError, match=r"was killed.*/old: move it back"):
            open_index(folder)
    else:
        assert len(open_index(folder)) == (20 if last == 0 else 5)
    with pytest.raises(ConfigError, match="empty"):
        build([], folder, kind="fts5")
    assert len(open_index(folder)) == (20 if last < 2 else 5), "a build that fails loses nothing"
    assert [path.name for path in tmp_path.iterdir()] == [name]
    build(NEW[:3], folder, kind="fts5")
    assert len(open_index(folder)) == 3


def test_what_was_there_is_kept_where_its_place_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build(OLD, folder, kind="fts5")
    subprocess.run([sys.executable, "-c", KILLED, str(folder), "fts5", "1"], check=False)
    folder.mkdir()
    with pytest.raises(ConfigError, match="empty"):
        build([], folder, kind="fts5")
    (left,) = tmp_path.glob(".index.building-*")
    assert len(open_index(left / "old")) == 20


def test_an_exchange_that_fails_is_undone(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build(OLD, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "index" and self.parent != tmp_path:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(KeyboardInterrupt):
        build(NEW, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert len(open_index(tmp_path / "index")) == 20
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def _in_thread(call: Callable[[], object]) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_who_has_an_index_open_keeps_it_in_every_thread(tmp_path: Path, kind: str) -> None:
    build(OLD, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    index = open_index(tmp_path / "index")
    before = index.search("pear", 50)
    for _ in range(3):
        build(NEW, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
        threads = [threading.Thread(target=lambda: index.search("fruit")) for _ in range(4)]
        for thread in threads:
            thread.start()
        assert _in_thread(lambda: index.search("pear", 50)) == before
        assert index.search("pear", 50) == before
        for thread in threads:
            thread.join()
    index.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_fork_reads_the_same_index_or_says_why_not(tmp_path: Path, kind: str, rebuilt: bool) -> None:
    build(OLD, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    index = open_index(tmp_path / "index")
    before = index.search("pear", 50)
    if rebuilt:
        build(NEW, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if index.search("pear", 50) == before else 1)
        except ConfigError as error:
            os._exit(2 if "built again" in str(error) else 3)
        finally:
            os._exit(4)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == (2 if rebuilt and kind == "fts5" else 0)
