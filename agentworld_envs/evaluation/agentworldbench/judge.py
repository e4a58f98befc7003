"""`judge`: five scores for every prediction, by any model that can be asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentworld_envs.backends.world_model.engines import Completion, Engine, GenerationRequest, Sampling
from agentworld_envs.evaluation.agentworldbench.answers import prediction_digest, read_answer
from agentworld_envs.evaluation.agentworldbench.asking import Asked, ModelConfig, Progress, ask_all, completion_line
from agentworld_envs.evaluation.agentworldbench.infer import row_seed
from agentworld_envs.evaluation.agentworldbench.journal import Journal
from agentworld_envs.evaluation.agentworldbench.judge_prompts import JudgePrompts, build_case
from agentworld_envs.evaluation.agentworldbench.rows import Row
from agentworld_envs.evaluation.agentworldbench.verdict import Judgement, NoJudgement, parse_judgement

JUDGEMENTS: Final = "judgements.jsonl"
"""Name of the journal."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A prediction to be judged."""

    row: Row
    prediction: str
    answer: str
    """Digest of the prediction: a judgement of another one is none of this."""
    prompts: JudgePrompts
    sampling: Sampling
    seed: int
    context_characters: int | None

    @property
    def key(self) -> str:
        return self.row.key

    def request(self, attempt: int) -> GenerationRequest:
        system = self.prompts.system(self.row.domain)
        return GenerationRequest(
            messages=build_case(self.row, self.prediction, system, self.context_characters),
            sampling=self.sampling,
            seed=row_seed(self.seed, self.row, attempt),
            prompt_version=f"agentworldbench-judge-{self.prompts.version(self.row.domain)}",
        )

    def line(self, completion: Completion, attempts: int) -> dict[str, Any]:
        return {
            "domain": self.row.domain,
            "answer": self.answer,
            "prompt": self.prompts.version(self.row.domain),
            **completion_line(completion),
        }

    def worth_retrying(self, completion: Completion) -> bool:
        if completion.failure is not None:
            return completion.failure.retryable
        return isinstance(_read(completion.text, completion.reasoning), NoJudgement)


def read_judgement(line: Mapping[str, Any]) -> Judgement | NoJudgement:
    """Read a line of the judgements' journal; a failure of the judge is a `NoJudgement` of kind `failure:KIND`."""
    failure = line.get("failure")
    if failure:
        return NoJudgement(f"failure:{failure['kind']}")
    return _read(line["text"], line["reasoning"])


def _read(text: str, reasoning: str) -> Judgement | NoJudgement:
    # Some servers put an answer without any thinking into the reasoning channel.
    return parse_judgement(text if text.strip() else reasoning)


def judge(
    rows: Sequence[Row],
    answers: Mapping[str, Mapping[str, Any]],
    config: ModelConfig,
    out: str | os.PathLike[str],
    *,
    prompts: JudgePrompts | None = None,
    context_characters: int | None = None,
    prefill: str = "",
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Mapping[str, dict[str, Any]]:
    """Judge every prediction; what is in the journal already is kept, unless the prediction or the wording changed.

    An answer without scores, and a failure that may pass, is asked again with a new seed, `config.max_retries` times.
    Then it is a failure, which `score` counts. Rows whose inference failed have nothing to be judged.

    Args:
        rows: the questions.
        answers: row key -> line of the journal of `infer`.
        config: the judge's model, sampling, waves.
        out: folder of the journal `judgements.jsonl`.
        prompts: system prompts; default: this package's own.
        context_characters: most characters of earlier turns that the judge is shown; default: all.
        prefill: what the simulator's answers were begun with.
        engine: answers, in place of the one of `config.model`; stays the caller's to close.
        progress: see `Progress`.

    Returns:
        Row key -> line of the journal.

    Raises:
        ConfigError: the model or the prompts cannot be, or the folder holds judgements of another judge.
    """
    prompts = prompts or JudgePrompts()
    cases: list[Asked] = []
    for row in rows:
        line = answers.get(row.key)
        answer = None if line is None else read_answer(line, prefill)
        if answer is None or answer.failed:
            continue
        digest = prediction_digest(answer)
        prompts.system(row.domain)  # a missing file shows before anything is asked
        cases.append(_Case(row, answer.text, digest, prompts, config.sampling, config.seed, context_characters))

    def done(asked: Asked, line: Mapping[str, Any]) -> bool:
        assert isinstance(asked, _Case)
        same = (line.get("answer"), line.get("prompt")) == (asked.answer, prompts.version(asked.row.domain))
        return same and isinstance(read_judgement(line), Judgement)

    own = engine is None
    used = config.engine() if engine is None else engine
    try:
        header = config.header(used, "judge", context_characters=context_characters)
        with Journal(os.path.join(out, JUDGEMENTS), header) as journal:
            ask_all(used, journal, cases, done, config, progress)
            return dict(journal.results)
    finally:
        if own:
            used.close()
