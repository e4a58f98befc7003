"""`infer`: a simulator's predictions for all rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentworld_envs.backends.world_model.engines import Completion, Engine, GenerationRequest, Sampling
from agentworld_envs.backends.world_model.engines.keys import attempt_seed
from agentworld_envs.evaluation.agentworldbench.asking import (
    Asked,
    ModelConfig,
    Progress,
    ask_all,
    completion_line,
)
from agentworld_envs.evaluation.agentworldbench.journal import Journal
from agentworld_envs.evaluation.agentworldbench.messages import PROMPT_VERSION, build_messages
from agentworld_envs.evaluation.agentworldbench.rows import Row

ANSWERS = "answers.jsonl"
"""Name of the journal."""


@dataclass(frozen=True, slots=True)
class _Prediction:
    """A row to be predicted."""

    row: Row
    sampling: Sampling
    seed: int

    @property
    def key(self) -> str:
        return self.row.key

    def request(self, attempt: int) -> GenerationRequest:
        # What is measured is the first answer, whatever it is; a failure is asked again as it was.
        return GenerationRequest(
            messages=build_messages(self.row).messages,
            sampling=self.sampling,
            seed=row_seed(self.seed, self.row, 0),
            prompt_version=PROMPT_VERSION,
        )

    def line(self, completion: Completion, attempts: int) -> dict[str, Any]:
        row = self.row
        return {
            "domain": row.domain,
            "id": row.id,
            "turn_idx": row.turn_idx,
            **completion_line(completion),
            "notes": list(build_messages(row).notes),
        }

    def worth_retrying(self, completion: Completion) -> bool:
        return completion.failure is not None and completion.failure.retryable


def row_seed(seed: int, row: Row, attempt: int) -> int:
    """Seed of one generation, a pure function of the run's seed, the row and the attempt."""
    return attempt_seed(seed, int(row.key[:15], 16), attempt)


def infer(
    rows: Sequence[Row],
    config: ModelConfig,
    out: str | os.PathLike[str],
    *,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Mapping[str, dict[str, Any]]:
    """Predict all rows; what is in the journal already is not asked again, unless it failed.

    Args:
        rows: the questions.
        config: model, sampling, waves.
        out: folder of the journal `answers.jsonl`.
        engine: answers, in place of the one of `config.model`; stays the caller's to close.
        progress: see `Progress`.

    Returns:
        Row key -> line of the journal.

    Raises:
        ConfigError: the model cannot be, or the folder holds answers of another one.
    """
    own = engine is None
    used = config.engine() if engine is None else engine
    try:
        header = config.header(used, "infer", prompt_version=PROMPT_VERSION)
        with Journal(os.path.join(out, ANSWERS), header) as journal:
            questions: list[Asked] = [_Prediction(row, config.sampling, config.seed) for row in rows]
            ask_all(used, journal, questions, lambda _, line: not line.get("failure"), config, progress)
            return dict(journal.results)
    finally:
        if own:
            used.close()
