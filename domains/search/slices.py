"""`slice_of`: what the world's database says of one page."""

from __future__ import annotations

from agentworld_envs.domains.search.library import Place
from agentworld_envs.domains.search.pages import Page


def slice_of(place: Place, page: Page) -> list[str]:
    """Statements that belong on a page, a line each; over a user's corpus the lines of the page itself."""
    return [line for line in page.text.splitlines() if line.strip()]
