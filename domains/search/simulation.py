"""What a world model is told about an episode."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from agentworld_envs.interface import Action, SimulationSpec

PROMPT_VERSION = "search/1"
"""Names the wording of the prompt: the file `prompts/world_model_v1.txt` and the layout made here."""


@cache
def _template() -> str:
    return files(__package__).joinpath("prompts", "world_model_v1.txt").read_text(encoding="utf-8").strip()


def brief(question: str) -> SimulationSpec:
    """The world-model prompt and the first observation.

    The prompt is the same for every task: what the world holds is told turn by turn, as far as an action touches it
    (`Tracker.recall`, see `Domain.told_by_turn`), and the question only the agent sees.

    Args:
        question: the task.
    """
    return SimulationSpec(
        system=_template(), first_observation=question, prompt_version=PROMPT_VERSION, action_fence="json"
    )


def wire(action: Action) -> str:
    """An action as Qwen-AgentWorld writes it: the name of the tool and its arguments (report, search)."""
    text = json.dumps({"name": action.tool, "arguments": dict(action.arguments)}, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")
