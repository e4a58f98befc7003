"""Every test of an index runs on each engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from search.engine.makers import Make, need

from agentworld_envs.domains.search.engine import build, memory_index, open_index
from agentworld_envs.domains.search.pages import Page, PageIndex


@pytest.fixture(params=["tantivy", "fts5", "memory"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes an index of pages, one in each kind."""
    if request.param == "tantivy":
        need("tantivy")
    made: list[PageIndex] = []

    def one(pages: Sequence[Page]) -> PageIndex:
        if request.param == "memory":
            made.append(memory_index(pages))
        else:
            folder = tmp_path / f"index-{len(made)}"
            build(pages, folder, kind=request.param)
            made.append(open_index(folder))
        return made[-1]

    yield one
    for index in made:
        index.close()


@pytest.fixture(params=["tantivy", "fts5"])
def kind(request: pytest.FixtureRequest) -> str:
    """The engines that write folders."""
    if request.param == "tantivy":
        need("tantivy")
    return str(request.param)
