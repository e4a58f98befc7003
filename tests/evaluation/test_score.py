"""The published formulas, against the published table; intervals; failures counted both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agentworld_envs.evaluation.agentworldbench.statistics import bootstrap, macro, micro, normalise

ROWS = {"mcp": 286, "search": 458, "terminal": 354, "swe": 472, "android": 200, "web": 200, "os": 200}
TABLE = """
GPT-5.4 70.10 37.26 53.69 66.29 60.00 51.80 68.58 58.25
Opus-4.8 54.93 35.14 59.18 64.10 61.50 54.66 66.62 56.59
Opus-4.6 69.90 29.30 57.51 64.55 61.74 51.42 70.20 57.80
Sonnet-4.6 70.00 28.79 56.98 64.52 58.03 50.78 63.17 56.04
Gemini-3.1-Pro 59.07 30.21 52.47 59.07 61.40 52.83 66.92 54.57
DeepSeek-V4-Pro 63.27 27.61 51.26 59.44 55.17 50.32 63.70 52.97
Kimi-K2.6 65.23 27.48 52.54 58.77 58.93 50.20 60.80 53.42
GLM-5.1 67.60 22.46 47.32 52.07 59.10 51.50 59.13 51.31
MiniMax-M2.7 55.82 27.30 41.62 37.44 52.40 50.52 57.73 46.12
Qwen3.6-Plus 55.28 21.94 50.58 59.08 57.65 50.78 60.33 50.81
Qwen3.5-35B 57.87 25.98 46.13 47.58 53.18 47.10 56.27 47.73
Qwen3.5-397B 68.31 30.81 55.30 64.44 54.90 48.55 60.85 54.74
AgentWorld-35B 64.79 36.69 53.96 65.63 58.17 49.55 65.92 56.39
AgentWorld-397B 68.24 37.82 57.73 68.49 60.20 50.98 67.89 58.71
"""
"""Published scores (Qwen-AgentWorld's README): model, the seven domains, average."""


def published() -> dict[str, tuple[dict[str, float], float]]:
    found = {}
    for line in TABLE.split("\n"):
        if line:
            name, *numbers = line.split()
            values = [float(number) for number in numbers]
            found[name] = dict(zip(ROWS, values[:-1], strict=True)), values[-1]
    return found


def test_the_published_average_is_the_macro_mean_in_13_of_14_rows() -> None:
    table = published()
    assert sum(ROWS.values()) == 2170
    differing = {
        name: macro(means) for name, (means, average) in table.items() if abs(macro(means) - average) >= 0.0051
    }
    assert list(differing) == ["AgentWorld-397B"]
    assert differing["AgentWorld-397B"] == pytest.approx(58.764, abs=0.001)


SHARES = {"mcp": 132, "search": 211, "terminal": 163, "swe": 218, "android": 92, "web": 92, "os": 92}
"""The published shares of rows, in thousandths."""


def test_the_micro_mean_is_what_the_program_prints() -> None:
    table = published()
    # The table's means are rounded themselves, so that the second decimal depends on which weights are published.
    for weights, small, large in [(ROWS, 55.3646, 57.7953), (SHARES, 55.3716, 57.8029)]:
        assert micro(table["AgentWorld-35B"][0], weights) == pytest.approx(small, abs=0.00005)
        assert micro(table["AgentWorld-397B"][0], weights) == pytest.approx(large, abs=0.00005)
    assert round(micro(table["AgentWorld-35B"][0], SHARES), 2) == 55.37
    assert round(micro(table["AgentWorld-397B"][0], ROWS), 2) == 57.80


def test_normalisation() -> None:
    assert [normalise(raw) for raw in (1, 2, 3, 5)] == [0, 25, 50, 100]


def test_means_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="domain"):
        macro({})
    with pytest.raises(ValueError, match="row"):
        micro({}, {})


def domains(trajectories: int, rows: int, spread: float) -> dict[str, Any]:
    """Values that differ between trajectories and not within."""
    g = np.random.default_rng(0)
    return {"a": {f"t{i:03}": [3.0 + spread * float(g.standard_normal())] * rows for i in range(trajectories)}}


def test_intervals_are_by_trajectory() -> None:
    many, few = bootstrap(domains(60, 1, 1.0), 0)["a"], bootstrap(domains(60, 20, 1.0), 0)["a"]
    assert many == pytest.approx(few)  # twenty rows of one trajectory say no more than one
    width = many[1] - many[0]
    assert 2 * 1.96 * 0.7 / 60**0.5 < width < 2 * 1.96 * 1.3 / 60**0.5


def test_intervals_depend_on_the_seed_alone() -> None:
    values = domains(20, 3, 1.0) | {"b": {"x": [1.0, 2.0]}, "c": {}}
    assert bootstrap(values, 1) == bootstrap(values, 1) != bootstrap(values, 2)
    found = bootstrap(values, 1)
    assert set(found) == {"a", "b", "macro", "micro"}
    assert found["b"] == (1.5, 1.5)
    low, high = found["macro"]
    assert low < (np.mean([v for t in values["a"].values() for v in t]) + 1.5) / 2 < high
    assert bootstrap({}, 0) == {}


def test_intervals_cover_about_as_often_as_they_say() -> None:
    hits = 0
    for trial in range(100):
        g = np.random.default_rng([5, trial])
        clusters = {str(i): [float(g.standard_normal())] * 2 for i in range(40)}
        low, high = bootstrap({"a": clusters}, trial, resamples=300)["a"]
        hits += low <= 0.0 <= high
    assert hits >= 85
