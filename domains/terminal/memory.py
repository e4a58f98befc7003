"""`Memory`: what was known and shown of a simulated machine earlier, also where it is not certain any more.

It is for the simulator's prompt alone, and no evidence.
"""

from __future__ import annotations

import contextlib
import posixpath
from typing import NamedTuple

from agentworld_envs.domains.terminal.belief import Belief, read_screen
from agentworld_envs.domains.terminal.places import find
from agentworld_envs.domains.terminal.readers import printed
from agentworld_envs.domains.terminal.words import Unfollowed, read_script

_LONGEST = 8000
"""Longer contents are not kept."""


class Shown(NamedTuple):
    """Contents of a file as they were once."""

    text: str
    turn: int
    how: str
    """`shown` or `written`."""


class Memory:
    """Follows an episode beside the belief."""

    def __init__(self, start: Belief) -> None:
        """Args: start: what is known at the start; not changed by anybody."""
        self.start = start
        self.before: Belief | None = None
        """What was known right before nothing was certain any more; `None` as long as it is, or where it never was."""
        self.since = "by the setup of the machine" if not self.start.certain else ""
        """Since when nothing is certain, in words."""
        self.shown: dict[str, Shown] = {}
        """Path -> contents that were printed or written since then."""
        self._turn = 0

    def begin(self, belief: Belief) -> Belief | None:
        """One more turn: what may have to be remembered of the belief before it."""
        self._turn += 1
        return belief.fork() if belief.certain else None

    def end(self, before: Belief | None, belief: Belief, command: str, screen: str) -> None:
        """Take note of a turn.

        Args:
            before: what `begin` gave.
            belief: what is known after the turn.
            command: shell text; empty for keystrokes.
            screen: the answer to it.
        """
        if belief.certain:
            return
        if before is not None:
            self.before = before
            self.since = f"in or after turn {self._turn}"
        for path in [path for path in self.shown if posixpath.basename(path) in command]:
            if ">" in command or "|" in command or not command.startswith("cat "):  # it may have been changed
                del self.shown[path]
        with contextlib.suppress(Unfollowed):
            self._look(before or belief, command, screen)

    def _look(self, belief: Belief, command: str, screen: str) -> None:
        output, _ = read_screen(command, screen)
        commands = read_script(command)
        if belief.cwd is None or len(commands) != 1 or len(commands[0].stages) != 1:
            return
        [only] = commands
        stage = only.stages[0]
        if only.target is not None and stage and not only.append:
            data = printed([stage], only.document)
            if data is not None:
                self._keep(belief, only.target.plain, data.decode(), "written")
            return
        is_cat = len(stage) == 2 and stage[0].text == "cat" and not only.fed
        if is_cat and output is not None and not output.startswith("cat: "):
            self._keep(belief, stage[1].plain, output, "shown")

    def _keep(self, belief: Belief, word: str, text: str, how: str) -> None:
        path = word if word.startswith("/") else f"{belief.cwd}/{word}"
        with contextlib.suppress(Unfollowed):
            path = find(belief, word).path
        if len(text) <= _LONGEST and "/.." not in path and "/./" not in path:
            self.shown[path] = Shown(text, self._turn, how)

    def fork(self) -> Memory:
        """An independent memory of the same."""
        twin = Memory.__new__(Memory)
        twin.start, twin.before, twin.since = self.start, self.before, self.since
        twin.shown, twin._turn = dict(self.shown), self._turn
        return twin
