"""`DatasetTasks`: the questions of a file as tasks over an index, or over the paragraphs that came with them."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import unquote

from agentworld_envs.domains.search import engine
from agentworld_envs.domains.search.answers import render
from agentworld_envs.domains.search.datasets.contexts import addresses_of, digest_of, pages_of, title_url
from agentworld_envs.domains.search.datasets.load import read_questions
from agentworld_envs.domains.search.datasets.row import QuestionRow
from agentworld_envs.domains.search.engine.urls import canonical
from agentworld_envs.domains.search.pages import Page, PageIndex
from agentworld_envs.interface import ConfigError, Task, TaskSource, unknown_name

Mask = Literal["rows", "source", "none"]
"""What is hidden in search and visit: the addresses that a row names; those and its supporting pages; nothing."""
OPTIONS = ("index", "mask", "limit")
CHECKED_ROWS, CHECKED_SOURCES = 1000, 50
"""Questions whose masks and supporting pages are looked up when a set is opened, to warn of those that hide nothing."""
MAX_STEPS = 40
"""Of a task (LiteResearcher, section on training: 40 turns)."""

logger = logging.getLogger(__name__)
_WARNED: set[tuple[object, ...]] = set()
"""Sets that were warned of."""


class DatasetTasks(TaskSource):
    """One task per question, in the order of the file."""

    def __init__(
        self,
        path: str,
        *,
        index: str | None = None,
        mask: Mask = "rows",
        limit: int | None = None,
        name: str | None = None,
    ) -> None:
        """Read the questions; an index is opened only to find the pages that are hidden, and its manifest.

        Args:
            path: file of questions, see `read_questions`.
            index: folder of the index to search in; by default the paragraphs in the file are the corpus.
            mask: what is hidden, see `Mask`.
            limit: only the first questions (>= 1).
            name: what a user types to get this source; made of the others by default.

        Raises:
            ConfigError: the file or the index cannot be read, the file has no paragraphs and no index is named, or an
                option cannot be.
        """
        if mask not in get_args(Mask):
            raise unknown_name("mask", mask, get_args(Mask))
        if limit is not None and limit < 1:
            raise ConfigError(f"Expected limit to be at least 1, got {limit}.")
        self.path, self.mask, self.index_folder, self._limit = path, mask, index, limit
        self._place = os.path.abspath(path if index is None else index)
        self.questions = read_questions(path)
        """The file's questions, with the rows that were left out."""
        self._rows: Sequence[QuestionRow] = self.questions.rows[:limit]
        self._numbers = {row.id: number for number, row in enumerate(self._rows)}
        self._index: PageIndex | None = None
        self._pages: dict[str, Page] = {}
        self.unfound: set[str] = set()
        """Addresses and titles that rows want hidden and no page of the corpus has, of the tasks made so far."""
        if index is None:
            self._pages = {page.url: page for page in pages_of(self.questions.rows)}
            if not self._pages:
                raise ConfigError(
                    f"The questions in {path} ({self.questions.format}) come without paragraphs, so that there is "
                    f"nothing to search in: name an index, as in {path}?index=FOLDER."
                )
            self.digest = digest_of(self._pages.values())
        else:
            self._index = engine.open_index(Path(index))
            self.digest = self._index.digest
            if mask != "none":
                self._warn(self._index.digest)
            if mask == "none" or (mask == "rows" and not any(row.mask for row in self._rows)):
                self._index.close()
        if index is None and mask != "none":
            self._warn(self.digest)
        options = {"index": index, "mask": None if mask == "rows" else mask, "limit": limit}
        given = "&".join(f"{key}={value}" for key, value in options.items() if value is not None)
        self.name = name or (f"{path}?{given}" if given else path)

    @classmethod
    def parse(cls, name: str) -> DatasetTasks:
        """The source of a string `PATH?index=FOLDER&mask=source&limit=N`, of which only the path is needed.

        Raises:
            ConfigError: see the constructor; also an unknown option.
        """
        path, mark, query = name.partition("?")
        if mark and Path(name).is_file():
            path, query = name, ""
        options: dict[str, str] = {}
        for part in filter(None, query.split("&")):
            key, _, value = part.partition("=")
            value = unquote(value)  # and no more than that: a plus sign is one in the name of a folder
            if key not in OPTIONS:
                raise unknown_name("option of a question file", key, OPTIONS)
            if key in options:
                raise ConfigError(f"The option {key!r} is given twice in {name!r}.")
            options[key] = value
        limit = options.get("limit")
        if limit is not None and not (limit.isascii() and limit.isdigit()):
            raise ConfigError(f"Expected limit to be a whole number in {name!r}, got {limit!r}.")
        mask: Any = options.get("mask", "rows")
        index = options.get("index")
        if index is not None and not index:
            raise ConfigError(f"Expected the folder of an index after index= in {name!r}.")
        return cls(
            os.path.expanduser(path),
            index=None if index is None else os.path.expanduser(index),
            mask=mask,
            limit=None if limit is None else int(limit),
            name=name,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process reads the file and opens the index itself."""
        return _again, (self.path, self.index_folder, self.mask, self._limit, self.name)

    @property
    def size(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Task:
        if not 0 <= index < len(self._rows):
            raise IndexError(f"The set {self.name!r} has {len(self._rows)} tasks, got index {index}.")
        row = self._rows[index]
        # Absolute, so that a recording can be played again from another folder.
        place: Any = {"contexts": self._place} if self.index_folder is None else self._place
        masked = self._masked(row)
        return Task(
            id=row.id,
            domain="search",
            instruction=_instruction(row),
            initial_state={"index": place, "digest": self.digest, "mask": masked},
            verifier={"answer": dict(row.answer)},
            hidden={"answer": render(row.answer), "supporting": list(row.supporting)},
            max_steps=MAX_STEPS,
            tags=(self.questions.format, *row.tags, *(("masked",) if masked else ())),
        )

    def find(self, task_id: str) -> Task:
        if task_id not in self._numbers:
            raise unknown_name("task id", task_id, self._numbers)
        return self[self._numbers[task_id]]

    def _masked(self, row: QuestionRow) -> list[str]:
        """Canonical addresses that a task hides: also a page that only differs by `http` or `www.` from a given one."""
        if self.mask == "none":
            return []
        found: dict[str, None] = {}
        for url in row.mask:
            address = canonical(url)
            pages = [form for form in _forms(address) if self._has(form)]
            found |= dict.fromkeys([address, *pages])
            if not pages:
                self.unfound.add(url)
        for title in row.supporting if self.mask == "source" else ():
            pages = self._pages_of(title)
            found |= dict.fromkeys(pages)
            if not pages:
                self.unfound.add(title)
        return list(found)

    def _warn(self, digest: str) -> None:
        """Say once in a process what the masks of a set do not hide, as far as its first rows tell."""
        key = (self._place, self.path, self.mask, self._limit, digest)
        if key in _WARNED:
            return
        _WARNED.add(key)
        rows = self._rows[:CHECKED_ROWS]
        masks = [url for row in rows for url in row.mask]
        strange = [url for url in masks if not any(map(self._has, _forms(canonical(url))))]
        of = "" if len(rows) == len(self._rows) else f" (of the first {len(rows)} questions)"
        if strange:
            logger.warning(
                "%s: %d of %d masked addresses%s are not in the corpus and hide nothing, for example %r.",
                *(self.path, len(strange), len(masks), of, strange[0][:200]),
            )
        if self.mask != "source":
            return
        if bare := sum(not row.supporting for row in self._rows):
            logger.warning(
                "%s: %d of %d questions name no supporting pages, so that mask=source hides none of theirs.",
                *(self.path, bare, len(self._rows)),
            )
        some = rows[:CHECKED_SOURCES]
        if lost := sum(bool(row.supporting) and not any(map(self._pages_of, row.supporting)) for row in some):
            logger.warning(
                "%s: of the first %d questions %d have supporting pages that are not in the corpus, so that "
                "mask=source hides none of theirs.",
                *(self.path, len(some), lost),
            )

    def _has(self, url: str) -> bool:
        """Whether there is a page at a canonical address."""
        return url in self._pages if self._index is None else self._index.page(url) is not None

    def _pages_of(self, title: str) -> list[str]:
        """Addresses of the pages of a title."""
        if self._index is not None:
            return addresses_of(self._index, title)
        url = title_url(title)
        return [url] if url in self._pages else []


def _forms(address: str) -> list[str]:
    """The addresses that are most likely the same page: with `http` and `https`, with and without `www.`."""
    rest = address.partition("://")[2].removeprefix("www.")
    return [f"{scheme}://{www}{rest}" for scheme in ("https", "http") for www in ("", "www.")]


def _again(path: str, index: str | None, mask: Mask, limit: int | None, name: str) -> DatasetTasks:
    return DatasetTasks(path, index=index, mask=mask, limit=limit, name=name)


def _instruction(row: QuestionRow) -> str:
    if row.answer["kind"] != "table":
        return row.question
    columns = " | ".join(column["name"] for column in row.answer["columns"])
    return f"{row.question}\n\nAnswer with one Markdown table that has the columns: {columns}"
