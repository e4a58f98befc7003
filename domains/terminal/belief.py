"""`Belief`: what is certain about a simulated machine: its folder and files."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from agentworld_envs.domains.terminal.effects import Unfollowed, changes_meaning, follow, safe_link
from agentworld_envs.domains.terminal.keystrokes import Stroke
from agentworld_envs.domains.terminal.places import ELSEWHERE, Place, find
from agentworld_envs.domains.terminal.scenario import WORKSPACE, WRITABLE, InitialState
from agentworld_envs.domains.terminal.wording import HOME

Facts = dict[str, Any]
_PROMPT = re.compile(r"^[a-z_][\w-]*@[\w-]+:([^\n]*?)[$#] ?$")
_CAT = re.compile(r"cat ([\w./~+][\w./~+-]*)", re.ASCII)
_TYPABLE = re.compile(r"[ -~\n]*")
_MOST_TYPED = 2000
"""Characters of one list; a terminal does not keep more while a program runs."""
_SHORTEST_WAIT = 0.1
"""Seconds after which simple commands are certain to have been run."""
_MOST_BYTES = 2**21
"""Of contents; beyond it evidence leaves some out."""


class Blurred(NamedTuple):
    """A regular file of which the contents are not known."""

    mode: int
    lines: bool
    """It is empty or ends with a line break."""


class Belief:
    """Known paths with their facts. What is not known is either unknown for sure or was never there."""

    def __init__(self, cwd: str) -> None:
        """An empty machine of which everything is known."""
        self.cwd: str | None = cwd
        """The shell's folder, `None` when not known."""
        self.typed_cwd: str | None = None
        """The folder of the shell that keystrokes go to."""
        self.certain = True
        """Whether commands mean what they say, and nothing else changes files. Never again once it is lost: a command
        that was not followed may have left a function `echo` behind, or a process that writes."""
        self.files: dict[str, Facts | None] = {"/": {"type": "folder", "mode": "755"}}
        """Path -> facts as in `checks.Facts`; `None` for what was removed."""
        self.blurred: dict[str, Blurred] = {}
        """Files with unknown contents."""
        self.roots: set[str] = {WORKSPACE, HOME, cwd}
        """Folders of which all is known, but for what is `unknown`."""
        self.unknown: set[str] = set()
        """Paths of which nothing is known any more; so is what is below them."""
        self.processes: tuple[str, ...] | None = ()
        """Command lines of what runs in the background, `None` when not known."""
        self.variables: dict[str, str | None] = {}
        """What was set in the shell; `None` for a value that is not known. No evidence: for the simulator's prompt."""
        self.typed_variables: dict[str, str | None] = {}
        """The same of the shell that keystrokes go to."""

    @classmethod
    def at_start(cls, start: InitialState) -> Belief:
        """What a task says. Setup commands and services are not followed: all files are unknown after them."""
        belief = cls(start.cwd)
        belief.roots |= {f"/{path.split('/')[1]}" for path in (start.cwd, *start.folders, *start.files)}
        belief.roots = {root for root in belief.roots if root in WRITABLE or root == HOME} - set(ELSEWHERE)
        safe = not any(map(changes_meaning, start.env))
        for path, entry in start.files.items():
            if entry.link is not None:
                belief.files[path] = {"type": "link", "target": entry.link}
                safe = safe and safe_link(path, entry.link)
            else:
                mode = int(entry.mode or ("755" if entry.folder else "644"), 8)
                belief.files[path] = {"type": "folder" if entry.folder else "file", "mode": f"{mode:o}"}
                if entry.data is not None and mode & 0o400:
                    belief.files[path] = {**(belief.files[path] or {}), "data": entry.data}
        for path in start.files:
            belief.add_parents(path)
        for path in (start.cwd, *start.folders, HOME, *ELSEWHERE):
            belief.add_parents(path)
            belief.files.setdefault(path, {"type": "folder", "mode": "755"})
        if start.setup or start.services or not safe:
            belief.lose()
        belief.processes = tuple(start.services) if safe else None
        belief.variables.update(start.env)
        return belief

    def fork(self) -> Belief:
        """An independent copy. Facts are shared: they are replaced, never changed."""
        twin = Belief.__new__(Belief)
        twin.cwd, twin.typed_cwd = self.cwd, self.typed_cwd
        twin.certain, twin.processes = self.certain, self.processes
        twin.files, twin.blurred = dict(self.files), dict(self.blurred)
        twin.roots, twin.unknown = set(self.roots), set(self.unknown)
        twin.variables, twin.typed_variables = dict(self.variables), dict(self.typed_variables)
        return twin

    # -- what is known -----------------------------------------------------------------------------------------------

    def look(self, path: str) -> tuple[bool, Facts | None]:
        """Whether it is known what is at a path, and what."""
        if path in self.files:
            return True, self.files[path]
        return not (path in self.blurred or self._is_lost(path)), None

    def _is_lost(self, path: str) -> bool:
        lost = any(path == name or path.startswith(name.rstrip("/") + "/") for name in self.unknown)
        return lost or not any(path == root or path.startswith(root + "/") for root in self.roots)

    def names_below(self, root: str) -> list[str] | None:
        """Every path below a folder, `None` when not all of them are known."""
        if self._is_lost(root) or any(f"{lost}/".startswith(f"{root}/") for lost in self.unknown):
            return None
        names = [path for path, entry in self.files.items() if entry is not None] + list(self.blurred)
        return sorted(path for path in names if path.startswith(root + "/"))

    def below(self, root: str) -> list[str] | None:
        """Every path below a folder, `None` when not all of them are known with their facts."""
        names = self.names_below(root)
        return None if names is None or any(name in self.blurred for name in names) else names

    def is_open_below(self, root: str) -> bool:
        """Whether everything below a folder is known and can be removed."""
        names = self.names_below(root)
        entries = [self.files.get(path) for path in [root, *(names or ())]]
        return names is not None and not any(_is_locked(entry) for entry in entries)

    def may_go(self, path: str) -> bool:
        """Whether something can be removed: no shell is in there, and it is no folder of the machine's own."""
        needed = [cwd for cwd in (self.cwd, self.typed_cwd) if cwd is not None]
        return not any(f"{kept}/".startswith(f"{path}/") for kept in [*needed, *WRITABLE])

    def facts(self, paths: Iterable[str], trees: Iterable[str]) -> Facts:
        """Evidence for checks: what is known of these paths and trees."""
        found: dict[str, Facts | None] = {}
        listings: dict[str, list[str] | None] = {}
        for root in trees:
            inside = self.below(root)
            entry = self.files.get(root)
            if inside is None or not self._is_in_sight(root) or (entry is not None and entry["type"] == "link"):
                continue
            listings[root] = inside if entry is not None and entry["type"] == "folder" else None
            found.update({path: self.files[path] for path in inside})
        for path in paths:
            known, entry = self.look(path)
            if known and path not in WRITABLE and self._is_in_sight(path):
                found[path] = entry
        if sum(len(entry.get("data", b"")) for entry in found.values() if entry is not None) > _MOST_BYTES:
            found, listings = {}, {}
        facts: Facts = {"paths": found, "trees": listings, "runs": {}}
        if self.processes is not None:
            facts["processes"] = list(self.processes)
        return facts

    def _is_in_sight(self, path: str) -> bool:
        """Whether a path is written plainly and neither a link nor a locked folder is on the way to it."""
        if path != posixpath.normpath(path):
            return False
        while (path := posixpath.dirname(path)) not in ("/", ""):
            entry = self.files.get(path)
            if entry is not None and (entry["type"] == "link" or _is_locked(entry)):
                return False
        return True

    # -- what changes ------------------------------------------------------------------------------------------------

    def add_parents(self, path: str) -> None:
        """The folders above a path are there."""
        while (path := posixpath.dirname(path)) not in ("/", ""):
            self.files.setdefault(path, {"type": "folder", "mode": "755"})

    def _clear(self, path: str) -> None:
        for known in (self.files, self.blurred):
            for inner in [p for p in known if p == path or p.startswith(path + "/")]:
                del known[inner]
        self.unknown = {lost for lost in self.unknown if lost != path and not lost.startswith(path + "/")}

    def put(self, path: str, entry: Facts | None) -> None:
        """Something is at a path now, or nothing, with nothing below."""
        self._clear(path)
        self.files[path] = entry

    def blur(self, path: str, mode: int, *, lines: bool) -> None:
        """A regular file is at a path, and its contents are not known."""
        self._clear(path)
        self.blurred[path] = Blurred(mode, lines)

    def forget(self, path: str) -> None:
        """Nothing is known of a path and what is below it."""
        self._clear(path)
        self.unknown.add(path)

    def lose(self) -> None:
        """Anything may have happened, and may still happen."""
        self.files.clear()
        self.blurred.clear()
        self.unknown = {"/"}
        self.typed_cwd = None
        self.processes = None
        self.variables, self.typed_variables = {}, {}
        self.certain = False

    # -- what is done ------------------------------------------------------------------------------------------------

    def run(self, command: str, observation: str) -> None:
        """Take note of a shell command and of the screen after it."""
        output, cwd = read_screen(command, observation)
        try:
            follow(self, command)
        except Unfollowed:
            self.lose()
        match = _CAT.fullmatch(command.strip())
        if not self.certain:
            self.cwd = cwd
        elif match and output is not None:
            with contextlib.suppress(Unfollowed):
                self._show(find(self, re.sub("^~", HOME, match[1])), output)

    def _show(self, place: Place, output: str) -> None:
        """A file of unknown contents has been shown. Its last line is shown as if it had a line break."""
        plain = all(char.isprintable() or char in "\n\t" for char in output) and "\ufffd" not in output
        left_out = output.startswith("cat: ") or "bytes left out" in output
        if place.path in self.blurred and place.lines and place.mode & 0o400 and plain and not left_out:
            self.put(place.path, {"type": "file", "mode": f"{place.mode:o}", "data": output.encode()})

    def type(self, strokes: Sequence[Stroke]) -> None:
        """Take note of keystrokes. Whole lines are commands of another shell; all else is not followed."""
        cwd = self.cwd
        self.cwd, self.typed_cwd = self.typed_cwd, cwd  # each is in the way of removing folders
        variables, self.variables = self.variables, self.typed_variables
        try:
            _check_strokes(strokes)
            if self.look(f"{HOME}/.inputrc") != (True, None):
                raise Unfollowed("keys may mean anything")
            for stroke in strokes:
                for line in stroke.keys.split("\n"):
                    follow(self, line, typed=True)
            self.forget(f"{HOME}/.bash_history")
            self.cwd, self.typed_cwd = cwd, self.cwd
            self.variables, self.typed_variables = variables, self.variables
        except Unfollowed:
            self.lose()
            self.cwd = cwd


