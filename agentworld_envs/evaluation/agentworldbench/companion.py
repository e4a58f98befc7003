"""`Likeness`: what can be said of a prediction without a judge."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from agentworld_envs.backends.world_model.codecs import CODECS
from agentworld_envs.evaluation.agentworldbench.answers import Answer, prediction_digest, read_answer
from agentworld_envs.evaluation.agentworldbench.journal import Journal
from agentworld_envs.evaluation.agentworldbench.rows import Row
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
LIKENESS: Final = "likeness.jsonl"
"""Name of the journal."""
VERSION: Final = 1
"""Changes whenever a measure does."""
BATCH: Final = 64
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


def measure(
    rows: Sequence[Row],
    answers: Mapping[str, Mapping[str, Any]],
    out: str | os.PathLike[str],
    prefill: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Likeness]:
    """Compare every answer; what is in the journal already is not compared again (long texts take their time).

    Args:
        rows: the questions. answers: row key -> line of the journal of `infer`.
        out: folder of the journal `likeness.jsonl`, which has the measures of each row.
        prefill: what the simulator's answers were begun with.
        progress: called with the rows done and all rows.

    Returns:
        Row key -> likeness, for rows with an answer.

    Raises:
        ConfigError: the folder cannot be written, or is in use.
    """
    found: dict[str, Likeness] = {}
    batch: list[dict[str, Any]] = []
    with Journal(os.path.join(out, LIKENESS), {"step": "likeness"}) as journal:
        for number, row in enumerate(rows, start=1):
            if row.key in answers:
                answer = read_answer(answers[row.key], prefill)
                name = f"{VERSION}/{prediction_digest(answer)}"
                line = journal.results.get(row.key)
                if line is None or line.get("answer") != name:
                    measures = likeness(row.domain, answer, row.truth).to_dict()
                    line = {"key": row.key, "domain": row.domain, "answer": name, **measures}
                    batch.append(line)
                found[row.key] = Likeness(**{measure: line[measure] for measure in MEASURES})
            if len(batch) >= BATCH or (batch and number == len(rows)):
                journal.append(batch)
                batch = []
            if progress is not None:
                progress(number, len(rows))
    return found
