"""What is masked is in nothing that an agent or a simulator gets to see."""

from __future__ import annotations

import pytest
from search.support import DOMAIN, FERRY, LIST, ODA, VELM, call, world

from agentworld_envs.domains.search.places import LIBRARY
from agentworld_envs.domains.search.rendering import not_found
from agentworld_envs.domains.search.tracker import SearchTracker
from agentworld_envs.domains.search.world import SearchWorld


def test_no_tool_shows_a_masked_page() -> None:
    at = world(mask=[VELM, ODA])
    for query in ("Velm", "harbour town founded 1642", "Oda Brisk sailor", VELM, "mayor"):
        for action in (
            call("web_search", query=query),
            call("web_search", queries=[query, "Velm"]),
            call("search", query=[query]),
        ):
            text = at.act(action)
            assert f"] {VELM}\n" not in text
            assert f"({VELM})" not in text
            assert "Title: Velm\n" not in text
            assert ODA not in text
    for url in (
        VELM,
        VELM + "/",
        VELM + "#x",
        VELM.upper().replace("VELM", "velm"),
        f" {VELM} ",
        VELM.replace("v", "%76"),
    ):
        assert at.act(call("web_extractor", url=url)).startswith("404 Not Found")
        assert at.act(call("web_extractor", url=url, goal="founded")).startswith("404 Not Found")
        assert "\nError: 404 Not Found" in at.act(call("visit", url=[url, LIST], goal="founded"))
    assert at.act(call("web_extractor", url=FERRY)).startswith("# The ferry")
    assert LIST in at.act(call("web_search", query="harbour towns"))


def test_ten_others_come_in_their_place() -> None:
    place = LIBRARY.fiction(3, "small")
    full = place.index.search("town", 10)
    some = place.index.search("town", 10, masked=frozenset(hit.url for hit in full[:4]))
    assert len(full) == len(some) == 10
    assert [hit.url for hit in some[:6]] == [hit.url for hit in full[4:]]


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_masks_of_generated_tasks(size: str) -> None:
    source = DOMAIN.tasks(f"train:{size}+masked")
    for index in range(0, 30, 3):
        task = source[index]
        at = DOMAIN.world(task)
        masked = task.initial_state["mask"]
        place = LIBRARY.fiction(task.initial_state["world"]["seed"], size)
        titles = [page.title for url in masked if (page := place.index.page(url)) is not None]
        assert len(titles) == len(masked)
        tracker = DOMAIN.tracker(task)
        for query in (*titles, task.instruction):
            for action in (call("web_search", query=query), call("search", query=[query])):
                texts = (at.act(action), tracker.recall(action, 100_000))
                assert not any(url in text for url in masked for text in texts)
        for url in masked:
            for action in (call("web_extractor", url=url), call("visit", url=[url], goal=task.instruction)):
                assert not_found(url) in at.act(action)
                assert tracker.recall(action, 100_000) == f"page {url}: none is known at this address"


def test_a_simulator_that_shows_one_is_contradicted() -> None:
    at = world(mask=[VELM])
    tracker = SearchTracker(at)
    open_at = world()
    search = call("web_search", query="Velm")
    leaked = open_at.act(search)
    assert f"{VELM} cannot be found in this task, and the answer lists it" in tracker.contradictions(search, leaked)
    visit = call("web_extractor", url=VELM)
    assert tracker.contradictions(visit, open_at.act(visit)) == [
        f"{VELM} cannot be found in this task, and the answer shows it"
    ]
    both = call("visit", url=[VELM, LIST], goal="founded")
    assert tracker.contradictions(both, open_at.act(both)) == [
        f"{VELM} cannot be found in this task, and the answer shows it"
    ]
    for action in (search, visit, both):
        assert tracker.contradictions(action, at.act(action)) == []
    # What it showed all the same does not come back through what is told later.
    tracker.observe(search, leaked)
    assert VELM not in tracker.recall(call("web_search", query="anything"), 10_000)


def test_withheld_texts_of_a_task() -> None:
    at = world(withheld=["harbour"])
    assert "harbour town." not in at.act(call("web_search", query="Velm town"))
    assert "harbour town." in at.act(call("web_search", query="Velm harbour"))
    assert isinstance(at, SearchWorld)
