"""Ranking by meaning and by both, with an embedder that needs no model."""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from agentworld_envs.domains.search.engine import Ranking, build, open_index
from agentworld_envs.domains.search.engine.ranking import fused
from agentworld_envs.domains.search.engine.words import terms
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.interface import ConfigError

SAME = {"car": "automobile", "physician": "doctor"}


def embed(texts: Sequence[str]) -> np.ndarray:
    """Terms hashed into 64 dimensions; synonyms into the same one."""
    vectors = np.zeros((len(texts), 64))
    for row, text in enumerate(texts):
        for term in terms(text):
            digest = hashlib.blake2b(SAME.get(term, term).encode(), digest_size=8).digest()
            vectors[row, digest[0] % 64] += 1 if digest[1] % 2 else -1
    return vectors


PAGES = [
    Page("1", "https://a.org/1", "Automobile", "automobile repair in the harbour"),
    Page("2", "https://a.org/2", "Car", "car and fish"),
    Page("3", "https://a.org/3", "Doctor", "doctor in the harbour"),
    Page("4", "https://a.org/4", "Fish", "fish market at the harbour"),
]


@pytest.fixture
def folder(tmp_path: Path, kind: str) -> Path:
    build(PAGES, tmp_path / "index", kind=kind, dense=embed)  # type: ignore[arg-type]
    return tmp_path / "index"


def test_by_meaning(folder: Path) -> None:
    dense = open_index(folder, ranking=Ranking("dense"), embedder=embed)
    assert dense.search("physician")[0].url == "https://a.org/3"
    hits = dense.search("car", 2)
    assert [hit.url for hit in hits] == ["https://a.org/2", "https://a.org/1"]
    wanted, page = embed(["car"])[0], embed(["Car\ncar and fish"])[0]
    cosine = wanted @ page / np.linalg.norm(wanted) / np.linalg.norm(page)
    assert hits[0].score == pytest.approx(cosine, abs=1e-4)
    assert dense.search("") == []


def test_by_both(folder: Path) -> None:
    lexical = open_index(folder, ranking=Ranking("lexical"))
    both = open_index(folder, embedder=embed)
    assert {hit.url for hit in lexical.search("car")} == {"https://a.org/2"}
    hits = both.search("car")
    assert hits[0].url == "https://a.org/2"
    assert "https://a.org/1" in {hit.url for hit in hits}
    assert hits[0].score == pytest.approx(2 / 61)
    weighted = open_index(
        folder, ranking=Ranking("fused", "weighted", lexical_weight=1, dense_weight=0), embedder=embed
    )
    assert weighted.search("car")[0].score == pytest.approx(1.0)
    digests = {index.digest for index in (lexical, both, weighted)}
    assert len(digests) == 3
    copy = pickle.loads(pickle.dumps(both))
    assert copy.search("car") == hits
    masked = both.search("car", 2, masked={"https://a.org/2"})
    assert len(masked) == 2
    assert "https://a.org/2" not in {hit.url for hit in masked}


def test_fusion() -> None:
    lexical, dense = [(5, 8.0), (3, 4.0)], [(3, 0.9), (7, 0.9), (1, -0.2)]
    found = dict(fused(lexical, dense, Ranking(k=60)))
    assert found[3] == pytest.approx(1 / 62 + 1 / 61)
    assert found[5] == pytest.approx(1 / 61)
    assert [row for row, _ in fused(lexical, dense, Ranking())] == [3, 5, 7, 1]
    weighted = dict(fused(lexical, dense, Ranking(fusion="weighted", lexical_weight=0.7, dense_weight=1.0)))
    assert weighted == pytest.approx({5: 0.7, 3: 0.35 + 0.9, 7: 0.9, 1: 0.0})
    assert fused([], [], Ranking()) == []
    assert [row for row, _ in fused([(2, 1.0), (9, 1.0)], [(9, 1.0), (2, 1.0)], Ranking())] == [2, 9], "ties by page"


def test_ties_are_broken_by_page_order(tmp_path: Path, kind: str) -> None:
    pages = [Page(str(n), f"https://a.org/{99 - n}", "Same", "fish") for n in range(40)]
    build(pages, tmp_path / "index", kind=kind, dense=embed)  # type: ignore[arg-type]
    index = open_index(tmp_path / "index", ranking=Ranking("dense"), embedder=embed)
    assert [hit.url for hit in index.search("fish", 7)] == [page.url for page in pages[:7]]
    assert len(index.search("fish", 1000)) == 40


@pytest.mark.parametrize(
    "bad",
    [
        lambda texts: np.zeros((len(texts) + 1, 4)),
        lambda texts: np.zeros(len(texts)),
        lambda texts: np.full((len(texts), 4), math.nan),
        lambda texts: np.zeros((len(texts), 4 if len(texts) == 256 else 5)),
    ],
)
def test_bad_embedders(tmp_path: Path, bad: object) -> None:
    pages = [Page(str(n), f"https://a.org/{n}", "Same", "fish") for n in range(300)]
    with pytest.raises(ConfigError, match="embedder"):
        build(pages, tmp_path / "index", kind="fts5", dense=bad)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_bad_rankings(folder: Path, tmp_path: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match="embedder"):
        open_index(folder)
    build(PAGES, tmp_path / "words", kind=kind)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="--dense"):
        open_index(tmp_path / "words", ranking=Ranking("dense"))
    with pytest.raises(ConfigError, match="expected one of"):
        Ranking("best")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="negative"):
        Ranking(dense_weight=-1)
    other = open_index(folder, embedder=lambda texts: np.ones((len(texts), 3)))
    with pytest.raises(ConfigError, match="64 dimensions"):
        other.search("car")
    (folder / "vectors.npy").write_bytes(b"")
    with pytest.raises(ConfigError, match="again"):
        open_index(folder, embedder=embed)
