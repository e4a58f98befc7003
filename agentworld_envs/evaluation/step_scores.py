"""`score_step`: how close a simulated observation is to the real one of the same action. By code alone, no judge."""

from __future__ import annotations

from collections.abc import Mapping

from agentworld_envs.evaluation.structure import parse_structure, similarity
from agentworld_envs.evaluation.text_metrics import edit_similarity, exact, token_f1
from agentworld_envs.interface import Action, Domain, Task

SCORES: dict[str, str] = {
    "exact": "exact match",
    "edit": "edit similarity",
    "token_f1": "token F1",
    "facts": "facts right",
    "facts_invented": "facts invented",
    "structure": "structure",
    "structure_parsed": "structure parsed",
}
"""Name of a score -> what it is called in tables. All lie in [0, 1]; more is better, but for `facts_invented`."""


def score_step(domain: Domain, task: Task, action: Action, real: str, simulated: str) -> dict[str, float | None]:
    """Compare two observations as they are, blanks and case included.

    Returns:
        exact, edit, token_f1: see `text_metrics`.
        facts: share of the facts of the real observation (`Domain.facts`) that the simulated one has with the same
            value; `None` where the real one has none.
        facts_invented: share of the facts of the simulated observation whose name the real one does not have; `None`
            where the simulated one has none.
        structure_parsed: where the real observation is JSON, a table or a tree, whether the simulated one can be read
            as the same (1.0 or 0.0); else `None`.
        structure: F1 of the parts where both can be read as the same, else `None`.
    """
    true, told = domain.facts(task, action, real), domain.facts(task, action, simulated)
    return {
        "exact": float(exact(real, simulated)),
        "edit": edit_similarity(real, simulated),
        "token_f1": token_f1(real, simulated),
        "facts": share_right(true, told),
        "facts_invented": share_invented(true, told),
        **_structure(real, simulated),
    }


def share_right(true: Mapping[str, object], told: Mapping[str, object]) -> float | None:
    """Share of the facts in `true` that `told` has with the same value; `None` without any."""
    if not true:
        return None
    return sum(name in told and told[name] == value for name, value in true.items()) / len(true)


def share_invented(true: Mapping[str, object], told: Mapping[str, object]) -> float | None:
    """Share of the facts in `told` that are not in `true` under any value; `None` without any."""
    return sum(name not in true for name in told) / len(told) if told else None


def _structure(real: str, simulated: str) -> dict[str, float | None]:
    expected = parse_structure(real)
    if expected is None:
        return {"structure": None, "structure_parsed": None}
    found = parse_structure(simulated)
    if found is None or found.kind != expected.kind:
        return {"structure": None, "structure_parsed": 0.0}
    return {"structure": similarity(expected, found), "structure_parsed": 1.0}
