"""Is an answer right? Text, numbers, dates, lists and tables, by code."""

from __future__ import annotations

from agentworld_envs.domains.search.answers.render import render
from agentworld_envs.domains.search.answers.score import Scored, score
from agentworld_envs.domains.search.answers.spec import AnswerSpec, read_spec

__all__ = ["AnswerSpec", "Scored", "read_spec", "render", "score"]
