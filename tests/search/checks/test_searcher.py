"""The searcher on pages written by hand: what it finds, how far it goes, and what it does with hostile ones."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from search.checks.coast import PAGES, answer, ask

from agentworld_envs.agents import Searcher, build_agent
from agentworld_envs.agents.searcher_candidates import candidates
from agentworld_envs.agents.searcher_forms import iso_date, number
from agentworld_envs.agents.searcher_group import GroupQuestion
from agentworld_envs.agents.searcher_question import Question
from agentworld_envs.agents.searcher_reading import statements
from agentworld_envs.agents.searcher_words import names_in, stem
from agentworld_envs.interface import ConfigError, Failure

MAIN = "https://coast.example/kestrel-bay"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who is the mayor of Kestrel Bay?", "Tom Rook"),
        ("How many people live in Kestrel Bay?", "12,400"),
        ("When was Ann Bell born?", "1902-03-03"),
        ("In which year was Tarn Works founded?", "1877"),
        ("Where was Ann Bell born?", "Kestrel Bay"),
        ("In which year was the organisation that employs Ann Bell founded?", "1877"),
        ("What is the population of the town where Ann Bell was born?", "12,400"),
        ("Where was the mayor of Kestrel Bay born?", "Dell"),
        ("Who was born earlier, Ann Bell or Tom Rook?", "Ann Bell"),
        ("Who is younger, Ann Bell or Tom Rook?", "Tom Rook"),
        ("Who was elected in Kestrel Bay?", "Tom Rook"),
    ],
)
def test_answers_by_the_words_of_the_pages(question: str, expected: str) -> None:
    assert answer(question) == expected


def test_finds_a_masked_fact_where_else_it_is_told_and_believes_the_newest() -> None:
    assert answer("Who is the mayor of Kestrel Bay?", masked=(MAIN,)) == "Tom Rook"
    assert answer("How many people live in Kestrel Bay?", masked=(MAIN,)) == "11,900"


def test_answers_two_questions_at_once() -> None:
    found = answer("Who is the mayor of Kestrel Bay, and in which year was Tarn Works founded?")
    assert found == '["Tom Rook", "1877"]'


def test_tries_again_when_a_tool_fails_for_a_while() -> None:
    question = "Who is the mayor of Kestrel Bay?"
    assert answer(question, failing=2) == "Tom Rook"
    steps = ask(question, failing=100)
    assert steps[-1][0] == "answer"
    assert len(steps) < 20


@pytest.mark.parametrize("visits", [0, 1, 3, 8])
def test_opens_no_more_pages_than_it_may(visits: int) -> None:
    tools = [tool for tool, _ in ask("Where was the mayor of Kestrel Bay born?", Searcher(visits))]
    assert tools.count("web_extractor") <= visits
    assert tools[-1] == "answer"


def test_does_the_same_again_and_at_a_temperature_by_its_seed() -> None:
    question = "Who is the mayor of Kestrel Bay?"
    assert ask(question) == ask(question, seed=7)
    runs = [ask(question, Searcher(2, temperature=1.0, seed=3), seed=seed) for seed in range(8)]
    assert runs == [ask(question, Searcher(2, temperature=1.0, seed=3), seed=seed) for seed in range(8)]
    assert any(run != runs[0] for run in runs)


def test_with_addresses_it_opens_those_pages_and_no_others() -> None:
    direct = Searcher(8, addresses={"Kestrel Bay": MAIN})
    steps = ask("Who is the mayor of Kestrel Bay?", direct)
    assert steps == [("web_extractor", {"url": MAIN}), ("answer", {"answer": "Tom Rook"})]
    assert answer("Who is the mayor of Kestrel Bay?", direct, masked=(MAIN,)) == "unknown"


@pytest.mark.parametrize(
    "question", ["", "?", "x" * 100_000, "漢字はどこですか?", "Who is 'of the'?", "\0\ud800 | who?", "List all of it."]
)
def test_anything_can_be_asked(question: str) -> None:
    steps = ask(question)
    assert not isinstance(steps[-1], Failure)
    assert steps[-1][0] == "answer"


@pytest.mark.parametrize(
    "page",
    [" " * 30_000, "|" * 30_000, "a:" * 15_000, "A " * 15_000, "- " * 15_000, "(Part 1 of 9. The next", "1," * 9_000],
)
def test_hostile_pages_are_read_in_time(page: str) -> None:
    started = time.perf_counter()
    for statement in statements(page, "A", "2031"):
        for kind in ("name", "date", "number"):
            candidates(statement.text, kind)  # type: ignore[arg-type] - each is a kind
    assert time.perf_counter() - started < 2.0


FRAGMENTS = [
    *(
        "| Name | X |\n",
        "| --- | --- |\n",
        "|||\n",
        "# ",
        "**",
        "?",
        "As of 2031: ",
        "(1990-",
        "since 2001)",
        "-",
        ": ",
    ),
    *(
        "12,400",
        "3 May 1902",
        "Who ",
        "the mayor of ",
        "Kestrel Bay",
        " and ",
        "how many different ",
        "among the ",
        "\n\n",
    ),
    *("[1] https://a.example/b\nTitle: A\nSnippet: ", "[2] x\nTitle: Ann Bell\nSnippet: s", "\nDate: N/A", " whose "),
    *(
        '(Part 1 of 9. The next one: "part": 2.)',
        "\0",
        "\ud800",
        "\u202e",
        "that lies ",
        " where ",
        "difference between ",
    ),
    *(
        "Make a table of ",
        "List all ",
        "in 2008?",
        "was born on ",
        " directly followed ",
        " as ",
        "in the year of the ",
    ),
]


def test_anything_can_be_answered() -> None:
    rng = np.random.default_rng(0)
    for round_ in range(150):
        texts = ["".join(rng.choice(FRAGMENTS, size=int(rng.integers(1, 25)))) for _ in range(80)]
        agent = Searcher(int(rng.integers(0, 9)), temperature=float(round_ % 2))
        agent.reset(0, texts[0], {}, SimpleNamespace(seed=round_))  # type: ignore[arg-type] - nothing else is read
        decisions = [agent.act([0], [text], [{}])[0] for text in texts]
        assert not any(isinstance(decision, Failure) for decision in decisions), (round_, decisions)
        assert json.loads(str(decisions[-1]))["name"] == "answer"


def test_a_row_speaks_under_every_head_of_its_table() -> None:
    found = statements(PAGES[4].text, PAGES[4].title)
    assert [(s.label, s.value) for s in found[:3]] == [
        ("Town", "Kestrel Bay"),
        ("Mayor", "Una Dray"),
        ("Population", "11,900"),
    ]
    assert all(s.about("Kestrel Bay") == 1.0 for s in found[:3])
    assert not any(s.about("Kestrel Bay") for s in found[3:])


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("on 3 March 1902", "1902-03-03"),
        ("Apr 7, 2031", "2031-04-07"),
        ("in May 2031", "2031-05"),
        ("of 1877", "1877"),
        ("2031-04-07", "2031-04-07"),
        ("never", ""),
    ],
)
def test_dates(text: str, iso: str) -> None:
    assert iso_date(text) == iso


def test_numbers_names_and_stems() -> None:
    assert [number(t) for t in ("12,400 people", "3.5 million", "none", "-4")] == [12_400.0, 3.5e6, None, -4.0]
    assert names_in('Who wrote "Blue Ash" with Ann Bell\'s brother in the Hall of Ashes?') == (
        "Blue Ash",
        "Ann Bell",
        "Hall of Ashes",
    )
    assert stem("founded") == stem("founder")
    assert stem("born") == stem("birthplace")


@pytest.mark.parametrize(
    ("question", "units"),
    [
        ("What was Ann Bell's occupation?", ["occupation"]),
        ("Where was the author of 'Blue Ash' born?", ["author", "born"]),
        ("In which year was the organisation that employs Ann Bell founded?", ["employs organisation", "founded year"]),
        (
            "In what year was the town where the founder of the publisher of Blue Ash lives granted its charter?",
            ["publisher", "founder", "town lives", "chartered year"],
        ),
        ("Who founded the publisher of Blue Ash?", ["publisher", "founded"]),
        ("Who is honoured as the patron of Dell?", ["patron honoured"]),
    ],
)
def test_the_grammar_of_a_question_tells_its_steps(question: str, units: list[str]) -> None:
    assert [" ".join(word.text for word in unit) for unit in Question.read(question).units] == units


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which of the members of the Coast Guild was born last?", "Una Dray"),
        ("Which of the members of the Coast Guild were born after 1905? Name all of them.", '["Tom Rook", "Una Dray"]'),
        ("Who are the members of the Coast Guild?", '["Ann Bell", "Tom Rook", "Una Dray"]'),
        ("Which of the members of the Coast Guild are known by more than 100 letters?", '["Una Dray"]'),
    ],
)
def test_questions_about_a_group_ask_each_member(question: str, expected: str) -> None:
    assert answer(question) == expected


@pytest.mark.parametrize(
    ("text", "operation", "columns", "sign"),
    [
        ("Which of the fellows of X Bank is the cheapest?", "extreme", ["cheapest"], -1),
        ("Which of the towns on the route of X Tour was granted its charter last?", "extreme", ["chartered"], 1),
        ("Which of the fellows of X Bank were born before 1950?", "filter", ["born"], -1),
        ("Take the number of pages of each of the works of X Bell and add them up: what?", "sum", ["number pages"], 1),
        (
            "Make a table of the works of X Bell. Columns: name, born, letters kept.",
            "table",
            ["born", "letters kept"],
            1,
        ),
        ("Who founded X Bank?", None, [], 1),
    ],
)
def test_what_is_asked_of_a_group(text: str, operation: str | None, columns: list[str], sign: int) -> None:
    found = GroupQuestion.read(text)
    if found is None:
        assert operation is None
        return
    assert (found.operation, found.sign) == (operation, sign)
    assert [" ".join(word.text for word in unit) for _, unit in found.columns] == columns
    assert found.answer({}) == ""


def test_members_of_whom_nothing_is_known_are_left_out() -> None:
    values = {"A": ["1,200"], "B": [""], "C": ["300"]}
    total = GroupQuestion.read("Take the price of each of the works of X Bell and add them up: what is the total?")
    least = GroupQuestion.read("Which of the works of X Bell is the cheapest?")
    assert total is not None
    assert least is not None
    assert total.answer(values) == "1500"
    assert least.answer(values) == "C"


@pytest.mark.parametrize("wrong", [{"visits": -1}, {"temperature": -0.1}, {"seed": -1}, {"temperature": float("nan")}])
def test_refuses_numbers_out_of_range(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="Expected"):
        Searcher(**wrong)


def test_is_built_by_name() -> None:
    agent = build_agent("searcher", visits=3, temperature=0.5, seed=1)
    assert isinstance(agent, Searcher)
    assert (agent.visits, agent.temperature) == (3, 0.5)
