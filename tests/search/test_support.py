"""What speaks for answers over one's own corpus, and in which writings they are withheld."""

from __future__ import annotations

from typing import Any

import pytest
from search.support import LIST, ODA, PAGES, VELM

from agentworld_envs.domains.search.answers.dates import parse_date
from agentworld_envs.domains.search.briefing import withheld_of
from agentworld_envs.domains.search.engine import memory_index
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.places import Place
from agentworld_envs.domains.search.support import support_of
from agentworld_envs.domains.search.world import SearchWorld
from agentworld_envs.domains.search.writings import writings
from agentworld_envs.interface import Task

MORE = (*PAGES, Page("n", "https://c.example/n", "Census", "Tolm has 124,690 people, counted on 4 March 1953."))


def _support(answer: Any, question: str = "x", mask: tuple[str, ...] = (), **hidden: Any) -> tuple[bool, list[str]]:
    spec = answer if isinstance(answer, dict) else {"kind": "text", "value": answer}
    task = Task(id="t", domain="search", instruction=question, verifier={"answer": spec}, hidden=hidden)
    found = support_of(task, SearchWorld(Place(memory_index(MORE)), question, frozenset(mask)))
    assert found is not None
    return found


def test_an_answer_that_stands_on_a_page() -> None:
    assert _support("Oda Brisk", "Who is the mayor of Velm?") == (True, [f"the answer stands on {VELM}"])
    number = {"kind": "number", "value": 124690}
    assert _support(number) == (True, ["the answer stands on https://c.example/n"])
    assert _support({"kind": "date", "value": "1953-03-04"})[0]
    found, lines = _support({"kind": "list", "values": ["Oda Brisk", "Tolm"]}, "Who is the mayor of Velm?")
    assert found
    assert VELM in lines[0]
    table = {"kind": "table", "columns": [{"name": "a"}, {"name": "b"}], "key": ["a"], "rows": [["Tolm", "x"]]}
    assert _support(table)[0]


def test_an_answer_that_was_not_found() -> None:
    assert _support("Zed Quill") == (
        False,
        ["the answer's text was not found on a page that is not masked: 'Zed Quill'"],
    )
    assert not _support("Oda Brisk", mask=(VELM, ODA))[0]
    assert not _support("Bris")[0], "whole words"
    found, lines = _support({"kind": "list", "values": ["Tolm", "Zed Quill"]})
    assert (found, lines) == (
        False,
        ["1 of 2 parts of the answer was not found on a page that is not masked: 'Zed Quill'"],
    )
    assert _support({"kind": "boolean", "value": True})[0] is False
    assert _support("7") == (False, ["the answer is too short to be searched for"])


def test_supporting_pages() -> None:
    found, lines = _support("1642", mask=(VELM,), supporting=["Velm", "Nowhere"])
    assert found
    assert lines == [
        f"the answer stands on {LIST}",
        "supporting pages that are not in the index: 'Nowhere'",
        "all supporting pages are masked",
    ]
    assert _support("1642", supporting=[VELM]) == (True, [f"the answer stands on {VELM}"]), "an address is a name, too"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"kind": "number", "value": 124690}, {"124690", "124,690", "124 690"}),
        ({"kind": "number", "value": 1234.5}, {"1234.5", "1,234.5"}),
        ({"kind": "number", "value": -20000.0}, {"-20000", "-20,000"}),
        ({"kind": "number", "value": 1e290}, {"1e+290"}),
        ({"kind": "text", "value": "124690"}, {"124690", "124,690"}),
        ({"kind": "date", "value": "1953-03-04"}, {"1953-03-04", "4 March 1953", "March 4, 1953", "4 Mar 1953"}),
        ({"kind": "date", "value": "1953-03"}, {"1953-03", "March 1953"}),
        ({"kind": "date", "value": "1953"}, {"1953"}),
        ({"kind": "text", "value": "4 March 1953", "aliases": ["x"]}, {"1953-03-04", "March 4, 1953", "x"}),
    ],
)
def test_writings(spec: dict[str, Any], expected: set[str]) -> None:
    (found,) = writings(spec)
    assert expected <= set(found)
    assert str(spec["value"]) == found[0] or spec["kind"] == "number"
    if spec["kind"] == "date":
        assert all(parse_date(spec["value"])[0] in parse_date(text) for text in found)


def test_numbers_beyond_all_use() -> None:
    assert writings({"kind": "number", "value": 10**5000}) == []


def test_snippets_hide_all_writings() -> None:
    for spec in ({"kind": "number", "value": 124690}, {"kind": "date", "value": "1953-03-04"}):
        task = Task(id="t", domain="search", instruction="x", verifier={"answer": spec})
        (hit,) = memory_index(MORE).search("people of Tolm counted", 1, withheld=withheld_of(task))
        assert hit.url == "https://c.example/n"
        assert ("124,690" in hit.snippet) == (spec["kind"] == "date")
        assert ("1953" in hit.snippet) == (spec["kind"] == "number")
