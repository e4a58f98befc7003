"""What every index promises, on every engine."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search.engine.judged import judged
from search.engine.makers import Make

from agentworld_envs.domains.search.engine import build, memory_index, open_index
from agentworld_envs.domains.search.pages import Page

PAGES = [
    Page("1", "https://a.org/1", "Marie Vale", "Marie Vale was born in 1902 in Port Lorn.", "2031-01-01", ("1902",)),
    Page("2", "https://a.org/2", "東京都", "東京都は日本の首都であり、人口は約1400万人。"),
    Page("3", "https://a.org/3", "Москва", "Москва — столица России."),
    Page("4", "https://a.org/4", "القاهرة", "القاهرة هي عاصمة جمهورية مصر العربية"),
    Page("5", "https://a.org/5", "दिल्ली", "नई दिल्ली भारत की राजधानी है।"),
    Page("6", "https://a.org/6", "서울", "서울특별시는 대한민국의 수도이다."),
    Page("7", "https://a.org/7", "Curie & <b>Sons</b>", "C++ & <i>Rust</i> shop\nin Zürich, with 'quotes' and \x00."),
    Page("8", "https://a.org/8", "Port Lorn", "A harbour town. " * 40 + "Its lighthouse is famous. " + "Fish. " * 90),
]
HOSTILE = [
    "",
    "   \n\t ",
    "?!*",
    "\x00",
    "\ud800",
    '"',
    'a AND (b OR "c',
    "NEAR(vale, 2)",
    "title:vale^3 ~2 -born +port",
    "vale*",
    "terms : x",
    "{terms} : vale",
    "'; DROP TABLE pages; --",
    "a" * 100_000,
    "vale " * 20_000,
    "(" * 100_000,
    "東" * 100_000,
    " ".join(f"w{number}" for number in range(20_000)),
]


@pytest.mark.parametrize(
    ("query", "url"),
    [
        ("Where was Marie Vale born?", "https://a.org/1"),
        ("日本の首都", "https://a.org/2"),
        ("都", "https://a.org/2"),
        ("столицы россия Москва", "https://a.org/3"),
        ("عاصمة مصر", "https://a.org/4"),
        ("भारत की राजधानी", "https://a.org/5"),
        ("대한민국 수도", "https://a.org/6"),
        ("zurich", "https://a.org/7"),
        ("ZÜRICH rust", "https://a.org/7"),
        ("famous lighthouses", "https://a.org/8"),
    ],
)
def test_finds(make: Make, query: str, url: str) -> None:
    hits = make(PAGES).search(query)
    assert hits[0].url == url
    assert all("\n" not in hit.snippet for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_raises_or_takes_long(make: Make, query: str) -> None:
    index = make(PAGES)
    started = time.process_time()
    hits = index.search(query, 5)
    assert time.process_time() - started < 1
    assert len(hits) <= 5
    if not any(character.isalnum() for character in query):
        assert hits == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(query=st.text(), limit=st.integers(-1, 12), masked=st.sets(st.sampled_from([page.url for page in PAGES])))
def test_any_query(query: str, limit: int, masked: set[str]) -> None:
    hits = _SHARED.search(query, limit, masked=masked, withheld=["vale", query[:5]])
    assert len(hits) <= max(limit, 0)
    assert not masked & {hit.url for hit in hits}
    assert len({hit.url for hit in hits}) == len(hits)


_SHARED = memory_index(PAGES)


def test_operators_have_no_meaning(make: Make) -> None:
    index = make(PAGES)
    assert index.search("marie AND NOT vale") == index.search("marie and not vale")
    assert index.search('"vale marie" -born') == index.search("vale marie born")


def test_pages_by_address(make: Make) -> None:
    index = make(PAGES)
    assert len(index) == len(PAGES)
    assert index.page("https://a.org/1") == PAGES[0]
    assert index.page("https://a.org/9") is None
    assert index.page("") is None
    assert index.page("\ud800") is None


def test_titles_are_not_escaped(make: Make) -> None:
    (hit,) = make(PAGES).search("rust")
    assert hit.title == "Curie & <b>Sons</b>"
    assert "C++ & <i>Rust</i> shop in Zürich, with 'quotes'" in hit.snippet


def test_masked_pages_give_their_place_to_others(make: Make) -> None:
    pages = [Page(str(n), f"https://a.org/{n}", f"Page {n}", "apple " * (60 - n)) for n in range(50)]
    index = make(pages)
    first = index.search("apple", 10)
    masked = {hit.url for hit in first}
    second = index.search("apple", 10, masked=masked)
    assert len(second) == 10
    assert not masked & {hit.url for hit in second}
    most = {page.url for page in pages[:45]}
    assert len(index.search("apple", 10, masked=most)) == 5
    assert index.search("apple", 10, masked={page.url for page in pages}) == []
    nothing = index.search("apple", 10, masked={f"https://b.org/{n}" for n in range(1000)})
    assert [hit.url for hit in nothing] == [hit.url for hit in first]


@pytest.mark.parametrize("limit", [1, 3, 7, 40, 200])
def test_ties_are_broken_by_page_order(make: Make, limit: int) -> None:
    pages = [Page(f"p{n}", f"https://a.org/{(n * 7919) % 1000}", "Same", "pear plum fig and pear") for n in range(120)]
    hits = make(pages).search("fig pear plum", limit)
    assert [hit.url for hit in hits] == [page.url for page in pages[:limit]]


def test_a_shorter_list_is_the_beginning_of_a_longer(make: Make) -> None:
    the_set = judged(40, 400)
    index = make(the_set.pages)
    for query, _ in the_set.queries:
        longer = index.search(query, 30)
        assert index.search(query, 7) == longer[:7]


def test_threads_and_pickles_find_the_same(make: Make) -> None:
    the_set = judged(40, 400)
    index = make(the_set.pages)
    queries = [query for query, _ in the_set.queries]
    expected = [index.search(query) for query in queries]
    start = threading.Barrier(4)

    def run(_: int) -> list[object]:
        start.wait()
        return [index.search(query) for query in queries * 3]

    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected * 3 for found in pool.map(run, range(4)))
    copy = pickle.loads(pickle.dumps(index))
    assert copy.digest == index.digest
    assert [copy.search(query) for query in queries] == expected
    copy.close()
    copy.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_finds_the_same(make: Make) -> None:
    index = make(PAGES)
    expected = index.search("port lorn")
    child = os.fork()
    if child == 0:  # no assertion here: it would run the rest of the tests twice
        os._exit(0 if index.search("port lorn") == expected and index.page(PAGES[0].url) == PAGES[0] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert index.search("port lorn") == expected


def test_digests(make: Make) -> None:
    assert make(PAGES).digest == make(PAGES).digest
    changed = [*PAGES[:-1], Page("8", "https://a.org/8", "Port Lorn", "Another town.")]
    assert make(PAGES).digest != make(changed).digest
    assert make(PAGES).digest != make(PAGES[::-1]).digest


def test_fts5_leaves_out_what_every_page_has() -> None:
    pages = [Page(str(n), f"https://a.org/{n}", "T", f"lamp stone w{n} river{n % 3}") for n in range(12_000)]
    index = memory_index(pages)
    engine = index._ranker._engine  # type: ignore[attr-defined]
    assert engine._affordable(["lamp", "stone", "w77", "river1"]) == ["lamp", "w77", "river1"]
    assert engine._affordable(["lamp", "stone"]) == ["lamp"]
    assert index.search("lamp stone w77")[0].url == "https://a.org/77"


def test_threads_that_end_leave_no_connection(tmp_path: Path) -> None:
    build(PAGES, tmp_path / "index", kind="fts5")
    index = open_index(tmp_path / "index")
    for _ in range(20):
        thread = threading.Thread(target=index.search, args=("vale",))
        thread.start()
        thread.join()
    assert len(index._ranker._engine._open) <= 2  # type: ignore[attr-defined]
    index.close()


PROCESS = """
import hashlib, pathlib, sys
from agentworld_envs.domains.search.engine import open_index
from agentworld_envs.domains.search.engine.extract import evidence
from search.engine.judged import judged
index = open_index(pathlib.Path(sys.argv[1]))
digest = hashlib.sha256()
for query, _ in judged(60, 100).queries:
    hits = index.search(query, withheld=["mer", "bad"])
    digest.update(repr(hits).encode())
    digest.update(repr(evidence(index.page(hits[0].url).text, query)).encode())
print(digest.hexdigest())
"""


def test_every_process_finds_the_same_bytes(tmp_path: Path, kind: str) -> None:
    build(judged(60, 100).pages, tmp_path / "index", kind=kind)  # type: ignore[arg-type]
    tests = str(Path(__file__).parents[2])
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": tests}
        command = [sys.executable, "-c", PROCESS, str(tmp_path / "index")]
        found.add(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    assert len(found) == 1
