"""What the tools say: searches and pages in Qwen-AgentWorld's layout and in LiteResearcher's.

Qwen's (report, search): `[1] URL`, `Title:`, `Snippet:`, `Date:`, a blank line between results. How several queries of
one call are numbered its template leaves open; here the numbers go on. LiteResearcher's: a header for each query,
`1. [title](link)` with the snippet below it, `=======` between queries; pages as evidence and summary for a goal.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from functools import lru_cache

from agentworld_envs.domains.search.pages import Hit, Page

RESULTS_PER_QUERY = 10
RULE = "======="
"""Between the parts of an answer in LiteResearcher's layout."""
GAP = "[...]"
NO_DATE = "N/A"
NO_EVIDENCE = "Nothing on this page speaks of the goal."
_NOTHING = "No results for {query}. Try other or fewer words, or the name of what you look for."
_LONGEST_ECHO = 200


def render_results(found: Sequence[tuple[str, Sequence[Hit]]]) -> str:
    """The answer to `web_search`, in Qwen's layout.

    Args:
        found: queries with their results. Numbers go on from query to query; a query without results has a line at
            the end that says so.
    """
    blocks, number = [], 0
    for _, hits in found:
        for hit in hits:
            number += 1
            blocks.append(
                f"[{number}] {hit.url}\nTitle: {title_of(hit)}\nSnippet: {_safe(hit.snippet)}\n"
                f"Date: {render_date(hit.date)}"
            )
    blocks += [nothing_for(query) for query, hits in found if not hits]
    return "\n\n".join(blocks)


def render_search(found: Sequence[tuple[str, Sequence[Hit]]]) -> str:
    """The answer to `search`, in LiteResearcher's layout. An address that an earlier query found is not shown again."""
    shown: set[str] = set()
    parts = []
    for query, hits in found:
        new = [hit for hit in hits if hit.url not in shown]
        shown.update(hit.url for hit in new)
        if not hits:
            parts.append(nothing_for(query))
            continue
        lines = [search_header(query, len(new))]
        lines += [
            f"{number}. [{title_of(hit)}]({hit.url})\n{_safe(hit.snippet)}" for number, hit in enumerate(new, start=1)
        ]
        if not new:
            lines.append("All that was found is listed above already.")
        parts.append("\n\n".join(lines))
    return f"\n{RULE}\n".join(parts)


def _safe(snippet: str) -> str:
    """A snippet, which is one line already, or is made one where an index of another kind did not keep to that."""
    return snippet if snippet.isprintable() else one_line(snippet)


def search_header(query: str, count: int) -> str:
    """What stands above the results of one query in LiteResearcher's layout."""
    return f"Search for {echo(query)}: {'1 result' if count == 1 else f'{count} results'}"


def render_part(page: Page, parts: Sequence[str], part: int) -> str:
    """A whole page, or one of the parts of a long one, in Markdown.

    Args:
        page: whose title heads the text.
        parts: of its text, in order.
        part: which one, from 1 on.
    """
    head = heading(page)
    total = max(len(parts), 1)
    if part > total:
        have = "only one part" if total == 1 else f"{total} parts"
        return f"{head}\n\n(There is no part {part}: this page has {have}.)"
    text = parts[part - 1] if parts else ""
    if total == 1:
        return f"{head}\n\n{text}".rstrip()
    more = f' The next one: "part": {part + 1}.' if part < total else ""
    return f"{head}\n\n{text}\n\n(Part {part} of {total}.{more})"


def render_goal(page: Page, passages: Sequence[str]) -> str:
    """What a page says of a goal, in Qwen's layout: the passages in their order."""
    return f"{heading(page)}\n\n" + (f"\n\n{GAP}\n\n".join(passages) if passages else NO_EVIDENCE)


def render_visit(page: Page, goal: str, passages: Sequence[str], summary: str) -> str:
    """What a page says of a goal, in LiteResearcher's layout."""
    evidence = f"\n{GAP}\n".join(passages) if passages else NO_EVIDENCE
    return f"{visit_header(page, goal)}{evidence}\n\nSummary:\n{one_line(summary) or NO_EVIDENCE}"


def visit_header(page: Page, goal: str) -> str:
    """What stands above the evidence of a page."""
    return f"Page: {page.url}\nTitle: {title_of(page)}\nGoal: {echo(goal)}\n\nEvidence:\n"


def title_of(shown: Page | Hit) -> str:
    """A title in one line; the address of what has none."""
    title = shown.title
    if title.isprintable() and "  " not in title and title.strip() == title:  # as `one_line`, without a call
        return title or shown.url
    return one_line(title) or shown.url


def heading(page: Page) -> str:
    """First line of a page."""
    return f"# {title_of(page)}"


def not_found(url: str) -> str:
    """The answer for a page that does not exist, or that is masked: nobody can tell which."""
    return f"404 Not Found: there is no page at {echo(url)}. Open an address that a search has shown."


def visit_error(url: str, problem: str) -> str:
    """One of several pages that could not be opened, in LiteResearcher's layout."""
    return f"Page: {echo(url)}\nError: {problem}"


def nothing_for(query: str) -> str:
    """The answer to a query that finds nothing."""
    if not query.strip():
        return "No results: the query is empty. Write what to look for, in a few words."
    return _NOTHING.format(query=echo(query))


@lru_cache(maxsize=4096)
def render_date(date: str | None) -> str:
    """`2031-04-07` as `Apr 7, 2031`; other forms as they are."""
    if not date:
        return NO_DATE
    try:
        day = datetime.date.fromisoformat(date[:10])
    except ValueError:
        return one_line(date)
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def echo(text: str) -> str:
    """Text of the agent's, cut and without what could break a line or a file."""
    shown = one_line("".join(char if char.isprintable() or char.isspace() else " " for char in text))
    return shown if len(shown) <= _LONGEST_ECHO else shown[:_LONGEST_ECHO].rstrip() + " [...]"


def one_line(text: str) -> str:
    """Text with single blanks in place of all white space."""
    if text.isprintable() and "  " not in text and text == text.strip():  # of what is white only " " prints
        return text
    return " ".join(text.split())
