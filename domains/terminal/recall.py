"""`recall`: what is so on the simulated machine right before a command, in words, for the simulator's prompt.

It is taken from what the initial state said and the episode has shown since. It knows neither checks nor solutions.
"""

from __future__ import annotations

import contextlib
import fnmatch
import posixpath
import re
from collections.abc import Iterable

from agentworld_envs.domains.terminal import wording
from agentworld_envs.domains.terminal.belief import Belief
from agentworld_envs.domains.terminal.memory import Memory

_WORD = re.compile(r"[^\s'\"`;|&<>(){}$]+")
_LEFT_OUT = "[... {} characters left out ...]"
_MOST_NAMES = 200
"""Names of one listing."""
_NAMED_SHARE = 0.7
"""Share of the room that is left for the contents of what the command names."""
_SHORTEST_SHARE = 80
"""Characters of contents below which a file is only named."""


def recall(belief: Belief, memory: Memory, text: str, limit: int, *, typed: bool = False) -> str:
    """The tracked state as far as a command may touch it.

    Args:
        belief: what is known now.
        memory: what was known or shown before.
        text: the command.
        limit: most characters. What the command names comes first, contents are cut so that each file has its share,
            and what does not fit is left out from the end.
        typed: it is typed into the terminal, which has a shell of its own.
    """
    cwd = belief.typed_cwd if typed else belief.cwd
    page = _Page(limit)
    prompt = "" if cwd is None or typed else wording.prompt(cwd).rstrip(" ")
    page.reserve(prompt)
    page.add("Folder: " + (cwd or "not known"))
    if belief.certain:
        _tell_certain(page, belief, memory, text, cwd, typed=typed)
    else:
        _tell_uncertain(page, memory, text, cwd)
    return page.text(prompt)


class _Page:
    """Lines within a limit."""

    def __init__(self, limit: int) -> None:
        self._lines: list[str] = []
        self._limit = limit
        self.left = limit
        """Characters that may still be written."""

    def reserve(self, text: str) -> None:
        self.left -= len(text) + 1

    def add(self, line: str) -> bool:
        """Add a line, or leave it out where it does not fit."""
        if len(line) + 1 > self.left:
            return False
        self._lines.append(line)
        self.left -= len(line) + 1
        return True

    def add_all(self, head: str, lines: Iterable[str]) -> None:
        """A heading with as many of its lines as fit."""
        for number, line in enumerate(lines):
            if not self.add(f"{head}\n{line}" if number == 0 else line):
                return

    def add_contents(self, head: str, contents: list[tuple[str, str]], *, share: float = 1.0) -> None:
        """Files with their contents: short ones whole, of the others each its part of a share of what is left."""
        room = int(self.left * share) - len(head) - 1
        shares = _shares([len(title) + len(body) + 6 for title, body in contents], room)
        shown = []
        for (title, body), part in zip(contents, shares, strict=True):
            room = part - len(title) - 6
            whole = body.rstrip("\n")
            if len(whole) > room:
                note = _LEFT_OUT.format(len(whole))
                if room < _SHORTEST_SHARE + len(note):
                    continue
                kept = whole[: room - len(note) - 1]
                whole = f"{kept}\n{_LEFT_OUT.format(len(whole) - len(kept))}"
            shown.append(f"--- {title}\n{whole}")
        self.add_all(head, shown)

    def text(self, prompt: str) -> str:
        whole = "\n".join([*self._lines, prompt] if prompt else self._lines)
        return whole if len(whole) <= self._limit else ""


