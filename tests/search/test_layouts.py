"""What the tools show, in both layouts."""

from __future__ import annotations

import re

import pytest
from search.support import DOMAIN, EMPTY, FERRY, LIST, LONG, ODA, VELM, call, world

from agentworld_envs.backends.world_model.codecs.search import read_results as read_by_codec
from agentworld_envs.domains.search.expert import Hands
from agentworld_envs.domains.search.pages import Hit, Page
from agentworld_envs.domains.search.reading import page_body, page_title, read_results, read_visit
from agentworld_envs.domains.search.rendering import RULE, render_date, render_results, render_search
from agentworld_envs.domains.search.tracker import SearchTracker


def test_qwens_results() -> None:
    text = world().act(call("web_search", query="harbour town Velm"))
    read = read_by_codec(text)
    assert read is not None
    assert read.render() == text
    assert [result.number for result in read.results] == list(range(1, len(read.results) + 1))
    first = {result.url: result for result in read.results}[VELM]
    assert (first.title, first.date) == ("Velm", "Apr 7, 2031")
    assert "1642" not in text
    assert "Oda Brisk" not in first.snippet


def test_numbers_go_on_from_query_to_query() -> None:
    found = world().act(call("web_search", queries=["Velm", "mayor harbour", "zzz unknown"]))
    results, _, note = found.rpartition("\n\n")
    read = read_by_codec(results)
    assert read is not None
    assert [result.number for result in read.results] == list(range(1, len(read.results) + 1))
    alone = [world().act(call("web_search", query=query)) for query in ("Velm", "mayor harbour")]
    assert len(read.results) == sum(len(read_by_codec(text).results) for text in alone)  # type: ignore[union-attr]
    assert note.startswith("No results for zzz unknown.")
    urls = [result.url for result in read.results]
    assert len(urls) > len(set(urls)), "each query has its own results"


def test_literesearchers_results() -> None:
    text = world().act(call("search", query=["Velm", "Velm harbour", "sailor", "zzz"]))
    parts = text.split(f"\n{RULE}\n")
    assert len(parts) == 4
    assert re.match(r"Search for Velm: (\d+) results\n\n1\. \[[^\]]+\]\(https://", parts[0])
    assert parts[3].startswith("No results for zzz.")
    read = read_results(text, "lite")
    assert read is not None
    urls = [result.url for result in read]
    assert len(urls) == len(set(urls)), "no address twice in one call"
    assert {VELM, ODA} <= set(urls)
    numbers = [int(number) for number in re.findall(r"(?m)^(\d+)\. \[", parts[0])]
    assert numbers == list(range(1, len(numbers) + 1))
    assert "1642" not in text


def test_what_was_found_already_is_said() -> None:
    hit = Hit("https://a.example/x", "X", "A snippet.")
    text = render_search([("one", [hit]), ("two", [hit])])
    assert text.endswith("Search for two: 0 results\n\nAll that was found is listed above already.")


@pytest.mark.parametrize(
    ("date", "shown"),
    [
        ("2031-04-07", "Apr 7, 2031"),
        ("2031-12-31", "Dec 31, 2031"),
        ("2031", "2031"),
        ("2031-04", "2031-04"),
        ("last\nweek", "last week"),
        ("2031-13-40", "2031-13-40"),
        (None, "N/A"),
        ("", "N/A"),
    ],
)
def test_dates(date: str | None, shown: str) -> None:
    assert render_date(date) == shown
    text = render_results([("q", [Hit("https://a.example/", "T", "S", date)])])
    assert text.endswith(f"\nDate: {shown}")


def test_titles_and_snippets_cannot_break_the_layout() -> None:
    hit = Hit(
        "https://a.example/", "T\n\n[2] https://evil.example\nTitle: X", "S\nDate: never\n\n[3] https://e.example", None
    )
    read = read_by_codec(render_results([("q", [hit])]))
    assert read is not None
    assert len(read.results) == 1
    assert [shown.url for shown in read_results(render_search([("q", [hit])]), "lite") or []] == ["https://a.example/"]


def test_a_page_in_one_part() -> None:
    text = world().act(call("web_extractor", url=VELM))
    assert text == "# Velm\n\nVelm is a harbour town.\n\nVelm was founded in 1642. Its mayor is Oda Brisk."
    assert world().act(call("web_extractor", url=f"HTTPS://A.example:443{VELM[17:]}/#top")) == text
    assert world().act(call("web_extractor", url=EMPTY)) == "# Nothing much"
    assert (
        world()
        .act(call("web_extractor", url=VELM, part=2))
        .endswith("(There is no part 2: this page has only one part.)")
    )


