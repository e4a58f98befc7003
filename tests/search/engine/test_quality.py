"""Ranking beside bm25s, the reference, with the same k1 and b."""

from __future__ import annotations

from typing import Any

import pytest
from search.engine.judged import Judged, judged, ndcg
from search.engine.makers import Make, need

from agentworld_envs.domains.search.engine.ranking import indexed_text
from agentworld_envs.domains.search.engine.words import query_words, telling, terms


@pytest.fixture(scope="module")
def the_set() -> Judged:
    return judged()


@pytest.fixture(scope="module")
def reference(the_set: Judged) -> Any:
    need("bm25s")
    import bm25s

    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    retriever.index([terms(indexed_text(page)) for page in the_set.pages], show_progress=False)
    return retriever


def _mean(the_set: Judged, search: Any) -> float:
    return sum(ndcg(search(query), grades) for query, grades in the_set.queries) / len(the_set.queries)


def test_beside_bm25s_as_it_comes(make: Make, the_set: Judged) -> None:
    """With its own tokenizer, its stop words, and the same kind of stems."""
    need("bm25s")
    need("Stemmer")
    import bm25s
    from Stemmer import Stemmer

    stemmer = Stemmer("english")
    retriever = bm25s.BM25(k1=1.2, b=0.75, method="lucene")
    texts = [indexed_text(page) for page in the_set.pages]
    retriever.index(bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False), show_progress=False)

    def referred(query: str) -> list[str]:
        tokens = bm25s.tokenize([query], stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        found, _ = retriever.retrieve(tokens, k=10, show_progress=False)
        return [the_set.pages[row].url for row in found[0]]

    index = make(the_set.pages)
    ours = _mean(the_set, lambda query: [hit.url for hit in index.search(query, 10)])
    theirs = _mean(the_set, referred)
    print(f"nDCG@10: {ours:.4f}; bm25s as it comes {theirs:.4f}")
    assert ours >= theirs - 0.01


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
