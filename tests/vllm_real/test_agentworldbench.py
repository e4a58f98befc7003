"""The benchmark with a real model in both places: a small model is a bad simulator and a bad judge, and all is counted.

`vllm_model` is the model string of an engine on vLLM, in process or a server.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from evaluation.synthetic import write_benchmark

from agentworld_envs.backends.world_model import Sampling
from agentworld_envs.backends.world_model.codec import PREFILL
from agentworld_envs.evaluation.agentworldbench import DOMAINS, BenchmarkRun, ModelConfig, read_rows

if find_spec("vllm") is None and "vllm" not in os.environ.get("AGENTWORLD_REQUIRE", "").split(","):
    pytest.skip("vLLM is not installed", allow_module_level=True)

ROWS = 2
"""Of each domain."""


def test_infer_judge_score(vllm_model: str, tmp_path: Path) -> None:
    found = read_rows(write_benchmark(tmp_path / "data"), limit=ROWS)
    run = BenchmarkRun(found, tmp_path / "run")
    simulator = ModelConfig(
        model=vllm_model, sampling=Sampling(max_tokens=32, prefill=PREFILL, stop=("</predicted_observation>",))
    )
    answers = run.infer(simulator)
    assert len(answers) == ROWS * len(DOMAINS)
    assert all(line["failure"] is None for line in answers.values())
    judge = ModelConfig(model=vllm_model, sampling=Sampling(max_tokens=48, temperature=0), max_retries=0)
    run.judge(judge, context_characters=500)
    summary = run.score()
    assert summary["judge"]["as_zero"]["rows"] == ROWS * len(DOMAINS)
    judged = sum(domain["judged"] for domain in summary["domains"].values())
    assert judged + sum(summary["failures"].values()) == ROWS * len(DOMAINS)
    assert sum(summary["answers"].values()) >= ROWS * len(DOMAINS)

    again = BenchmarkRun(found, tmp_path / "run")
    assert again.infer(simulator) == answers  # nothing is asked twice
