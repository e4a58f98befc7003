"""What the tracker of simulated episodes tells the simulator."""

from __future__ import annotations

import pytest
from search.support import DOMAIN, FERRY, LONG, VELM, call, world

from agentworld_envs.backends.world_model import (
    GenerationRequest,
    ScriptedEngine,
    WorldModelBackend,
    WorldModelConfig,
)
from agentworld_envs.backends.world_model.codec import wrap
from agentworld_envs.domains.search.engine.extract import parts
from agentworld_envs.domains.search.engine.snippets import occurs
from agentworld_envs.domains.search.pages import Page
from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.domains.search.rendering import render_date
from agentworld_envs.domains.search.tracker import SearchTracker
from agentworld_envs.domains.search.world import PART_CHARACTERS

SEARCH = call("web_search", query="Velm town")


def test_recall_for_a_search_has_titles_and_no_facts() -> None:
    place = LIBRARY.fiction(0, "small")
    at = world()
    at.place = place
    tracker = SearchTracker(at)
    for entity in place.fiction.population.entities[::4]:  # type: ignore[union-attr]
        for query in (entity.name, f"{entity.noun} {entity.name} founded born population"):
            action = call("web_search", query=query)
            lines = tracker.recall(action, 100_000).splitlines()
            assert lines[0].startswith("pages that match")
            hits = place.index.search(query, 10)
            assert len(lines) == len(hits) + 1
            for line, hit in zip(lines[1:], hits, strict=True):
                page = place.index.page(hit.url)
                assert page is not None
                said = line.replace(page.title, "").replace(page.url, "").replace(render_date(page.date), "")
                assert not [
                    text for text in page.withheld if occurs(text, said) and text not in ("2048", "2049", "2050")
                ]


def test_recall_for_a_visit_is_the_slice_of_exactly_that_page() -> None:
    task = DOMAIN.tasks("train@1")[0]
    tracker = DOMAIN.tracker(task)
    place = LIBRARY.fiction(task.initial_state["world"]["seed"], "small")
    population = place.fiction.population  # type: ignore[union-attr]
    person, other = population.by_kind["person"][:2]
    [url] = [hit.url for hit in place.index.search(person.name, 10) if hit.title == person.name]
    text = tracker.recall(call("web_extractor", url=url), 100_000)
    assert text.startswith(f"page {url}: {person.name}, dated ")
    rows = [line for line in text.splitlines() if line.startswith("- ")]
    assert len(rows) >= len(person.values)
    assert all(row.startswith(f"- {person.name} | ") for row in rows)
    assert other.name not in {row.split(" | ")[0] for row in rows}
    for words in ("answer", "question", "correct", "goal", "solution"):
        assert words not in text.lower()
    short = tracker.recall(call("web_extractor", url=url), 300)
    assert len(short) <= 300
    assert text.startswith(short)
    assert tracker.recall(call("web_extractor", url=url), 0) == ""


def test_recall_over_a_corpus_is_the_part_or_the_evidence() -> None:
    tracker = SearchTracker(world())
    pieces = parts(LONG, PART_CHARACTERS)
    assert len(pieces) > 1
    for number, piece in enumerate(pieces, start=1):
        text = tracker.recall(call("web_extractor", url=FERRY, part=number), DOMAIN.recall_characters)
        head, *lines = text.splitlines()
        assert head.endswith(f"Its part {number} of {len(pieces)} says:")
        assert lines == [f"- {line}".rstrip() for line in piece.splitlines() if line.strip()]
    beyond = tracker.recall(call("web_extractor", url=FERRY, part=99), 10_000)
    assert beyond.endswith(f"It has no part 99, and {len(pieces)} in all.")
    told = tracker.recall(call("web_extractor", url=FERRY, goal="paragraph 17"), 10_000)
    assert "It says of the goal:" in told
    assert "Paragraph 17 of the long story." in told
    assert "zebra" not in tracker.recall(call("web_extractor", url=VELM, goal="zebra"), 10_000)


@pytest.mark.parametrize("limit", [0, 50, 400, 700, 3_000, 10_000])
def test_recall_is_shared_between_pages_and_queries(limit: int) -> None:
    big = [Page(str(n), f"https://a.example/{n}", f"Page {n}", f"The goat of {n}. " * 400) for n in range(4)]
    at = world(pages=[*big, Page("s", "https://a.example/s", "Short", "One goat.")])
    tracker = SearchTracker(at)
    tracker.observe(call("web_search", query="x"), "[1] https://b.example/\nTitle: B\nSnippet: S\nDate: N/A")
    visit = call("visit", url=[page.url for page in big] + ["https://a.example/s"], goal="goat")
    for action in (visit, call("search", query=["goat", "page", "short goat"]), call("web_search", query="goat")):
        text, full = tracker.recall(action, limit), tracker.recall(action, 10**6)
        assert len(text) <= limit
        heads = [line for line in full.splitlines() if line.startswith(("page", "pages that"))]
        assert [line for line in heads if line in text] == heads or limit < 700
        if limit == 3_000:
            assert not text.endswith("s:"), "each is told something"
            assert len(text) > 0.9 * min(limit, len(full))
    if limit == 3_000:
        told = tracker.recall(visit, limit).split("\npage ")
        sizes = [len(block) for block in told]
        assert len(sizes) == 5
        assert max(sizes[:4]) - min(sizes[:4]) < 100
        assert "One goat." in told[4]


def test_the_domain_says_how_much_is_recalled_unless_the_user_does() -> None:
    prompts: list[str] = []

    def keep(request: GenerationRequest) -> str:
        prompts.append(request.messages[-1].content)
        return wrap("No results for x.")

    for more in ({}, {"state_characters": 300}):
        backend = WorldModelBackend(ScriptedEngine(keep), WorldModelConfig.of(model="scripted:echo", **more))
        [session] = backend.open(DOMAIN, [DOMAIN.tasks("train:tiny")[0]], [0])
        queries = ["town", "river", "born", "founded", "mayor", "festival"]
        backend.step([session], [call("web_search", queries=queries)])
    assert prompts[0].count("pages that match") > 3
    assert len(prompts[0]) > 4_000 > len(prompts[1])


def test_recall_remembers_what_was_invented() -> None:
    at = world()
    tracker = SearchTracker(at)
    made_up = "[1] https://new.example/x\nTitle: Something new\nSnippet: A page that no index has.\nDate: N/A"
    assert tracker.contradictions(SEARCH, made_up) == []
    tracker.observe(SEARCH, made_up)
    assert "- Something new | https://new.example/x" in tracker.recall(call("web_search", query="other"), 10_000)
    visit = call("web_extractor", url="https://new.example/x")
    assert "shown before as 'Something new'" in tracker.recall(visit, 10_000)
    assert tracker.contradictions(visit, "# Something new\n\nText.") == []
    assert tracker.contradictions(visit, "# Other\n\nText.") == [
        "https://new.example/x is called 'Something new', and the answer calls it 'Other'"
    ]
    denied = at.act(visit)
    assert tracker.contradictions(visit, denied) == [
        "https://new.example/x exists, and the answer says that it does not"
    ]
