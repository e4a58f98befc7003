"""`Likeness`: what can be said of a prediction without a judge."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from agentworld_envs.backends.world_model.codecs import CODECS
from agentworld_envs.evaluation.agentworldbench.answers import Answer
from agentworld_envs.evaluation.text_metrics import edit_similarity, exact, token_f1


@dataclass(frozen=True, slots=True)
class Likeness:
    """Rule-based scores of one prediction against the real observation, each in [0, 1]."""

    exact: float
    """1 when the texts are equal."""
    exact_trimmed: float
    """1 when they are equal but for white space at line ends and around the whole."""
    edit_similarity: float
    token_f1: float
    well_formed: float
    """1 when the answer is one closed block and was not cut."""
    same_form: float
    """1 when both have the same markup of the domain (results, tree, JSON, screen, ...), or neither has any."""

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


MEASURES: Final = ("exact", "exact_trimmed", "edit_similarity", "token_f1", "well_formed", "same_form")
NOTHING: Final = Likeness(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Of a row without an answer."""


def likeness(domain: str, answer: Answer, truth: str) -> Likeness:
    """Compare a prediction with the real observation. Pure; needs no model."""
    if answer.failed:
        return NOTHING
    # What stands for "no answer" is no text of the simulator.
    silent = not answer.tag_closed and answer.empty
    text = "" if silent else answer.text
    return Likeness(
        exact=float(not silent and exact(text, truth)),
        exact_trimmed=float(not silent and exact(_trimmed(text), _trimmed(truth))),
        edit_similarity=0.0 if silent else edit_similarity(text, truth),
        token_f1=0.0 if silent else token_f1(text, truth),
        well_formed=float(answer.kinds == ("ok",)),
        same_form=float(not silent and _form(domain, text) == _form(domain, truth)),
    )


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().split("\n"))


def _form(domain: str, text: str) -> str:
    codec = CODECS.get(domain)
    return "" if codec is None else codec.read_observation(text).form
