"""Snippets show why a page matched, and nothing that is withheld."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentworld_envs.domains.search.engine.snippets import ELISION, LENGTH, elided, occurs, sealed, snippet

LONG = (
    "Nothing to see here. " * 60 + "The lighthouse of Port Lorn was built by Ana Vale in 1,204. " + "More text. " * 90
)


def test_shows_where_it_matched() -> None:
    shown = snippet(LONG, "who built the lighthouse?")
    assert "lighthouse of Port Lorn was built by Ana Vale" in shown
    assert shown.startswith("... ")
    assert shown.endswith(" ...")


def test_shows_where_most_words_are_together() -> None:
    text = "lighthouse " + "x " * 400 + "Ana Vale made a lighthouse in Lorn. " + "y " * 400 + "Vale"
    assert "Ana Vale made a lighthouse" in snippet(text, "Vale lighthouse Lorn")


def test_shows_other_forms_of_a_word_and_other_scripts() -> None:
    assert "was happily" in snippet("a " * 400 + "It was happily ever after. " + "b " * 400, "happiness")
    assert "日本の首都" in snippet("あ" * 900 + "東京は日本の首都である。" + "い" * 900, "日本の首都")


def test_the_beginning_when_nothing_is_found() -> None:
    assert snippet(LONG, "zebra").startswith("Nothing to see here.")
    assert snippet("", "zebra") == ""


@pytest.mark.parametrize(
    ("text", "withheld", "shown"),
    [
        ("Built in 1,204 by her.", "1,204", "Built in [...] by her."),
        ("Built in 1,204 by her.", "204", "Built in 1,204 by her."),
        ("It is 3.5 and 3.57.", "3.5", "It is [...] and 3.57."),
        ("It is 1904.", "190", "It is 1904."),
        ("Born in port\nLORN, she", "Port Lorn", "Born in [...], she"),
        ("See **Ana** *Vale* now", "Ana Vale", "See **[...]* now"),
        ("See [Ana Vale](https://a.org) now", "ana vale", "See [[...]](https://a.org) now"),
        ("Lornville is near Lorn.", "Lorn", "Lornville is near [...]."),
        ("首都は東京都です", "東京", "首都は[...]都です"),
        ("Cost: $12 (about).", "$12", "Cost: [...] (about)."),
    ],
)
def test_withheld(text: str, withheld: str, shown: str) -> None:
    assert elided(text, [withheld]) == shown
    assert snippet(text, "cost", [withheld]) == " ".join(shown.split())


def test_not_withheld_from_those_who_know_it() -> None:
    assert "Ana Vale" in snippet(LONG, "lighthouse of ANA vale", ["Ana Vale"])
    assert ELISION in snippet(LONG, "lighthouse of Anavale", ["Ana Vale"])
    assert occurs("Ana Vale", "ana\n vale?")
    assert not occurs("", "anything")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Of Ana Vale, Port Lorn and **1,204** men.", "Of [...]** men."),
        ("Led by Ana Vale (1,204-1,204), Ana Vale and Port Lorn (since 1,204).", "Led by [...] (since [...])."),
        ("Led by Ana Vale, Bo Carr (1,204-1,204), Port Lorn.", "Led by [...], Bo Carr ([...]), [...]."),
        ("| Town | Built |\n| --- | :---: |\n| Port Lorn | 1,204 |\n| Ana Vale | 1,204 |", "| Town | Built | [...] |"),
        ("| Town | Built |\n| --- | --- |\n| Ryde | 1,204 |", "| Town | Built | Ryde | [...] |"),
        ("| Ana Vale | -5 | | -- | 7 |", "| [...] | -5 | 7 |"),
        ("See Ana Vale. Port Lorn is far.", "See [...]. [...] is far."),
    ],
)
def test_nothing_but_withheld_texts_is_one_elision(text: str, shown: str) -> None:
    assert snippet(text, "cost", ["Ana Vale", "Port Lorn", "1,204"]) == shown


def test_tables_stay_as_they_are_where_nothing_is_withheld() -> None:
    assert snippet("| Town | Built |\n| --- | --- |", "town", ["Ana Vale"]) == "| Town | Built | | --- | --- |"


def test_of_equal_windows_that_with_most_to_read() -> None:
    secrets = "The tower cost 1,204, by 1,204 men. " + "He paid 1,204. " * 30
    plain = "The tower is red and stands on a hill above the quiet sea. "
    assert plain.strip() in snippet(secrets + plain + "Some more of it. " * 40, "tower", ["1,204"])
    assert snippet(plain * 4 + secrets + plain, "tower", ["1,204"]).startswith(plain.strip())


def test_a_heading_is_shown_with_its_row() -> None:
    rows = "".join(f"| Place {'abcdefghij'[i]} | 1,204 |\n" for i in range(10))
    names = [f"Place {letter}" for letter in "abcdefghij"]
    shown = snippet("Filler. " * 9 + "\n| Town | Built |\n| --- | --- |\n" + rows, "place h", [*names, "1,204"])
    assert "| Town | Built | [...] | Place h | [...] |" in shown


@pytest.mark.parametrize("before", [0, 3_000, 15_000])
def test_long_pages_are_marked_on_both_sides(before: int) -> None:
    text = "dull words " * before + "The lighthouse of Ana Vale is old. " + "dull words " * 9_000
    shown = snippet(text, "lighthouse", ["Ana Vale"])
    assert "The lighthouse of [...] is old." in shown
    assert shown.startswith("... ") == (before > 0)
    assert shown.endswith(" ...")
    assert len(shown) <= LENGTH + 8


@given(
    st.lists(st.sampled_from(["Ana", "Vale", "Ana Vale", "|", "---", "and", "1,204", "(", ")", "-", "**", "\n", "so"]))
)
def test_what_is_left_out_brings_no_withheld_text_together(words: list[str]) -> None:
    shown = snippet(" ".join(words), "so", ["Ana Vale", "1,204"])
    assert not occurs("Ana Vale", shown)
    assert not occurs("1,204", shown)


YEARS = " ".join(map(str, range(1800, 2060)))


@pytest.mark.parametrize(
    ("query", "opened"),
    [
        ("Port Lorn lighthouse", []),
        ("Port Lorn 2009", ["2009"]),
        ("Port Lorn 2008 2009", ["2009"]),
        ("Port Lorn 2008 2009 2009 2009", ["2009"]),
        ("Port Lorn 2007 2008 2009", []),
        ("Port Lorn 2007,2008/2009;2010", []),
        (f"Port Lorn launched {YEARS}", []),
        ("Port Lorn 7 May 1930", ["7 May 1930"]),
        ("Port Lorn 7 May 1930 and 8 May 1930", ["7 May 1930"]),
        ("Port Lorn 6 May 1930, 7 May 1930, 8 May 1930", []),
        ("Port Lorn 1930-05-07, May 8, 1931; 2009", []),
        ("Port Lorn 2010 2009 ana vale", ["2009", "Ana Vale"]),
        ("Port Lorn 2010 2009 2008 ana vale", ["Ana Vale"]),
        ("Ana Vale, Bo Marr 2009", ["2009", "Ana Vale", "Bo Marr"]),
        ("Ana Vale, Bo Marr, copper 2009", ["2009"]),
        ("Ana Vale " + " ".join(f"Name{n}x Other{n}y".replace(str(n), chr(97 + n)) for n in range(20)), []),
    ],
)
def test_who_lists_candidates_is_told_nothing(query: str, opened: list[str]) -> None:
    withheld = ["2009", "7 May 1930", "Ana Vale", "Bo Marr", "copper"]
    text = "Port Lorn: 2009; 7 May 1930; Ana Vale; Bo Marr; copper."
    assert sealed(query, withheld) == [one for one in withheld if one not in opened]
    shown = snippet(text, query, withheld)
    assert [one for one in withheld if occurs(one, shown)] == opened
    assert [one for one in withheld if occurs(one, elided(text, withheld, query))] == opened


@given(st.integers(0, 600), st.integers(1, 40), st.integers(0, 3))
def test_no_cut_shows_half_of_what_is_withheld(before: int, count: int, spaces: int) -> None:
    secret = "Quillon" + " " * (1 + spaces) + "Zephyrine Marrow"
    text = "a " * before + ("lighthouse " + secret + " ") * count + "b " * 300
    shown = snippet(text, "lighthouse", ["Quillon Zephyrine Marrow"])
    assert "Quillon" not in shown
    assert "Zephyrine" not in shown
    assert "Marrow" not in shown


@given(st.text(), st.text(), st.lists(st.text(max_size=8), max_size=4))
def test_any_text(text: str, query: str, withheld: list[str]) -> None:
    shown = snippet(text, query, withheld)
    assert len(shown.splitlines()) <= 1
    assert len(shown) <= LENGTH + 8 + LENGTH * len(ELISION)
    first = elided(text, withheld, query)
    assert isinstance(first, str)
