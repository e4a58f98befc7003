"""`ReplayAgent`: plays what was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ReplayDivergence, classify
from agentworld_envs.trajectories import Trajectory


class ReplayAgent(Agent):
    """Plays the recorded actions of the trajectory with the episode's task and seed, else of the first with its task.

    It fails, rather than invents, when there is no such trajectory or when its actions are used up.
    """

    name = "replay"

    def __init__(self, trajectories: Sequence[Trajectory]) -> None:
        """Args: trajectories: from `read_trajectories`."""
        self._trajectories = list(trajectories)
        self._playing: dict[int, tuple[Trajectory | None, str]] = {}
        self._steps: dict[int, int] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        of_task = [t for t in self._trajectories if t.reset.task.id == episode.task.id]
        same_seed = [t for t in of_task if t.reset.seed == episode.seed]
        candidates = same_seed or of_task
        self._playing[slot] = (candidates[0] if candidates else None, episode.task.id)
        self._steps[slot] = 0

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        return [self._next(slot) for slot in slots]

    def _next(self, slot: int) -> Decision:
        trajectory, task_id = self._playing[slot]
        step = self._steps[slot]
        if trajectory is None:
            return classify(ReplayDivergence(f"The recording holds no episode of task {task_id!r}."))
        if step >= len(trajectory.steps):
            return classify(ReplayDivergence(f"The recording of task {task_id!r} has only {step} actions."))
        self._steps[slot] = step + 1
        return trajectory.steps[step].action
