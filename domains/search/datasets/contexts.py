"""`context_pages`: the paragraphs that came with questions, as the pages of a corpus."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from agentworld_envs.domains.search.answers.normal import normalise
from agentworld_envs.domains.search.datasets.load import load_questions
from agentworld_envs.domains.search.datasets.row import QuestionRow
from agentworld_envs.domains.search.engine.urls import BadURL, canonical
from agentworld_envs.domains.search.pages import Page, PageIndex
from agentworld_envs.interface import ConfigError

SITE = "https://en.wikipedia.org/wiki/"
"""Where the paragraphs of all these sets are from."""


def title_url(title: str) -> str:
    """The address of the page of a title, in canonical form."""
    try:
        return canonical(SITE + quote("_".join(title.split()), safe="/()!$',*;:@-._~"))
    except BadURL:  # far too long for an address
        return SITE + hashlib.sha256(title.encode("utf-8")).hexdigest()


def addresses_of(index: PageIndex, title: str) -> list[str]:
    """Addresses of the pages of an index that have a title, or of the one that has it as its address."""
    wanted = normalise(title)
    hits = index.titled(title, lambda other: normalise(other) == wanted)
    addresses = [title_url(title)]
    with suppress(BadURL):
        addresses.append(canonical(title))
    return hits + [url for url in dict.fromkeys(addresses) if url not in hits and index.page(url) is not None]


def pages_of(rows: Iterable[QuestionRow]) -> tuple[Page, ...]:
    """A page per title, in order of first appearance; paragraphs that several questions bring along stand once."""
    paragraphs: dict[str, dict[str, None]] = {}
    titles: dict[str, str] = {}
    for row in rows:
        for context in row.contexts:
            url = title_url(context.title)
            titles.setdefault(url, " ".join(context.title.split()))
            paragraphs.setdefault(url, {})[context.text] = None
    return tuple(Page(url, url, titles[url], "\n\n".join(texts)) for url, texts in paragraphs.items())


def context_pages(path: str | os.PathLike[str]) -> tuple[Page, ...]:
    """The corpus that a file of questions brings along: what `{"contexts": PATH}` in a task's initial state stands for.

    Read once per process, and again when the file has changed.

    Raises:
        ConfigError: it cannot be read, or brings no paragraphs.
    """
    try:
        stamp = os.stat(path)
    except OSError as error:
        raise ConfigError(f"Cannot read the questions in {path}: {error.strerror}.") from error
    return _pages(str(Path(path)), stamp.st_mtime_ns, stamp.st_size)


def digest_of(pages: Iterable[Page]) -> str:
    """Names a corpus by its pages."""
    digest = hashlib.sha256()
    for page in pages:
        digest.update(json.dumps([page.url, page.title, page.text]).encode("ascii"))
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4)
def _pages(path: str, changed: int, size: int) -> tuple[Page, ...]:
    pages = pages_of(load_questions(path))
    if not pages:
        raise ConfigError(
            f"The questions in {path} come without paragraphs, so that there is nothing to search in: name an index, "
            f"as in {path}?index=FOLDER."
        )
    return pages