def _shares(sizes: list[int], room: int) -> list[int]:
    """Room for each: all that the small ones need, and the rest in equal parts."""
    shares = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=lambda index: sizes[index])
    for place, index in enumerate(order):
        shares[index] = max(0, min(sizes[index], room // (len(order) - place)))
        room -= shares[index]
    return shares


def _tell_certain(page: _Page, belief: Belief, memory: Memory, text: str, cwd: str | None, *, typed: bool) -> None:
    variables = belief.typed_variables if typed else belief.variables
    if variables:
        page.add("Variables: " + ", ".join(f"{name}={_value(value)}" for name, value in variables.items()))
    if belief.processes:
        page.add("Background processes: " + "; ".join(belief.processes))
    named = _named(belief, text, cwd)
    page.add_all("The command names:", [_entry(belief, path) for path in named])
    page.add_contents("Their contents:", _texts(belief, named), share=_NAMED_SHARE)
    near = [path for path in _near(belief, named, cwd) if path not in named]
    page.add_all("In its folders:", [_entry(belief, path) for path in near[:_MOST_NAMES]])
    changed = [path for path in _changed(belief, memory.start) if path not in (*named, *near)]
    page.add_all("Changed since the start:", [_entry(belief, path) for path in changed])
    page.add_all("Not known any more:", sorted(belief.unknown - {*named, *near}))
    page.add_contents("Contents:", _texts(belief, [*_changed_first(near, belief, memory.start), *changed]))


def _tell_uncertain(page: _Page, memory: Memory, text: str, cwd: str | None) -> None:
    page.add(f"Not certain: anything that may have been changed {memory.since}")
    before = memory.before
    named = set() if cwd is None else set(_resolved(text, cwd).values())
    shown = sorted(memory.shown.items(), key=lambda item: (item[0] not in named, -item[1].turn))
    contents = [(f"{path} ({fact.how} in turn {fact.turn})", fact.text) for path, fact in shown]
    if before is not None:
        paths = [path for path in _changed(before, memory.start) if path not in memory.shown]
        paths.sort(key=lambda path: path not in named)
        page.add_all("Before that, changed since the start:", [_entry(before, path) for path in paths])
        contents += [(f"{path} (before that)", body) for path, body in _texts(before, paths)]
    page.add_contents("Contents:", contents)


def _value(value: str | None) -> str:
    return "(not known)" if value is None else value if re.fullmatch(r"[\w./:@%+=,-]*", value) else repr(value)


def _resolved(text: str, cwd: str) -> dict[str, str]:
    """Words of a command with the paths that they may mean, in order."""
    found = {}
    for word in _WORD.findall(text):
        path = re.sub(r"^~(?=/|$)", wording.HOME, word.partition("=")[2] or word)
        found[word] = posixpath.normpath(posixpath.join(cwd, path)).replace("//", "/")
    return found


def _named(belief: Belief, text: str, cwd: str | None) -> list[str]:
    """Known paths that a command names, in order; also some that are known not to be there."""
    if cwd is None:
        return []
    known = _known(belief)
    named: dict[str, None] = {}
    for word, path in _resolved(text, cwd).items():
        absent = ("." in word or "/" in word) and belief.look(path) == (True, None)
        if any(sign in path for sign in "*?["):
            named.update(dict.fromkeys(fnmatch.filter(known, path)))
        elif path in known or absent:
            named[path] = None
    return list(named)


def _near(belief: Belief, named: list[str], cwd: str | None) -> list[str]:
    """What is right below the folders that a command names, and below that of the shell."""
    near: dict[str, None] = {}
    for folder in dict.fromkeys([*named, cwd or ""]):
        if (belief.files.get(folder) or {}).get("type") == "folder":
            inside = [path for path in _known(belief) if posixpath.dirname(path) == folder]
            near.update(dict.fromkeys(path for path in inside if belief.look(path) != (True, None)))
    return list(near)


def _known(belief: Belief) -> list[str]:
    """Every path of which anything is known, that it is not known any more included."""
    return sorted({*belief.files, *belief.blurred, *belief.unknown} - {"/"})


def _changed_first(paths: list[str], belief: Belief, start: Belief) -> list[str]:
    changed = set(_changed(belief, start))
    return sorted(paths, key=lambda path: path not in changed)


def _changed(belief: Belief, start: Belief) -> list[str]:
    """Paths that are not as they were at the start."""
    paths = {*belief.files, *belief.blurred}
    changed = []
    for path in sorted(paths):
        if path in belief.blurred or belief.files[path] != start.files.get(path):
            changed.append(path)
    return changed


def _entry(belief: Belief, path: str) -> str:
    """One line about a path: mode, size and name as in the prompt's list of files."""
    if path in belief.blurred:
        return f"{belief.blurred[path].mode:o} {path} (contents not known)"
    known, entry = belief.look(path)
    if not known:
        return f"{path} (not known)"
    if entry is None:
        return f"{path} (not there)"
    if entry["type"] == "link":
        return f"{path} -> {entry['target']}"
    size = f"{len(entry['data'])} " if "data" in entry else ""
    return f"{entry['mode']} {size}{path}{'/' if entry['type'] == 'folder' else ''}"


def _texts(belief: Belief, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Paths with their contents, those that are text and not empty."""
    found = []
    for path in paths:
        data = (belief.files.get(path) or {}).get("data")
        with contextlib.suppress(UnicodeDecodeError):
            if data:
                found.append((path, data.decode()))
    return found
