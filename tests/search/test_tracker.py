"""The tracker of simulated episodes: what it answers, and what it notices."""

from __future__ import annotations

import json
import time

import pytest
from search.support import DOMAIN, FERRY, LIST, ODA, VELM, call, parser, world

from agentworld_envs.backends.world_model import (
    GenerationRequest,
    ScriptedEngine,
    WorldModelBackend,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.domains.search.rendering import render_date
from agentworld_envs.domains.search.slices import wrong_statements
from agentworld_envs.domains.search.tracker import SearchTracker
from agentworld_envs.interface import Action, Task

SEARCH, LITE = call("web_search", query="Velm town"), call("search", query=["Velm town", "sailor"])
PAGE, PART = call("web_extractor", url=VELM), call("web_extractor", url=FERRY, part=2)
GOAL, VISIT = call("web_extractor", url=VELM, goal="founded"), call("visit", url=[VELM, ODA], goal="founded")
MISSING = call("web_extractor", url="https://a.example/none")
ALL = (SEARCH, LITE, PAGE, PART, GOAL, VISIT, MISSING)


@pytest.mark.parametrize("action", ALL, ids=lambda action: action.command[:60])
def test_what_was_shown_stays(action: Action) -> None:
    at = world()
    tracker = SearchTracker(at)
    assert tracker.answer(action) is None
    text = at.act(action)
    assert tracker.contradictions(action, text) == []
    tracker.observe(action, text)
    assert tracker.answer(action) == text
    twin = tracker.fork()
    assert twin.answer(action) == text
    twin.observe(SEARCH, "Nothing of use.")
    assert twin.evidence()["queries"] == tracker.evidence()["queries"] + 1


def test_pages_are_known_by_their_canonical_address_and_goal() -> None:
    at = world()
    tracker = SearchTracker(at)
    tracker.observe(PAGE, at.act(PAGE))
    assert tracker.answer(call("web_extractor", url=f"HTTPS://A.Example{VELM[17:]}/#x")) == at.act(PAGE)
    assert tracker.answer(call("web_extractor", url=VELM, part=1)) == at.act(PAGE)
    for other in (GOAL, VISIT, call("web_extractor", url=VELM, part=2), call("web_extractor", url=LIST)):
        assert tracker.answer(other) is None
    for url in (VELM, ODA):
        one = call("visit", url=[url], goal="founded")
        tracker.observe(one, at.act(one))
    assert tracker.answer(VISIT) == at.act(VISIT), "put together from visits of one page each"


def test_a_denial_has_the_spelling_of_now() -> None:
    at = world()
    tracker = SearchTracker(at)
    spellings = ("https://a.example/none", "HTTPS://A.example/none/", "https://a.example/none#x")
    for make in (
        lambda url: call("web_extractor", url=url),
        lambda url: call("web_extractor", url=url, goal="founded"),
        lambda url: call("visit", url=[VELM, url], goal="founded"),
    ):
        first = make(spellings[0])
        assert tracker.answer(first) is None
        tracker.observe(first, at.act(first))
        for url in spellings:
            assert tracker.answer(make(url)) == at.act(make(url))
            assert tracker.fork().answer(make(url)) == at.act(make(url))


def test_what_is_in_no_layout_is_asked_for_again() -> None:
    tracker = SearchTracker(world())
    for action in ALL:
        for text in ("Error 503: unavailable", "", "Success! The task is done.", "I do not know."):
            tracker.observe(action, text)
            assert tracker.answer(action) is None
    assert tracker.evidence()["answer"] is None


def test_notes_and_answer_are_codes_own() -> None:
    tracker, at = SearchTracker(world()), world()
    for arguments in (
        {"operation": "add", "dict": {"a": 1}},
        {"operation": "retrieve", "key_list": ["a", "b"]},
        {"operation": "remove_all"},
        {"operation": "retrieve_all"},
    ):
        action = call("dict_memory", **arguments)
        answer = tracker.answer(action)
        assert answer == tracker.answer(action), "asking changes nothing"
        assert answer == at.act(action)
        tracker.observe(action, answer)
    done = call("answer", answer="1642")
    assert tracker.answer(done) == at.act(done)
    assert not tracker.ended
    tracker.observe(done, "whatever it says")
    assert tracker.ended
    assert tracker.evidence() == at.evidence()


@pytest.mark.parametrize("name", ["train:tiny", "train:tiny+masked"])
def test_it_equals_the_world_on_a_perfect_simulator(name: str) -> None:
    source = DOMAIN.tasks(name)
    for index in range(0, 24, 2):
        task = source[index]
        at, tracker = DOMAIN.world(task), DOMAIN.tracker(task)
        plan = [parser().parse(text) for text in DOMAIN.expert(task, at)]
        for action in (*plan[:-1], *plan):
            assert isinstance(action, Action)
            text = at.act(action)
            known = tracker.answer(action)
            assert known in (None, text)
            assert tracker.contradictions(action, text) == []
            tracker.observe(action, text)
            assert tracker.evidence() == at.evidence()
            assert tracker.ended == at.ended
            assert DOMAIN.verify(task, tracker.evidence()) == DOMAIN.verify(task, at.evidence())
        assert DOMAIN.verify(task, tracker.evidence()).success


def test_snippets_that_leak() -> None:
    at = world()
    tracker = SearchTracker(at)
    honest = at.act(SEARCH)
    leaking = honest.replace("founded in [...]", "founded in 1642")
    assert honest != leaking
    found = tracker.contradictions(SEARCH, leaking)
    assert f"the snippet of {VELM} shows '1642', which only the page itself tells" in found
    asked = call("web_search", query="town founded in 1642")
    assert tracker.contradictions(asked, at.act(asked)) == [], "what was asked for may be repeated"
    lite = at.act(LITE).replace("founded in [...]", "founded in 1642")
    assert any("shows '1642'" in line for line in tracker.contradictions(LITE, lite))
    guessing = call("web_search", query="town founded in 1640 1641 1642")
    assert "1642" not in at.act(guessing).replace("query", "").split("Snippet:", 1)[1]
    assert tracker.contradictions(guessing, at.act(guessing)) == []
    assert tracker.contradictions(guessing, leaking) == found, "the rule is the search engine's"
    longer = call("web_search", query="Velm")
    shown = f"[1] {VELM}\nTitle: Velm\nSnippet: A crown is 0.1642 marks.\nDate: Apr 7, 2031"
    assert tracker.contradictions(longer, shown) == [], "a number within a longer one is another number"
    strict = SearchTracker(world(withheld=["trees"]))
    told = strict.contradictions(longer, shown.replace("marks", "trees"))
    assert told == [f"the snippet of {VELM} shows 'trees', which only the page itself tells"]


def test_titles_dates_and_denials() -> None:
    at = world()
    tracker = SearchTracker(at)
    text = at.act(SEARCH)
    assert tracker.contradictions(SEARCH, text.replace("Title: Velm\n", "Title: Tolm\n")) == [
        f"{VELM} is called 'Velm', and the answer calls it 'Tolm'"
    ]
    assert tracker.contradictions(SEARCH, text.replace("Apr 7, 2031", "Apr 8, 2031")) == [
        f"{VELM} is dated Apr 7, 2031, and the answer dates it 'Apr 8, 2031'"
    ]
    missing = at.act(MISSING).replace("https://a.example/none", VELM)
    assert tracker.contradictions(PAGE, missing) == [f"{VELM} exists, and the answer says that it does not"]
    assert tracker.contradictions(PAGE, "# Tolm\n\nText") == [
        f"{VELM} is called 'Velm', and the answer calls it 'Tolm'"
    ]
    assert tracker.contradictions(PAGE, "gibberish") == []
    assert tracker.contradictions(SEARCH, "gibberish") == []
    broken = "[1] nowhere\nTitle: X\nSnippet: S\nDate: N/A"
    assert tracker.contradictions(SEARCH, broken) == ["nowhere is no address"]


def test_statements_against_the_database() -> None:
    task = DOMAIN.tasks("train@1")[0]
    at, tracker = DOMAIN.world(task), DOMAIN.tracker(task)
    place = LIBRARY.fiction(task.initial_state["world"]["seed"], "small")
    population = place.fiction.population  # type: ignore[union-attr]
    checked = 0
    for entity in population.entities[::5]:
        [url] = [hit.url for hit in place.index.search(entity.name, 10) if hit.title == entity.name]
        action = call("web_extractor", url=url)
        text = at.act(action)
        assert tracker.contradictions(action, text) == []
        for relation in entity.relations():
            if relation.type in ("year", "number"):
                value = entity.values[relation.name]
                right = f"{value:,}" if relation.type == "number" else str(value)
                wrong = f"{value + 1:,}" if relation.type == "number" else str(value + 1)
                doctored = text.replace(f"| {right} |", f"| {wrong} |")
                if doctored != text:
                    found = tracker.contradictions(action, doctored)
                    assert any(f"{value + 1} is stated, and it is {value}" in line for line in found), found
                    checked += 1
            if relation.type == "entity":
                value = entity.values[relation.name]
                other = next(e for e in population.by_kind[relation.target] if e is not value and e is not entity)
                doctored = text.replace(f"| {value.name} |", f"| {other.name} |")
                if doctored != text:
                    assert any(other.name in line for line in tracker.contradictions(action, doctored))
                free = text.replace(f"| {value.name} |", f"| {value.name}, as everybody knows |")
                assert tracker.contradictions(action, free) == [], "free words may mean the right thing"
    assert checked > 20


def test_a_text_that_names_everything_takes_no_longer() -> None:
    place = LIBRARY.fiction(0, "medium")
    population = place.fiction.population  # type: ignore[union-attr]
    names = [entity.name for entity in population.entities]
    lines = "\n".join(f"{name} is known to all." for name in names)
    for text in (lines, " ".join(names), "| Name | Population |\n| --- | --- |\n" + lines):
        text = (text + "\n") * (1 + 60_000 // len(text))
        began = time.perf_counter()
        assert wrong_statements(place, text) == []
        assert time.perf_counter() - began < 3
    town = next(e for e in population.entities if "population" in e.values)
    table = f"Text.\n\n| Name | Population |\n| --- | --- |\n| {town.name} | 5 |\n"
    assert len(wrong_statements(place, lines[:20_000] + "\n" + table)) == 1, "a row with the head of its table"


def test_a_simulator_that_leaks_is_flagged_and_asked_again() -> None:
    task = DOMAIN.tasks("train@1:tiny")[0]
    place = LIBRARY.fiction(task.initial_state["world"]["seed"], "tiny")
    page = place.index.page(place.index.search("town", 1)[0].url)
    assert page is not None
    answers = [
        f"[1] {page.url}\nTitle: {page.title}\nSnippet: It is {text}.\nDate: {render_date(page.date)}"
        for text in (page.withheld[0], "[...]")
    ]
    prompts: list[str] = []

    def leak_once(request: GenerationRequest) -> str:
        prompts.append(request.messages[-1].content)
        return wrap(answers[min(len(prompts) - 1, 1)])

    config = WorldModelConfig.of(model="scripted:echo", retry_contradictions=True)
    backend = WorldModelBackend(ScriptedEngine(leak_once), config)
    [session] = backend.open(DOMAIN, [task], [0])
    [transition] = backend.step([session], [call("web_search", query="town")])
    assert transition.observation == answers[1]
    assert len(prompts) == 2
    assert f"{page.title} | {page.url}" in prompts[0]
    assert page.withheld[0] not in prompts[0]
    lazy = WorldModelBackend(ScriptedEngine(lambda _: wrap(answers[0])), WorldModelConfig.of(model="scripted:echo"))
    [session] = lazy.open(DOMAIN, [task], [0])
    [transition] = lazy.step([session], [call("web_search", query="town")])
    assert any("which only the page itself tells" in line for line in transition.flags["contradictions"])
    [again] = lazy.step([session], [call("web_search", query="town")])
    assert again.observation == transition.observation


def test_nothing_of_the_task_is_in_the_system_prompt() -> None:
    tasks = [DOMAIN.tasks("train")[index] for index in range(6)]
    specs = [DOMAIN.simulation(task) for task in tasks]
    assert len({spec.system for spec in specs}) == 1
    assert all(spec.first_observation == task.instruction for spec, task in zip(specs, tasks, strict=True))
    assert specs[0].prompt_version == "search/1"
    assert specs[0].action_fence == "json"
    assert "{" + "system" + "}" not in specs[0].system


def test_the_wire_is_a_tool_call() -> None:
    task = Task(id="t", domain="search", instruction="")
    bare = parser().parse("Velm \ud800 town")
    assert isinstance(bare, Action)
    sent = DOMAIN.wire(task, bare)
    assert json.loads(sent) == {"name": "web_search", "arguments": {"query": "Velm ? town"}}
    sent.encode("utf-8")


@pytest.mark.parametrize("action", [*ALL, call("web_search", query="zzz"), call("search", query=["sailor", "x"])])
def test_an_answer_begins_as_the_frame_says(action: Action) -> None:
    at = world()
    text = at.act(action)
    frame = SearchTracker(at).frame(action)
    if frame is None:
        assert text.startswith(("404", "No results"))
    else:
        assert text.startswith(frame.lead)
        assert frame.stop not in text
        assert frame.tail == ""
    assert SearchTracker(world(mask=[VELM])).frame(PAGE) is None
