"""Index folders: built whole or not at all, and refused with a way out when they cannot be opened."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from search.engine.makers import need

from agentworld_envs.domains.search.engine import build, open_index, read_corpus, tantivy_ranking
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError, MissingExtraError

PAGES = [Page(str(n), f"https://a.org/{n}", f"Page {n}", f"fruit number {n} is a pear") for n in range(20)]
REBUILD = "agentworld corpus build"


def _left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_report(tmp_path: Path, kind: str) -> None:
    counted: list[int] = []
    extra = [Page("x", "https://a.org/3/", "Again", "text"), Page("y", "nowhere", "Bad", "text")]
    report = build(iter([*PAGES, *extra]), tmp_path / "index", kind=kind, progress=counted.append)  # type: ignore[arg-type]
    assert (report.pages, report.kind) == (20, kind)
    assert report.skipped == {"bad address": 1, "duplicate address": 1}
    assert counted == [20]
    assert _left(tmp_path) == ["index"]
    with_digest = open_index(tmp_path / "index")
    assert with_digest.digest == report.digest
    assert len(with_digest) == 20


def test_what_a_corpus_skipped_is_in_the_report(tmp_path: Path, kind: str) -> None:
    (tmp_path / "pages.jsonl").write_text('{"id": 1, "text": "a pear"}\n{"id": 1, "text": "b"}\n{bad\n')
    report = build(read_corpus(tmp_path / "pages.jsonl"), tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert report.skipped == {"duplicate address": 1, "not JSON": 1}
    (tmp_path / "pages.jsonl").write_text("{bad\n\n")
    with pytest.raises(ConfigError, match="1 not JSON"):
        build(read_corpus(tmp_path / "pages.jsonl"), tmp_path / "other", kind=kind)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="empty"):
        build([], tmp_path / "other", kind=kind)  # type: ignore[arg-type]
    assert _left(tmp_path) == ["index", "pages.jsonl"]


def test_same_pages_same_digest(tmp_path: Path, kind: str) -> None:
    first = build(PAGES, tmp_path / "a", kind=kind)  # type: ignore[arg-type]
    assert build(iter(PAGES), tmp_path / "b", kind=kind).digest == first.digest  # type: ignore[arg-type]


def test_an_index_is_replaced_and_nothing_else(tmp_path: Path, kind: str) -> None:
    build(PAGES, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    reader = open_index(tmp_path / "index")
    build(PAGES[:5], tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert len(reader.search("pear", 50)) == 20, "who has it open keeps the old one"
    assert len(open_index(tmp_path / "index").search("pear", 50)) == 5
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(ConfigError, match="no search index"):
        build(PAGES, tmp_path / "mine", kind=kind)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="does not exist"):
        build(PAGES, tmp_path / "no" / "parent", kind=kind)  # type: ignore[arg-type]
    assert _left(tmp_path) == ["index", "mine"]


def test_a_failing_corpus_leaves_nothing(tmp_path: Path, kind: str) -> None:
    def pages() -> Iterator[Page]:
        yield from PAGES
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="gone"):
        build(pages(), tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert _left(tmp_path) == []


KILLED = """
import itertools, pathlib, sys
from agentworld_envs.domains.search.engine import build
from agentworld_envs.domains.search.pages import Page
def pages():
    for n in itertools.count():
        if n == 3000:
            print("building", flush=True)
        yield Page(str(n), f"https://a.org/{n}", "Title", "text " * 50)
