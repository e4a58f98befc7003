"""Reading by chunks, and what of a page bears on a goal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.domains.search.engine.extract import cells_of, evidence, parts, sentences
from agentworld_envs.domains.search.engine.folder import _markdown
from agentworld_envs.domains.search.engine.records import make_page
from agentworld_envs.domains.search.pages import Page

PAGE = """Marie Vale was born in 1902 in Port Lorn. She founded the Lorn Observatory with Dr. J. Orr in 1931.
Her sister stayed at home.

## Awards
| Year | Prize |
|------|-------|
| 1930 | Star Prize |
| 1931 | Moon Medal |

## Works
- The Tide (1928)
- The Moon and Tides (1934)
1. A numbered item about whales

## 日本
東京は首都である。人口は約1400万人。
"""


def test_sentences() -> None:
    found = evidence(PAGE, "Where was Marie Vale born?")
    assert found.passages[0] == "Marie Vale was born in 1902 in Port Lorn."
    assert found.summary == "Marie Vale was born in 1902 in Port Lorn."


def test_rows_keep_their_header() -> None:
    found = evidence(PAGE, "Which prize did she get in 1931?")
    assert "| Year | Prize |\n| 1931 | Moon Medal |" in found.passages
    assert "Year: 1931; Prize: Moon Medal." in found.summary


def test_rows_of_an_infobox_are_about_the_page() -> None:
    box = "| Name | Velm |\n| --- | --- |\n| Population | 29,955 |\n| Mayor | Oda Brisk |\n"
    found = evidence(box, "population", title="Velm")
    assert found.passages == ("| Name | Velm |\n| Population | 29,955 |",)
    assert found.summary == "Population of Velm: 29,955."
    assert evidence(box, "population", title="Tolm").summary == "Name: Population; Velm: 29,955."


def test_items_and_other_scripts() -> None:
    assert evidence(PAGE, "numbered whales").passages == ("1. A numbered item about whales",)
    assert evidence(PAGE, "numbered whales").summary == "A numbered item about whales"
    assert evidence(PAGE, "人口").passages == ("人口は約1400万人。",)


def test_headings_count_a_little() -> None:
    assert evidence(PAGE, "awards 1930").summary == "Year: 1930; Prize: Star Prize."


def test_nothing() -> None:
    for text, goal in ((PAGE, "zebra"), (PAGE, ""), ("", "vale"), (PAGE, "!?")):
        assert evidence(text, goal).passages == ()
        assert evidence(text, goal).summary == ""


def test_passages_are_bounded_and_in_the_order_of_the_page() -> None:
    text = " ".join(f"The whale number {n} weighs {n} tons." for n in range(2000))
    found = evidence(text, "whale tons", 500)
    assert sum(map(len, found.passages)) <= 500
    assert list(found.passages) == sorted(found.passages, key=text.index)
    assert evidence("whale " * 10_000, "whale", 50).passages[0].startswith("whale whale")
    assert len(evidence("whale " * 10_000, "whale", 50).passages[0]) <= 50


def test_abbreviations_end_no_sentence() -> None:
    assert sentences("He met Dr. Orr and J. Vale. Then he left! 3 did not.") == [
        "He met Dr. Orr and J. Vale.",
        "Then he left!",
        "3 did not.",
    ]
    assert sentences('It cost 3.5 million. (Most of it.) "Why?" Nobody knew') == [
        "It cost 3.5 million.",
        "(Most of it.)",
        '"Why?"',
        "Nobody knew",
    ]
    assert all(len(sentence) <= 600 for sentence in sentences("word " * 5000))


def test_cells() -> None:
    assert cells_of("| a | b\\|c |  |") == ["a", "b|c", ""]


@given(st.text(), st.integers(1, 50))
def test_parts_are_the_page(text: str, size: int) -> None:
    found = parts(text, size)
    assert "".join(found) == text
    assert all(len(part) <= size for part in found)
    assert found == [""] or all(found)


def test_parts_end_where_the_text_does() -> None:
    text = "\n\n".join("Word number one and two. " * 10 for _ in range(20))
    assert all(part.endswith("\n\n") for part in parts(text, 800)[:-1])
    with pytest.raises(ValueError, match="positive"):
        parts("a", 0)


@given(st.text(), st.text(), st.integers(1, 300))
def test_any_text(text: str, goal: str, limit: int) -> None:
    found = evidence(text, goal, limit)
    assert all(len(passage) <= limit for passage in found.passages)
    assert len(found.summary) <= limit
    assert found == evidence(text, goal, limit)


UNITS = [
    " ",
    "#",
    "|",
    "-",
    "[",
    "(",
    "*",
    "<",
    "&",
    "\t",
    "# ",
    "- ",
    "| ",
    "|-",
    "-|",
    ". ",
    ".'",
    ": ",
    "1. ",
    "\n|",
    "\n-",
]


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_lines_take_no_time(unit: str) -> None:
    for before, after in (("", ""), ("x", "x"), ("# a", "b"), ("--", "x"), ("|--", "x"), ("a. ", "_"), ("- ", "x|")):
        text = before + unit * (100_000 // len(unit)) + after
        started = time.process_time()
        evidence(text, "goal x")
        _markdown(text, "name", "stem")
        make_page("name", None, "", text)
        assert time.process_time() - started < 1.0, (before, after)


@pytest.mark.parametrize("text", ["--", "---", "|---|---|", "| :--: | - |", "--|--", ":-- | --:", "|--"])
def test_rules(text: str) -> None:
    assert not evidence(f"{text}\nmore", "--").passages
    assert (
        evidence(f"| a | b |\n{'|' if '|' not in text else ''}{text}\n| pear | 2 |", "pear")
        .passages[0]
        .endswith("| pear | 2 |")
    )


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("# Velm\nText", "Velm", "Text"),
        ("\n \n#\tThe town ##  \n\nText", "The town", "Text"),
        ("# #\nText", "#", "Text"),
        ("#Velm\nText", "stem", "#Velm\nText"),
        ("## Velm\nText", "stem", "## Velm\nText"),
        ("#  \nText", "stem", "#  \nText"),
    ],
)
def test_first_headings(text: str, title: str, rest: str) -> None:
    page = _markdown(text, "name", "stem")
    assert isinstance(page, Page)
    assert (page.title, page.text) == (title, rest)
