"""`find`: what a word of a command means as a path, and what is known to be there."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentworld_envs.domains.terminal.words import Unfollowed

if TYPE_CHECKING:
    from agentworld_envs.domains.terminal.belief import Belief

ELSEWHERE = ("/tmp", "/var/tmp")
"""Folders of which nothing is known but that they are there, and that what is written there changes nothing else."""
_LONGEST_NAME = 200
_LONGEST_PATH = 2000


@dataclass(frozen=True, slots=True)
class Place:
    """A path, and what is there."""

    path: str
    kind: Literal["none", "file", "folder", "link", "unknown"]
    mode: int = 0
    """Permissions of a file or folder."""
    data: bytes | None = None
    """Contents of a file; `None` where they are not known."""
    lines: bool = False
    """Of a file: it is empty or ends with a line break."""
    has_parent: bool = True
    """The folder above is there."""


def belongs_elsewhere(path: str) -> bool:
    """Whether a path is below one of these folders."""
    return path.startswith(tuple(f"{folder}/" for folder in ELSEWHERE))


def look(belief: Belief, path: str, *, has_parent: bool = True) -> Place:
    """What is at an absolute path."""
    if (blurred := belief.blurred.get(path)) is not None:
        return Place(path, "file", blurred.mode, None, blurred.lines)
    known, entry = belief.look(path)
    if not known:
        return Place(path, "unknown")
    if entry is None:
        return Place(path, "none", has_parent=has_parent)
    if entry["type"] == "link":
        return Place(path, "link")
    mode, data = int(entry["mode"], 8), entry.get("data")
    return Place(path, entry["type"], mode, data, data is not None and (not data or data.endswith(b"\n")))


def find(belief: Belief, word: str, *, slash: bool = False) -> Place:
    """What is where a word leads.

    Args:
        belief: what is known.
        word: an absolute path, or one from the shell's folder.
        slash: it may end with `/`, or with `.` or `..`.

    Raises:
        Unfollowed: a link may be on the way, or something of which not enough is known.
    """
    place = find_link(belief, word, slash=slash)
    if place.kind == "link":  # what lies behind a link is somewhere else
        raise Unfollowed(word)
    return place


def find_link(belief: Belief, word: str, *, slash: bool = False) -> Place:
    """`find`, of the link itself where a word leads to one."""
    if len(word) > _LONGEST_PATH or (not word.startswith("/") and belief.cwd is None):
        raise Unfollowed(word)
    parts = word.split("/")
    if not word or word.startswith("//") or any(len(part.encode()) > _LONGEST_NAME for part in parts):
        raise Unfollowed(word)
    if not slash and parts[-1] in ("", ".", ".."):
        raise Unfollowed(word)
    place = look(belief, "/")
    if not word.startswith("/"):
        place = _walk(belief, (belief.cwd or "/").split("/"), place)
    return _walk(belief, parts, place)


def _walk(belief: Belief, parts: list[str], place: Place) -> Place:
    for part in parts:
        if part in ("", "."):
            if place.kind != "folder" and (part or place.kind != "none"):
                raise Unfollowed(place.path)
            continue
        _check_way(place)
        if part == "..":
            if place.kind != "folder":
                raise Unfollowed(place.path)
            place = look(belief, posixpath.dirname(place.path))
        else:
            place = look(belief, posixpath.join(place.path, part), has_parent=place.kind == "folder")
    return place


def _check_way(place: Place) -> None:
    """Whether it is known what is below something."""
    if place.kind == "unknown" and belongs_elsewhere(place.path):
        return
    if place.kind in ("unknown", "link") or (place.kind == "folder" and place.mode & 0o700 != 0o700):
        raise Unfollowed(place.path)


def mode_of(text: str, old: int) -> int:
    """Permissions after a `chmod`. Raises Unfollowed where they are unusual."""
    if re.fullmatch(r"0?[0-7]{3}", text):
        return int(text, 8)
    if text in ("+x", "a+x"):
        return old | 0o111
    if text == "u+x":
        return old | 0o100
    raise Unfollowed(text)