build(pages(), pathlib.Path(sys.argv[1]), kind=sys.argv[2])
"""


def test_a_killed_build_leaves_no_index(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "index"), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"building\n"
        process.send_signal(signal.SIGKILL)
    with pytest.raises(ConfigError, match=REBUILD):
        open_index(tmp_path / "index")
    (left,) = tmp_path.iterdir()
    with pytest.raises(ConfigError, match=REBUILD):
        open_index(left)
    build(PAGES, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    assert _left(tmp_path) == ["index"], "what the killed build left is swept"


def test_what_cannot_be_opened(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match=r"does not exist.*" + REBUILD):
        open_index(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"not a search index.*" + REBUILD):
        open_index(tmp_path / "empty")
    index = tmp_path / "index"
    build(PAGES, index, kind=kind)  # type: ignore[arg-type]
    good = (index / "manifest.json").read_text()
    future = {**json.loads(good), "format": 2, "shards": 4}
    for text in (json.dumps(future), "{", "[]", "", good.replace("search index", "thing"), "\x00"):
        (index / "manifest.json").write_text(text)
        with pytest.raises(ConfigError, match=REBUILD):
            open_index(index)
    (index / "manifest.json").write_text(good.replace('"pages": 20', '"pages": 21'))
    with pytest.raises(ConfigError, match=REBUILD):
        open_index(index)
    (index / "manifest.json").write_text(good)
    assert open_index(index).search("pear")


@pytest.mark.parametrize("damage", ["pages.bin", "offsets.npy", "addresses.npy", "rows.npy", "terms"])
@pytest.mark.parametrize("how", ["missing", "short", "empty"])
def test_damaged_files(tmp_path: Path, kind: str, damage: str, how: str) -> None:
    index = tmp_path / "index"
    build(PAGES, index, kind=kind)  # type: ignore[arg-type]
    path = index / damage
    if damage == "terms":
        path = index / "terms.tantivy" / "meta.json" if kind == "tantivy" else index / "terms.sqlite"
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if how == "short" else b"")
    with pytest.raises(ConfigError, match=REBUILD):
        open_index(index)


def test_without_tantivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("tantivy")
    build(PAGES, tmp_path / "index", kind="tantivy")
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(MissingExtraError, match=r"agentworld-envs\[search\].*fts5"):
        open_index(tmp_path / "index")
    with pytest.raises(MissingExtraError, match=r"agentworld-envs\[search\]"):
        build(PAGES, tmp_path / "other", kind="tantivy")
    assert build(PAGES, tmp_path / "other").kind == "fts5", "auto takes what is there"
    with pytest.raises(ConfigError, match="auto, tantivy or fts5"):
        build(PAGES, tmp_path / "third", kind="lucene")  # type: ignore[arg-type]


def test_several_segments_give_the_same_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("tantivy")
    pages = [Page(str(n), f"https://a.org/{n}", "Same", f"pear plum {'fig ' * (n % 5)} w{n}") for n in range(40_000)]
    build(pages, tmp_path / "one", kind="tantivy")
    monkeypatch.setattr(tantivy_ranking, "HEAP", 15_000_000)
    build(pages, tmp_path / "many", kind="tantivy")
    one, many = open_index(tmp_path / "one"), open_index(tmp_path / "many")
    assert many._ranker._engine._searcher.num_segments > 1  # type: ignore[attr-defined]
    for query in ("fig", "pear fig", "w17", "w39999 w3 plum", "same pear"):
        assert many.search(query, 30) == one.search(query, 30)


def test_opens_fast_and_read_only(tmp_path: Path, kind: str) -> None:
    pages = (Page(str(n), f"https://a.org/{n}", f"Page {n}", f"pear {n % 700}") for n in range(20_000))
    build(pages, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    started = time.process_time()
    index = open_index(tmp_path / "index")
    assert time.process_time() - started < 0.2
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*")}
    assert index.search("pear 17")[0].title == "Page 17"
    index.close()
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "index").rglob("*")}
    assert os.access(tmp_path / "index", os.R_OK)


READER = """
import os, pathlib, sys
from agentworld_envs.domains.search.engine import canonical, open_index
import agentworld_envs.domains.search.engine.index
__import__(sys.argv[2]) if sys.argv[2] == "tantivy" else None
os.setgid(65534), os.setuid(65534)
print([hit.url for hit in open_index(pathlib.Path(sys.argv[1])).search("pear 17")][:1])
"""


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root becomes another user")
def test_a_user_who_may_only_read(tmp_path: Path, kind: str) -> None:
    build(PAGES, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    command = [sys.executable, "-c", READER, str(tmp_path / "index"), kind]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert found.stdout == "['https://a.org/17']\n"
