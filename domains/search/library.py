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
from agentworld_envs.interface import ConfigError

if TYPE_CHECKING:
    from agentworld_envs.domains.search.fiction.world import FictionalWorld

MOST_PLACES = 24
"""Worlds and indexes that are kept; the ones that were not asked for longest go first. A small world is a few MiB."""


class Place:
    """What can be searched, and for a fictional world what is behind it. Shared: never changed, never closed by hand.

    Its files are closed when nobody holds it any more: neither the library nor an episode.
    """

    def __init__(self, index: PageIndex, fiction: FictionalWorld | None = None) -> None:
        """Args: index: closed together with this. fiction: `None` for a user's corpus."""
        self.index = index
        self.fiction = fiction
        weakref.finalize(self, index.close)


class _Shelf:
    """Where one place stands, or will stand once it is built."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.place: Place | None = None


class Library:
    """At most `MOST_PLACES` places. However many threads want a new one at a time, it is built once."""

    def __init__(self, most: int = MOST_PLACES) -> None:
        """Args: most: places that are kept, at least 1."""
        self._most = max(most, 1)
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
            while len(self._shelves) > self._most:
                self._shelves.popitem(last=False)
        with shelf.lock:  # of this place only: the others go on
            if shelf.place is None:
                shelf.place = make()
            return shelf.place

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
    return Place(memory_index(fiction.pages), fiction)


def _open(folder: Path) -> Place:
    from agentworld_envs.domains.search.engine import open_index

    if not folder.is_dir():
        raise ConfigError(f"Expected the folder of an index, and there is none at {str(folder)!r}.")
    return Place(open_index(folder))


def _read(file: Path) -> Place:
    from agentworld_envs.domains.search.datasets.contexts import context_pages
    from agentworld_envs.domains.search.engine import memory_index

    return Place(memory_index(context_pages(file)))
