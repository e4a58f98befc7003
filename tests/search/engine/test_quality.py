"""Ranking beside bm25s, the reference, with the same k1 and b."""

from __future__ import annotations

from typing import Any

import pytest
from search.engine.judged import Judged, judged, ndcg
from search.engine.makers import Make

from agentworld_envs.domains.search.engine.ranking import indexed_text
from agentworld_envs.domains.search.engine.words import query_words, telling, terms


@pytest.fixture(scope="module")
def the_set() -> Judged:
    return judged()


@pytest.fixture(scope="module")
def reference(the_set: Judged) -> Any:
    bm25s = pytest.importorskip("bm25s")
    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    retriever.index([terms(indexed_text(page)) for page in the_set.pages], show_progress=False)
    return retriever


def _mean(the_set: Judged, search: Any) -> float:
    return sum(ndcg(search(query), grades) for query, grades in the_set.queries) / len(the_set.queries)


def test_quality(make: Make, the_set: Judged, reference: Any) -> None:
    urls = [page.url for page in the_set.pages]

    def referred(query: str, tokens: Any) -> list[str]:
        found, _ = reference.retrieve([tokens(query)], k=10, show_progress=False)
        return [urls[row] for row in found[0]]

    index = make(the_set.pages)
    ours = _mean(the_set, lambda query: [hit.url for hit in index.search(query, 10)])
    same = _mean(the_set, lambda query: referred(query, lambda text: telling(query_words(text))))
    every = _mean(the_set, lambda query: referred(query, lambda text: list(query_words(text))))
    print(f"nDCG@10: {ours:.4f}; bm25s {same:.4f}, with stop words {every:.4f}")
    assert 0.4 < same < 0.98, "the set tells nothing when it is too easy or too hard"
    assert abs(ours - same) <= 0.01
    assert abs(ours - every) <= 0.01
