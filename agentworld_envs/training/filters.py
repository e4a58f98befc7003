"""Filters: which episodes and which turns are no data.

After the Qwen-AgentWorld report (arXiv 2606.24597, filters of its trajectories): fewer than two turns, tools outside of
the action space, CAPTCHA and HTTP error pages, retry loops, screens that do not change; and our own rule that a failure
is never data. An episode that is dropped is dropped as a whole. A turn that is dropped stays in the history of the
later ones, since what it did is still so; it is only not learned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agentworld_envs.episode import MAX_OBSERVATION_CHARS
from agentworld_envs.interface import ConfigError, Injection
from agentworld_envs.trajectories import StepLine, Trajectory

EpisodeKind = Literal["failure", "simulated", "few_turns", "foreign_tool", "error_page", "retry_loop"]
"""Why an episode is dropped:

- `failure`: its rewards are not valid, because the machinery failed.
- `simulated`: an observation comes from a world model.
- `few_turns`: fewer than `min_turns` actions reached the environment.
- `foreign_tool`: it calls a tool that its own action space does not have.
- `error_page`: a page asks for a CAPTCHA, or is an HTTP error; only in domains that show pages.
- `retry_loop`: more than half of its turns are `retry` or `unchanged`.
"""
TurnKind = Literal["rejected", "fault", "clipped", "unchanged", "retry"]
"""Why a turn is dropped:

- `rejected`: the action was malformed and never reached the environment. The world model does not see it either.
- `fault`: something went wrong on purpose (`control=`): the observation is not what the environment answered.
- `clipped`: the observation was longer than the observation space; its middle is not recorded.
- `unchanged`: the same action and observation as in the turn before; where an observation is a whole screen, the same
  observation is enough.
- `retry`: the same action had the same observation twice before.
"""

PAGES: Final = frozenset({"web", "search"})
"""Domains whose observations are pages of the web."""
SCREENS: Final = frozenset({"web", "android", "os"})
"""Domains whose observations show a whole screen each time."""

_CLIPPED = re.compile(r"\n\[\.\.\. [0-9]+ characters left out \.\.\.\]\n")
_HEAD = 600
"""An error page says so at its beginning; behind that, a page may well talk about errors."""
_ERROR_PAGE = re.compile(
    r"\b(?:re)?captcha\b|verify (?:that )?you are (?:a )?human|are you a robot|unusual traffic from your"
    r"|checking your browser before|attention required! \| cloudflare|enable javascript and cookies to continue"
    r"|(?:^|\n|title: *|http/[0-9.]+ |\berror )(?:40[0134-9]|429|451|50[0-4]|52[0-7])\b[ :-]*"
    r"(?:bad request|unauthori[sz]ed|forbidden|(?:page )?not found|method not allowed|request timeout|gone"
    r"|too many requests|internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Filters:
    """What is kept. The defaults drop all that the kinds above name."""

    min_turns: int = 2
    """Fewest actions that reached the environment (>= 1)."""
    pages: bool | None = None
    """Whether observations are pages, which may be errors; `None`: as the domain's name says."""
    screens: bool | None = None
    """Whether an observation is a whole screen; `None`: as the domain's name says."""
    allowed_repeats: int = 2
    """How often an action with the same observation is learned from in one episode (>= 1)."""
    simulated: bool = False
    """Whether observations of a world model are data, too."""

    def __post_init__(self) -> None:
        """Raises: ConfigError: a number out of range."""
        for name in ("min_turns", "allowed_repeats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"Expected {name} to be at least 1, got {getattr(self, name)}.")

    def episode(self, trajectory: Trajectory) -> EpisodeKind | None:
        """Why the episode is dropped, `None` when it is kept."""
        executed = [step for step in trajectory.steps if step.tool]
        if not trajectory.reward_valid:
            return "failure"
        if not self.simulated and any(_simulated(step) for step in executed):
            return "simulated"
        if len(executed) < self.min_turns:
            return "few_turns"
        names = {tool.get("function", {}).get("name") for tool in trajectory.reset.tools}
        if any(step.tool not in names for step in executed):
            return "foreign_tool"
        pages = trajectory.reset.domain in PAGES if self.pages is None else self.pages
        if pages and any(_ERROR_PAGE.search(step.observation[:_HEAD]) for step in executed):
            return "error_page"
        loops = sum(kind in ("retry", "unchanged") for kind in self.turns(trajectory).values())
        return "retry_loop" if 2 * loops > len(executed) else None

    def turns(self, trajectory: Trajectory) -> Mapping[int, TurnKind]:
        """Number of the step -> why it is dropped, for those that are."""
        screens = trajectory.reset.domain in SCREENS if self.screens is None else self.screens
        dropped: dict[int, TurnKind] = {}
        seen: Counter[tuple[str, str]] = Counter()
        before = ("", trajectory.reset.observation)
        for step in trajectory.steps:
            if not step.tool:
                dropped[step.step] = "rejected"
                continue
            turn = (step.command, step.observation)
            if Injection.recorded(step.flags) is not None:
                dropped[step.step] = "fault"
            elif _clipped(step.observation):
                dropped[step.step] = "clipped"
            elif turn == before or (screens and turn[1] == before[1]):
                dropped[step.step] = "unchanged"
            elif seen[turn] >= self.allowed_repeats:
                dropped[step.step] = "retry"
            seen[turn] += 1
            before = turn
        return dropped


def _simulated(step: StepLine) -> bool:
    """Whether a world model made the observation, also when it was replayed from a recording."""
    source = step.flags.get("recorded_source", "replay") if step.source == "replay" else step.source
    return bool(source != "real")


def _clipped(observation: str) -> bool:
    # What is clipped is nearly as long as allowed: a short text that talks about the marker is none.
    return len(observation) > MAX_OBSERVATION_CHARS - 200 and _CLIPPED.search(observation) is not None