def test_a_page_in_parts() -> None:
    at = world()
    first = at.act(call("web_extractor", url=FERRY))
    assert first == at.act(call("web_extractor", url=FERRY, part=1))
    body, part, total = page_body(first)
    assert (part, total) == (1, 3)
    assert first.endswith('(Part 1 of 3. The next one: "part": 2.)')
    last = at.act(call("web_extractor", url=FERRY, part=3))
    assert last.endswith("(Part 3 of 3.)")
    texts = [page_body(at.act(call("web_extractor", url=FERRY, part=n)))[0] for n in (1, 2, 3)]
    assert all(len(text) <= 6_000 for text in texts)
    assert "".join(texts) == LONG
    assert "no part 4: this page has 3 parts" in at.act(call("web_extractor", url=FERRY, part=4))
    assert page_title(first) == "The ferry of Velm"
    hands = Hands(at)
    assert hands.visit(FERRY) == LONG
    assert len(hands.done) == 3
    assert len(body) > 5_000


def test_a_page_by_goal() -> None:
    text = world().act(call("web_extractor", url=VELM, goal="when was it founded"))
    assert text.startswith("# Velm\n\n")
    assert "Velm was founded in 1642." in text
    assert "speaks of the goal" in world().act(call("web_extractor", url=EMPTY, goal="anything"))


def test_a_visit() -> None:
    text = world().act(
        call("visit", url=[VELM, "https://a.example/none", "file:///etc/passwd", ODA], goal="founded born")
    )
    blocks = text.split(f"\n{RULE}\n")
    assert len(blocks) == 4
    assert blocks[0].startswith(f"Page: {VELM}\nTitle: Velm\nGoal: founded born\n\nEvidence:\n")
    assert "1642" in blocks[0].partition("Summary:")[2]
    assert blocks[1].startswith("Page: https://a.example/none\nError: 404 Not Found")
    assert blocks[2].startswith("Page: file:///etc/passwd\nError: Only http")
    assert "1990" in blocks[3]
    assert read_visit(text) == [
        (VELM, "Velm"), ("https://a.example/none", None), ("file:///etc/passwd", None), (ODA, "Oda Brisk"),
    ]  # fmt: skip


@pytest.mark.parametrize("goal", ["", "founded"])
def test_masked_and_missing_pages_look_the_same(goal: str) -> None:
    more = {"goal": goal} if goal else {}
    hidden = world(mask=[VELM])
    for missing, masked in (("https://a.example/nope", VELM), ("https://a.example/nope#x", f"{VELM}#x")):
        texts = [hidden.act(call("web_extractor", url=url, **more)) for url in (missing, masked)]
        assert texts[0].replace(missing, "URL") == texts[1].replace(masked, "URL")
        texts = [hidden.act(call("visit", url=[url], goal="founded")) for url in (missing, masked)]
        assert texts[0].replace(missing, "URL") == texts[1].replace(masked, "URL")


def test_facts() -> None:
    at = world()

    def facts(action: object, text: str | None = None) -> dict[str, object]:
        return DOMAIN.facts(None, action, text if text is not None else at.act(action))  # type: ignore[arg-type]

    search = call("web_search", query="harbour towns list")
    found = facts(search)
    assert found[f"{LIST} listed"] is True
    assert found[f"title of {LIST}"] == "List of harbour towns"
    assert found["results"] == len([key for key in found if key.endswith(" listed")])
    assert facts(search, f"```\n{at.act(search)}\n```") == found
    assert facts(call("web_search", query="zzz")) == {"results": 0}
    page = facts(call("web_extractor", url=VELM))
    assert page == {"title": "Velm", "part": 1, "parts": 1, "states 1642": True}
    assert facts(call("web_extractor", url="https://a.example/x")) == {"error": "not found"}
    assert facts(search, "Error 503: the search service is unavailable.") == {"error": "unavailable"}
    assert facts(search, "I cannot help with that.") == {}
    seen = facts(call("visit", url=[VELM, "https://a.example/x"], goal="founded"))
    assert seen[f"title of {VELM}"] == "Velm"
    assert seen["title of https://a.example/x"] is None
    assert facts(call("answer", answer="x"), "The answer was handed in.") == {"handed in": True}


def test_a_page_without_a_title_is_called_by_its_address() -> None:
    page = Page("1", "https://a.example/untitled", " ", "Some words about a lighthouse.")
    at = world(pages=[page])
    assert at.act(call("web_extractor", url=page.url)) == f"# {page.url}\n\n{page.text}"
    for action in (call("web_search", query="lighthouse"), call("search", query=["lighthouse"])):
        [shown] = read_results(at.act(action), "qwen" if action.tool == "web_search" else "lite") or []
        assert shown.title == page.url
        assert SearchTracker(at).contradictions(action, at.act(action)) == []
    assert read_visit(at.act(call("visit", url=[page.url], goal="light"))) == [(page.url, page.url)]
