"""`reward="replay"`: act in a simulation, be scored in reality.

At the end of the episode its actions are executed again in the real world, and the domain's code scores that.
(Word2World calls the resulting success rate WM2Real.)
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from agentworld_envs.interface import EpisodeView, Judgement, RewardModel, Usage, Verdict, classify
from agentworld_envs.rewards.verifier import undetermined


class ReplayReward(RewardModel):
    """Scores 0 until the episode ends, then what the same actions achieve in the real world.

    The episode ends when the session's own verdict is done (the simulator showed the goal reached), when the world
    ends, or at the step limit. A real world that cannot be opened or stepped makes the reward invalid, never 0.
    """

    name = "replay"
    at_end = True

    def step(self, episodes: Sequence[EpisodeView]) -> list[Judgement]:
        return [Judgement(Verdict(0.0, False, view.session.verdict().done)) for view in episodes]

    def final(self, episodes: Sequence[EpisodeView], latest: Sequence[Judgement]) -> list[Judgement]:
        return [self._execute(view) for view in episodes]

    def _execute(self, view: EpisodeView) -> Judgement:
        domain, task = view.session.domain, view.session.task
        started = time.perf_counter()
        verdict = Verdict(0.0, False)
        failure = None
        try:
            world = domain.world(task)
            try:
                world.reset()
                verdict = domain.verify(task, world.evidence())
                for action, _ in view.transcript:
                    if verdict.done or world.ended:  # the real episode would have been over here
                        break
                    world.act(action)
                    verdict = domain.verify(task, world.evidence())
                verdict = domain.verify(task, world.final_evidence())
            finally:
                world.close()
        except Exception as error:  # noqa: BLE001 - any escape of one episode's world is that episode's failure
            failure = classify(error)
        failure = failure or undetermined(verdict)
        return Judgement(verdict, failure, Usage(seconds=time.perf_counter() - started))
