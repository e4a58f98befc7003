"""Analysis, and the stemmer beside the reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search.engine.judged import judged

from agentworld_envs.domains.search.engine.stem import stem
from agentworld_envs.domains.search.engine.words import MAX_QUERY_TERMS, query_words, telling, terms

PORTER = {
    "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre", "plastered": "plaster",
    "motoring": "motor", "sing": "sing", "conflated": "conflat", "hopping": "hop", "falling": "fall", "filing": "file",
    "happy": "happi", "sky": "sky", "relational": "relat", "conditional": "condit", "digitizer": "digit",
    "operator": "oper", "feudalism": "feudal", "hopefulness": "hope", "formality": "formal", "electricity": "electr",
    "goodness": "good", "revival": "reviv", "adjustment": "adjust", "adoption": "adopt", "effective": "effect",
    "probate": "probat", "rate": "rate", "controlling": "control", "roll": "roll", "généré": "généré", "x1s": "x1s",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), PORTER.items())
def test_stems_of_the_paper(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_stems_of_the_reference() -> None:
    reference = pytest.importorskip("Stemmer").Stemmer("porter")
    words = {word for page in judged(50, 200).pages for word in page.text.split() if len(word) > 2}
    # The author's own later changes, which the reference left out.
    different = {word for word in words if not word.endswith(("bly", "logy", "logi"))}
    assert len(different) > 500
    assert [word for word in different if stem(word) != reference.stemWord(word)] == []


def test_terms() -> None:
    assert terms("The Rivers' O'Brien, 1,204 x-ray!") == ["the", "river", "o", "brien", "1", "204", "x", "rai"]
    assert terms("Zürich ＣＡＦÉ") == ["zurich", "cafe"]
    assert terms("東京") == ["東", "京", "東京"]
    assert terms("\ud800 a\x00b") == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "東京都の首都",
        "ソウル 서울특별시",
        "столица России",
        "عاصِمة مِصر",
        "राजधानी दिल्ली",
        "กรุงเทพมหานคร",
        "Αθήνα",
        "ירושלים",
    ],
)
def test_a_query_has_only_terms_that_its_page_has(text: str) -> None:
    assert query_words(text)
    assert set(query_words(text)) <= set(terms("before " + text + " after"))


@given(st.text())
def test_any_text(text: str) -> None:
    found = query_words(text)
    assert set(found) <= set(terms(text))
    assert all(term and not term.isspace() and " " not in term for term in found)


def test_queries_are_bounded() -> None:
    assert len(query_words(" ".join(f"word{number}" for number in range(50_000)))) == MAX_QUERY_TERMS
    assert len(query_words("東" * 10_000 + "".join(chr(0x4E00 + i) for i in range(5000)))) <= MAX_QUERY_TERMS


def test_stop_words() -> None:
    assert telling(query_words("who was the king of the hill")) == ["king", "hill"]
    assert telling(query_words("to be or not to be")) == ["to", "be", "or", "not"]
