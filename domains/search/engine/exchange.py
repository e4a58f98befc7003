"""The exchange of an index for a newer one: whatever kills it, nothing is lost; and only an index is ever replaced."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, Final

from agentworld_envs.interface import ConfigError

MANIFEST: Final = "manifest.json"
WHAT: Final = "agentworld search index"
"""How a manifest of any version says what it is of."""
PAGES, OFFSETS, ADDRESSES, ROWS = "pages.bin", "offsets.npy", "addresses.npy", "rows.npy"
VECTORS: Final = "vectors.npy"
TANTIVY, FTS5 = "terms.tantivy", "terms.sqlite"

_FILES: Final = frozenset((MANIFEST, PAGES, OFFSETS, ADDRESSES, ROWS, VECTORS, FTS5))
_SEGMENT: Final = re.compile(r"[0-9a-f]{32}\.[\w.]+|meta\.json|\.managed\.json|\.tantivy-(?:meta|writer)\.lock")
_OLD, _REPLACED, _NEW = "old", "replaced", "index"
_MANIFEST_BYTES: Final = 1 << 20


def check_place(folder: Path) -> None:
    """Make sure that an index may be built there: nothing is there, an empty folder, or an index and nothing else.

    Raises:
        ConfigError: something else is, or there is no folder to put it in.
    """
    if not folder.parent.is_dir():
        raise ConfigError(f"The index cannot be built: the folder {folder.parent} does not exist.")
    if not os.path.lexists(folder):
        return
    names = sorted(os.listdir(folder)) if folder.is_dir() else None
    if names is None or (names and not _is_index(folder)):
        raise ConfigError(f"{folder} exists and is no search index. Choose another place, or remove it.")
    foreign = _foreign(folder, names)
    if foreign:
        raise ConfigError(
            f"{folder} is a search index, but holds other things, too, that a new one would delete: "
            f"{', '.join(foreign[:5])}. Move them away, or choose another place."
        )


def workplace_prefix(folder: Path) -> str:
    """How the names of folders begin in which an index for `folder` is built; the number of the process follows."""
    return f".{folder.name}.building-"


def exchange(outer: Path, folder: Path) -> None:
    """Put the finished index `outer/index` in its place.

    An index that is there moves to `outer/old` first. Whatever happens, `put_back` finds it there as long as its place
    is empty.

    Raises:
        ConfigError: something came to be there meanwhile that is no index.
    """
    check_place(folder)
    if not os.path.lexists(folder):
        (outer / _NEW).rename(folder)
        return
    folder.rename(outer / _OLD)
    (outer / _NEW).rename(folder)
    (outer / _OLD).rename(outer / _REPLACED)


def put_back(outer: Path, folder: Path) -> None:
    """Undo an exchange that was cut off in the middle."""
    if (outer / _OLD).is_dir() and not os.path.lexists(folder):
        (outer / _OLD).rename(folder)


def sweep(folder: Path) -> None:
    """Remove what builds that were killed left behind. What they left of the old index goes back to its place first;
    where something else is there by now, it stays where it is."""
    for outer in _left(folder):
        put_back(outer, folder)
        if not (outer / _OLD).is_dir() or _is_index(folder):
            shutil.rmtree(outer, ignore_errors=True)


def cut_off(folder: Path) -> Path | None:
    """Where the old index is, when a build was killed in the middle of its exchange."""
    if os.path.lexists(folder):
        return None
    return next((outer / _OLD for outer in _left(folder) if _is_index(outer / _OLD)), None)


def _left(folder: Path) -> list[Path]:
    """Where builds were killed."""
    prefix = workplace_prefix(folder)
    found = []
    for name in sorted(os.listdir(folder.parent)) if folder.parent.is_dir() else ():
        owner = name[len(prefix) :].split("-")[0] if name.startswith(prefix) else ""
        if owner.isascii() and owner.isdigit() and not _alive(int(owner)):
            found.append(folder.parent / name)
    return found


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _is_index(folder: Path) -> bool:
    """Whether a manifest says so, of whatever version."""
    try:
        with open(folder / MANIFEST, "rb") as file:
            found: Any = json.loads(file.read(_MANIFEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("what") == WHAT


def _foreign(folder: Path, names: list[str]) -> list[str]:
    """What no build writes."""
    found = [name for name in names if name not in _FILES and name != TANTIVY]
    found += [name for name in names if name in _FILES and not (folder / name).is_file()]
    if TANTIVY in names:
        inner = sorted(os.listdir(folder / TANTIVY)) if (folder / TANTIVY).is_dir() else [""]
        found += [f"{TANTIVY}/{name}" for name in inner if not _SEGMENT.fullmatch(name)]
    return found
