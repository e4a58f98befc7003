"""`Library`: fictional worlds and opened indexes, shared by all episodes of a process."""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentworld_envs.domains.search.pages import PageIndex

if TYPE_CHECKING:
    from agentworld_envs.domains.search.fiction.world import FictionalWorld

MOST_PLACES = 64
"""Worlds and indexes that are kept; those that were not asked for longest go first."""
MOST_PAGES = 100_000
"""Of all pages in memory together, unless a single world has more: about 350 MiB. A small world has some 230."""


class Place:
    """What can be searched, and for a fictional world what is behind it. Shared: never changed, never closed by hand.

    Its files are closed when nobody holds it any more: neither the library nor an episode.
    """

    def __init__(
        self, index: PageIndex, fiction: FictionalWorld | None = None, pages: int = 0, digest: str | None = None
    ) -> None:
        """Args: index: closed together with this. fiction: `None` for a user's corpus. pages: that are in memory.
        digest: what tasks call the corpus; that of the index by default."""
        self.index = index
        self.digest = index.digest if digest is None else digest
        self.fiction = fiction
        self.pages = pages
        weakref.finalize(self, index.close)


class _Shelf:
    """Where one place stands, or will stand once it is built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.place: Place | None = None


class Library:
    """Keeps what was asked for last, within bounds. However many threads want a new place at a time, it is built once,
    and nobody who wants another one waits for it."""

    def __init__(self, most: int = MOST_PLACES, most_pages: int = MOST_PAGES) -> None:
        """Args: most, most_pages: places and pages in memory that are kept; the latest place always is."""
        self._most, self._most_pages = most, most_pages
        self._shelves: OrderedDict[object, _Shelf] = OrderedDict()
        self._lock = threading.Lock()

    def fiction(self, seed: int, size: str) -> Place:
        """The fictional world of a seed and a size, with its index in memory.

        Raises:
            ConfigError: no such size.
        """
        return self._place((seed, size), lambda: _build(seed, size))

    def corpus(self, folder: Path) -> Place:
        """The index in a folder.

        Raises:
            ConfigError: there is none, or it is of another version.
        """
        path = folder.expanduser().resolve()
        manifests = sorted(path.glob("*.json")) if path.is_dir() else []
        return self._place((str(path), *map(_stamp, manifests)), lambda: _open(path))  # built again: opened anew

    def contexts(self, file: Path) -> Place:
        """The paragraphs that a file of questions brings along, with an index in memory.

        Raises:
            ConfigError: it cannot be read, or brings none.
        """
        path = file.expanduser().resolve()
        return self._place((str(path), _stamp(path)), lambda: _read(path))

    def __len__(self) -> int:
        return len(self._shelves)

    def clear(self) -> None:
        """Keep nothing. Whoever holds a place can go on with it."""
        with self._lock:
            self._shelves.clear()

    def _place(self, key: object, make: Callable[[], Place]) -> Place:
        with self._lock:
            shelf = self._shelves.setdefault(key, _Shelf())
            self._shelves.move_to_end(key)
        with shelf.lock:  # of this place only: the others go on
            if shelf.place is None:
                shelf.place = make()
                with self._lock:
                    self._make_room()
            return shelf.place

    def _make_room(self) -> None:
        """Forget the oldest places that are too many. Those that are being built weigh nothing yet."""
        weight = sum(shelf.place.pages for shelf in self._shelves.values() if shelf.place is not None)
        while len(self._shelves) > 1 and (len(self._shelves) > self._most or weight > self._most_pages):
            _, shelf = self._shelves.popitem(last=False)
            weight -= 0 if shelf.place is None else shelf.place.pages

    def _forget_after_fork(self) -> None:
        """Connections must not cross a fork, and a lock that another thread held would never be released."""
        self._shelves = OrderedDict()
        self._lock = threading.Lock()


LIBRARY = Library()
"""The one of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LIBRARY._forget_after_fork)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Changes whenever a file does; `None` when there is none."""
    if not path.is_file():
        return None
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _build(seed: int, size: str) -> Place:
    from agentworld_envs.domains.search.engine import memory_index
    from agentworld_envs.domains.search.fiction.world import FictionalWorld

    fiction = FictionalWorld(seed, size)
    return Place(memory_index(fiction.pages), fiction, len(fiction.pages))


def _open(folder: Path) -> Place:
    from agentworld_envs.domains.search.engine import open_index

    return Place(open_index(folder))


def _read(file: Path) -> Place:
    from agentworld_envs.domains.search.datasets.contexts import context_pages, digest_of
    from agentworld_envs.domains.search.engine import memory_index

    pages = context_pages(file)
    return Place(memory_index(pages), pages=len(pages), digest=digest_of(pages))