def _is_locked(entry: Facts | None) -> bool:
    return entry is not None and entry["type"] == "folder" and int(entry["mode"], 8) & 0o700 != 0o700


def _check_strokes(strokes: Sequence[Stroke]) -> None:
    """Raise Unfollowed unless they are whole lines of ordinary characters, with some time to run."""
    for stroke in strokes:
        whole = not stroke.keys or (stroke.keys.endswith("\n") and stroke.typed == stroke.keys.replace("\n", "\r"))
        if not whole or "!" in stroke.keys or not _TYPABLE.fullmatch(stroke.keys):
            raise Unfollowed(stroke.keys)
    if sum(len(stroke.keys) for stroke in strokes) > _MOST_TYPED:
        raise Unfollowed("too much at a time")
    if any(stroke.keys.strip() for stroke in strokes) and sum(stroke.seconds for stroke in strokes) < _SHORTEST_WAIT:
        raise Unfollowed("it may not have been run yet")


def read_screen(command: str, observation: str) -> tuple[str | None, str | None]:
    """What a command printed and the folder of the next prompt; `None` for what the screen does not say."""
    lines = observation.rstrip().split("\n")
    last = _PROMPT.match(lines[-1])
    if last is None:
        return None, None
    cwd = last[1].replace("~", HOME, 1) if last[1].startswith("~") else last[1]
    echo = command.count("\n") + 1
    if len(lines) <= echo or not lines[0].rstrip().endswith(command.split("\n")[0].rstrip()):
        return None, cwd
    return "".join(line + "\n" for line in lines[echo:-1]), cwd
