"""`one_thread`: small matrix products without OpenBLAS's threads.

They are too small to gain from threads, and on a machine with other work the threads wait for each other: measured on
two busy cores, 32 simulated episodes made 24 steps/s with two threads and 256 with one.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

log = logging.getLogger(__name__)


class _Threads(NamedTuple):
    get: Callable[[], int]
    set: Callable[[int], None]


@cache
def _openblas() -> _Threads | None:
    """The controls of the OpenBLAS that numpy's wheels bring; `None` for another library, which is left alone."""
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".libs", package / ".dylibs")
    for path in sorted(path for folder in folders for path in folder.glob("*openblas*")):
        try:
            library = ctypes.CDLL(str(path))  # the one that is loaded already
        except OSError as error:
            log.debug("%s cannot be opened: %s", path, error)
            continue
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                getter = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                setter = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if getter is not None and setter is not None:
                    getter.restype, setter.restype, setter.argtypes = ctypes.c_int, None, [ctypes.c_int]
                    return _Threads(getter, setter)
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numpy multiply with one thread inside of the block. The number from before comes back after it."""
    threads = _openblas()
    if threads is None:
        yield
        return
    _enter(threads, 1)
    try:
        yield
    finally:
        _enter(threads, -1)


_lock = threading.Lock()
_inside, _before = 0, 1  # blocks that are open, of all threads; the number from before the first of them


def _enter(threads: _Threads, change: int) -> None:
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = threads.get()
            threads.set(1)
        _inside += change
        if _inside == 0:
            threads.set(_before)
