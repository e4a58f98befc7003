"""`reward="verifier"`: the domain's code over the evidence that the episode itself has produced."""

from __future__ import annotations

from collections.abc import Sequence

from agentworld_envs.interface import EpisodeView, Failure, JudgeError, Judgement, RewardModel, Verdict, classify


class VerifierReward(RewardModel):
    """Scores every step by `Session.verdict`.

    On the real backend the evidence is the state of the world. On a world model it is what the simulator has *shown*,
    as its tracker derived it: an honest score of the simulated episode, which may be wrong about the real world.
    Use `reward="replay"` to know.
    """

    name = "verifier"

    def final(self, episodes: Sequence[EpisodeView], latest: Sequence[Judgement]) -> list[Judgement]:
        verdicts = [view.session.final(view.steps) for view in episodes]
        return [Judgement(verdict, undetermined(verdict)) for verdict in verdicts]


def undetermined(verdict: Verdict) -> Failure | None:
    """The failure that stands for a verdict which the evidence does not allow, else `None`."""
    if verdict.determined:
        return None
    return classify(
        JudgeError(
            "What the simulator showed does not tell whether the task is solved. Use reward='replay', which does the "
            "same actions in the real world."
        )
    )
