"""`BenchmarkRun`: the three steps over one folder of results."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from agentworld_envs.backends.world_model.engines import Engine
from agentworld_envs.evaluation.agentworldbench.asking import ModelConfig
from agentworld_envs.evaluation.agentworldbench.companion import measure
from agentworld_envs.evaluation.agentworldbench.infer import ANSWERS, infer
from agentworld_envs.evaluation.agentworldbench.journal import read_journal
from agentworld_envs.evaluation.agentworldbench.judge import JUDGEMENTS, judge
from agentworld_envs.evaluation.agentworldbench.judge_prompts import JudgePrompts
from agentworld_envs.evaluation.agentworldbench.report import markdown
from agentworld_envs.evaluation.agentworldbench.rows import RowSet
from agentworld_envs.evaluation.agentworldbench.score import score_rows, summarise
from agentworld_envs.interface import ConfigError

STEPS: Final = ("infer", "judge", "score")
SUMMARY: Final = "summary"
"""Name of the summaries, with `.json` and `.md`."""

StepProgress = Callable[[str, int, int], None]
"""Called with the step's name, the results that are there, and all."""


class BenchmarkRun:
    """A folder with `answers.jsonl`, `judgements.jsonl`, `likeness.jsonl`, `summary.json` and `summary.md`.

    Every step goes on where an earlier run stopped, however that ended.
    """

    def __init__(self, rows: RowSet, out: str | os.PathLike[str], *, progress: StepProgress | None = None) -> None:
        """Args: rows: from `read_rows`. out: the folder; made when something is written. progress: see above."""
        self.rows = rows
        self.out = Path(out)
        self._progress = progress

    def infer(self, config: ModelConfig, engine: Engine | None = None) -> Mapping[str, dict[str, Any]]:
        """Predict. Raises as `infer`."""
        return infer(self.rows.rows, config, self.out, engine=engine, progress=self._of("infer"))

    def judge(
        self,
        config: ModelConfig,
        *,
        prompts: JudgePrompts | None = None,
        context_characters: int | None = None,
        engine: Engine | None = None,
    ) -> Mapping[str, dict[str, Any]]:
        """Judge what was predicted. Raises as `judge`; also when nothing was predicted yet."""
        header, answers = read_journal(self.out / ANSWERS)
        return judge(
            self.rows.rows,
            answers,
            config,
            self.out,
            prompts=prompts,
            context_characters=context_characters,
            prefill=header["sampling"]["prefill"],
            engine=engine,
            progress=self._of("judge"),
        )

    def score(self, *, seed: int = 0) -> dict[str, Any]:
        """Compute the summary and write it. Works without judgements, with what needs no judge.

        Raises:
            ConfigError: nothing was predicted yet, or the folder cannot be written.
        """
        header, answers = read_journal(self.out / ANSWERS)
        judged = (self.out / JUDGEMENTS).exists()
        judge_header, judgements = read_journal(self.out / JUDGEMENTS) if judged else ({}, {})
        prefill = header["sampling"]["prefill"]
        likenesses = measure(self.rows.rows, answers, self.out, prefill, self._of("score"))
        scored = score_rows(self.rows.rows, answers, judgements, likenesses, prefill)
        summary = {
            "run": {"model": header["model"], "judge": judge_header.get("model", "none"), "seed": seed},
            **summarise(self.rows, scored, answers, judgements, seed=seed, judged=judged),
        }
        self._write("json", json.dumps(summary, indent=2) + "\n")
        self._write("md", markdown(summary))
        return summary

    def answered(self) -> int:
        """Rows that have an answer by now, failures left out.

        Raises:
            ConfigError: nothing was predicted yet.
        """
        _, answers = read_journal(self.out / ANSWERS)
        return sum(row.key in answers and not answers[row.key].get("failure") for row in self.rows.rows)

    def first_failures(self) -> dict[str, str]:
        """`answer:KIND` and `judge:KIND` -> message of the first row that failed so, in order of the rows.

        Raises:
            ConfigError: a journal is damaged.
        """
        found: dict[str, str] = {}
        for name, file in (("answer", ANSWERS), ("judge", JUDGEMENTS)):
            lines = read_journal(self.out / file)[1] if (self.out / file).exists() else {}
            for row in self.rows.rows:
                failure = lines.get(row.key, {}).get("failure")
                if failure:
                    found.setdefault(f"{name}:{failure['kind']}", failure["message"])
        return found

    def _of(self, step: str) -> Callable[[int, int], None] | None:
        progress = self._progress
        if progress is None:
            return None
        return lambda done, total: progress(step, done, total)

    def _write(self, kind: str, text: str) -> None:
        path = self.out / f"{SUMMARY}.{kind}"
        try:
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise ConfigError(f"Cannot write {path}: {error.strerror}.") from error
