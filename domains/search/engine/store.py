"""The page store: every page of a corpus in one file, read through the page cache of the system."""

from __future__ import annotations

import json
import mmap
from array import array
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agentworld_envs.domains.search.engine.exchange import ADDRESSES, OFFSETS, PAGES, ROWS
from agentworld_envs.domains.search.engine.urls import address_hash
from agentworld_envs.domains.search.pages import Page

_BUFFER: Final = 1 << 20
_FIELDS: Final = 6


class StoreWriter:
    """Writes pages one after another; keeps 24 bytes a page, and an entry of a set, in memory."""

    def __init__(self, folder: Path, digest: Any) -> None:
        self._folder = folder
        self._file = open(folder / PAGES, "wb", buffering=_BUFFER)  # noqa: SIM115 - closed by `finish` or `abandon`
        self._digest = digest
        self._offsets = array("Q", [0])
        self._addresses = array("Q")
        self._seen: set[int] = set()

    def add(self, page: Page) -> bool:
        """Append a page; `False`, and nothing written, when its address came before."""
        address = address_hash(page.url)
        if address in self._seen:
            return False
        self._seen.add(address)
        fields = (page.id, page.url, page.title, page.date or "", _withheld(page), page.text)
        # The separator cannot be part of a field, nor can half a surrogate pair be written.
        record = "\0".join(f.replace("\0", " ") for f in fields).encode("utf-8", "replace")
        self._digest.update(len(record).to_bytes(8, "little"))
        self._digest.update(record)
        self._file.write(record)
        self._addresses.append(address)
        self._offsets.append(self._offsets[-1] + len(record))
        return True

    def finish(self) -> None:
        """Write what finds pages by row and by address."""
        self._file.close()
        self._seen.clear()
        addresses = np.frombuffer(self._addresses, dtype=np.uint64)
        order = np.argsort(addresses, kind="stable")
        np.save(self._folder / OFFSETS, np.frombuffer(self._offsets, dtype=np.uint64))
        np.save(self._folder / ADDRESSES, addresses[order])
        np.save(self._folder / ROWS, order.astype(np.uint32))

    def abandon(self) -> None:
        """Close the file of a build that failed."""
        self._file.close()


class PageStore:
    """Reads what `StoreWriter` wrote. Nothing is read at opening; safe in threads and after a fork.

    Raises:
        OSError, EOFError, ValueError: a file is missing, cut short, or does not belong to the others.
    """

    def __init__(self, folder: Path) -> None:
        self._offsets = _mapped(folder / OFFSETS)
        self._addresses = _mapped(folder / ADDRESSES)
        self._rows = _mapped(folder / ROWS)
        self._count = len(self._rows)
        with open(folder / PAGES, "rb") as file:
            self._file = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = len(self._addresses) == self._count and len(self._offsets) == self._count + 1
        if not whole or len(self._file) != int(self._offsets[-1]):
            self._file.close()
            raise ValueError(f"{folder / PAGES} is cut short, or belongs to another index")

    def __len__(self) -> int:
        return self._count

    def fields(self, row: int) -> list[str]:
        """Id, address, title, date or "", withheld texts as JSON or "", text."""
        start, end = self._offsets[row : row + 2].tolist()
        return self._file[start:end].decode().split("\0", _FIELDS - 1)

    def page(self, row: int) -> Page:
        name, url, title, date, withheld, text = self.fields(row)
        return Page(name, url, title, text, date or None, tuple(json.loads(withheld)) if withheld else ())

    def shown(self, row: int) -> tuple[str, str, str, str | None, tuple[str, ...]]:
        _, url, title, date, withheld, text = self.fields(row)
        return url, title, text, date or None, tuple(json.loads(withheld)) if withheld else ()

    def row(self, url: str) -> int | None:
        address = np.uint64(address_hash(url))
        at = int(np.searchsorted(self._addresses, address))
        if at < self._count and self._addresses[at] == address:
            row = int(self._rows[at])
            if self.fields(row)[1] == url:  # another address may have the same hash
                return row
        return None

    def close(self) -> None:
        self._file.close()


def _mapped(path: Path) -> npt.NDArray[Any]:
    """An array in a file, without the cost that `numpy.memmap` adds to every access."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False)).view(np.ndarray)


def _withheld(page: Page) -> str:
    return json.dumps(page.withheld) if page.withheld else ""
