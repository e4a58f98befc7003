"""`Belief`: what is certain about a simulated machine: its folder, variables and files."""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections.abc import Iterable
from typing import Any

from agentworld_envs.domains.terminal.effects import Unfollowed, follow, resolve
from agentworld_envs.domains.terminal.scenario import InitialState
from agentworld_envs.domains.terminal.wording import HOME

Facts = dict[str, Any]
_PROMPT = re.compile(r"^[a-z_][\w-]*@[\w-]+:([^\n]*?)[$#] ?$")
_CAT = re.compile(r"cat (?:-- )?([\w./~+-]+)")


class Belief:
    """Known paths with their facts. What is not known is either unknown for sure or was never there."""

    def __init__(self, cwd: str) -> None:
        """An empty machine of which everything is known."""
        self.cwd: str | None = cwd
        """The shell's folder, `None` when not known."""
        self.variables: dict[str, str] = {}
        """Variables that were set by plain assignments and `export`."""
        self.files: dict[str, Facts | None] = {}
        """Path -> facts as in `checks.Facts`; `None` for what was removed."""
        self.unknown: set[str] = set()
        """Paths of which nothing is known any more; so is what is below them."""
        self.processes: tuple[str, ...] | None = ()
        """Command lines of what runs in the background, `None` when not known."""

    @classmethod
    def at_start(cls, start: InitialState) -> Belief:
        """What a task says. Setup commands and services are not followed: all files are unknown after them."""
        belief = cls(start.cwd)
        for path, entry in start.files.items():
            if entry.link is not None:
                belief.files[path] = {"type": "link", "target": entry.link}
            elif entry.folder:
                belief.files[path] = {"type": "folder", "mode": entry.mode or "755"}
            else:
                belief.files[path] = {"type": "file", "mode": entry.mode or "644", "data": entry.data}
        for path in start.files:
            belief.add_parents(path)
        for path in (start.cwd, *start.folders, HOME):
            belief.add_parents(path)
            belief.files.setdefault(path, {"type": "folder", "mode": "755"})
        belief.processes = tuple(start.services)
        belief.variables.update(start.env)
        if start.setup or start.services:
            belief.forget_all()
        return belief

    def fork(self) -> Belief:
        """An independent copy. Facts are shared: they are replaced, never changed."""
        twin = Belief.__new__(Belief)
        twin.cwd, twin.processes = self.cwd, self.processes
        twin.variables, twin.files, twin.unknown = dict(self.variables), dict(self.files), set(self.unknown)
        return twin

    # -- what is known -----------------------------------------------------------------------------------------------

    def look(self, path: str) -> tuple[bool, Facts | None]:
        """Whether it is known what is at a path, and what."""
        if any(path == lost or path.startswith(lost.rstrip("/") + "/") for lost in self.unknown):
            return path in self.files, self.files.get(path)
        return True, self.files.get(path)

    def below(self, root: str) -> list[str] | None:
        """Every known path below a folder, `None` when not all of them are known."""
        if not self.look(root)[0] or any(f"{lost}/".startswith(root.rstrip("/") + "/") for lost in self.unknown):
            return None
        return sorted(p for p, entry in self.files.items() if entry is not None and p.startswith(root + "/"))

    def facts(self, paths: Iterable[str], trees: Iterable[str]) -> Facts:
        """Evidence for checks: what is known of these paths and trees."""
        found: dict[str, Facts | None] = {}
        listings: dict[str, list[str] | None] = {}
        for root in trees:
            inside = self.below(root)
            if inside is None:
                continue
            listings[root] = inside if self.files.get(root) is not None else None
            found.update({path: self.files[path] for path in inside})
        for path in paths:
            known, entry = self.look(path)
            if known:
                found[path] = entry
        facts: Facts = {"paths": found, "trees": listings, "runs": {}}
        if self.processes is not None:
            facts["processes"] = list(self.processes)
        return facts

    # -- what changes ------------------------------------------------------------------------------------------------

    def add_parents(self, path: str) -> None:
        """The folders above a path are there."""
        while (path := posixpath.dirname(path)) not in ("/", ""):
            self.files.setdefault(path, {"type": "folder", "mode": "755"})

    def put(self, path: str, entry: Facts | None) -> None:
        """Something is at a path now, or nothing, with nothing below."""
        for inner in [p for p in self.files if p.startswith(path + "/")]:
            del self.files[inner]
        self.unknown = {lost for lost in self.unknown if lost != path and not lost.startswith(path + "/")}
        self.files[path] = entry

    def forget(self, path: str) -> None:
        """Nothing is known of a path and what is below it."""
        for inner in [p for p in self.files if p == path or p.startswith(path + "/")]:
            del self.files[inner]
        self.unknown.add(path)

    def forget_all(self) -> None:
        """Anything may have happened."""
        self.files.clear()
        self.unknown = {"/"}

    def run(self, command: str, observation: str) -> None:
        """Take note of a shell command and of the screen after it."""
        output, cwd = _read_screen(command, observation)
        try:
            follow(self, command)
        except Unfollowed:
            self.forget_all()
            self.processes = None
            self.cwd = cwd
        else:
            match = _CAT.fullmatch(command.strip())
            if match and output is not None:
                with contextlib.suppress(Unfollowed):
                    self._show(resolve(self, match[1]), output)

    def _show(self, path: str, output: str) -> None:
        """A file that was not known has been shown."""
        if not self.look(path)[0] and not output.startswith("cat: ") and "bytes left out" not in output:
            self.put(path, {"type": "file", "data": output.encode()})

    def type(self, keys: list[str]) -> None:
        """Take note of keystrokes: lines are commands of another shell, all else is not followed."""
        cwd, variables = self.cwd, self.variables
        self.cwd, self.variables = None, {}
        for line in "".join(keys).split("\n"):
            if line.strip():
                try:
                    follow(self, line)
                except Unfollowed:
                    self.forget_all()
                    self.processes = None
        self.cwd, self.variables = cwd, variables


def _read_screen(command: str, observation: str) -> tuple[str | None, str | None]:
    """What a command printed and the folder of the next prompt; `None` for what the screen does not say."""
    lines = observation.rstrip().split("\n")
    last = _PROMPT.match(lines[-1])
    if last is None:
        return None, None
    cwd = last[1].replace("~", "/home/agent", 1) if last[1].startswith("~") else last[1]
    echo = command.count("\n") + 1
    if len(lines) <= echo or not lines[0].rstrip().endswith(command.split("\n")[0].rstrip()):
        return None, cwd
    return "".join(line + "\n" for line in lines[echo:-1]), cwd
