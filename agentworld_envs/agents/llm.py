"""`LLMAgent`: a language model as policy, through the same engines as the simulator."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentworld_envs.agents.base import Agent, Decision, Info
from agentworld_envs.backends.world_model.codec import defuse
from agentworld_envs.backends.world_model.engines import (
    Completion,
    Engine,
    GenerationRequest,
    Message,
    Sampling,
    build_engine,
)
from agentworld_envs.backends.world_model.engines.keys import attempt_seed
from agentworld_envs.episode import Episode
from agentworld_envs.interface import ConfigError, Failure, Usage
from agentworld_envs.parsing import strip_reasoning

PROMPT_VERSION = "llm-agent-1"
"""Changes whenever the wording below does; part of every cassette key."""

FORMAT = "Answer with exactly one action between <action> and </action>, for example <action>look</action>."
"""What every agent is told about its answers."""
MAX_TURNS = 20
"""How many of the latest turns an agent is shown by default."""


@dataclass(slots=True)
class _Dialogue:
    """What one slot has said and seen."""

    system: str
    first: str
    seed: int
    turns: list[tuple[str, str]] = field(default_factory=list)
    """Answers with the observations they got, oldest first."""
    answer: str | None = None
    """The latest answer, whose observation is not there yet."""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)


class LLMAgent(Agent):
    """Shows a model rules and history as a chat and plays what it writes; one batched `generate` per step.

    A completion that fails becomes the slot's failure, never an action. Text that is no action is passed on as it is:
    the environment tells the agent so, and the step counts.
    """

    name = "llm"

    def __init__(
        self,
        model: str | Engine,
        *,
        sampling: Sampling | None = None,
        seed: int = 0,
        max_turns: int = MAX_TURNS,
        deadline_s: float = 600.0,
    ) -> None:
        """Load and contact nothing yet, but find out whether the engine can work here.

        Args:
            model: `openai:URL#MODEL`, `transformers:PATH`, `scripted:NAME`, or an engine, which stays its giver's.
            sampling: temperature and so on; default: temperature 0.7 and at most 512 tokens per answer.
            seed: of the agent (>= 0), mixed with the episode's.
            max_turns: how many of the latest turns are shown (>= 0); the first observation, which carries the task,
                always is.
            deadline_s: seconds that one answer may take.

        Raises:
            ConfigError: a malformed model string, or a negative `max_turns`.
            MissingExtraError: the engine's package is not installed.
        """
        if max_turns < 0:
            raise ConfigError(f"Expected max_turns to be at least 0, got {max_turns}.")
        self._owned = isinstance(model, str)
        self.engine = build_engine(model) if isinstance(model, str) else model
        self.engine.check()
        self._sampling = sampling if sampling is not None else Sampling(temperature=0.7, max_tokens=512)
        self._seed = seed
        self._max_turns = max_turns
        self._deadline_s = deadline_s
        self._dialogues: dict[int, _Dialogue] = {}

    def reset(self, slot: int, observation: str, info: Info, episode: Episode) -> None:
        self._dialogues[slot] = _Dialogue(system_message(info), observation, episode.seed)

    def act(self, slots: Sequence[int], observations: Sequence[str], infos: Sequence[Info]) -> list[Decision]:
        dialogues = [self._dialogues[slot] for slot in slots]
        for dialogue, observation in zip(dialogues, observations, strict=True):
            if dialogue.answer is not None:
                dialogue.turns.append((dialogue.answer, observation))
                dialogue.answer = None
                del dialogue.turns[: max(0, len(dialogue.turns) - self._max_turns)]
        completions = self.engine.answer([self._request(dialogue) for dialogue in dialogues])
        return [self._take(dialogue, c) for dialogue, c in zip(dialogues, completions, strict=True)]

    def usage(self, slot: int) -> Usage:
        return self._dialogues[slot].usage if slot in self._dialogues else Usage()

    def close(self) -> None:
        if self._owned:
            self.engine.close()

    def _request(self, dialogue: _Dialogue) -> GenerationRequest:
        left_out = dialogue.steps - len(dialogue.turns)
        return GenerationRequest(
            messages=tuple(chat(dialogue.system, dialogue.first, dialogue.turns, left_out)),
            sampling=self._sampling,
            seed=attempt_seed(dialogue.seed, dialogue.steps, self._seed),
            deadline_s=self._deadline_s,
            prompt_version=PROMPT_VERSION,
        )

    def _take(self, dialogue: _Dialogue, completion: Completion) -> Decision:
        dialogue.usage.add(completion.usage)
        if completion.failure is not None:
            return Failure(*completion.failure)
        text = self._sampling.prefill + completion.text
        dialogue.steps += 1
        dialogue.answer = strip_reasoning(text)
        return text


def chat(system: str, first: str, turns: Sequence[tuple[str, str]], left_out: int = 0) -> list[Message]:
    """The messages that ask an agent for its next action.

    Args:
        system: what `system_message` made.
        first: the first observation, which carries the task.
        turns: answers with the observations they got, oldest first.
        left_out: turns between the first observation and these that are not shown.
    """
    if left_out:
        first += f"\n\n[{left_out} earlier turns are left out here.]"
    messages = [Message("system", system), Message("user", defuse(first))]
    for answer, observation in turns:
        messages += [Message("assistant", defuse(answer)), Message("user", defuse(observation))]
    return messages


def system_message(info: Info) -> str:
    """Rules, tools (as JSON, one per line) and the form of an answer, from the `info` of a reset."""
    tools: list[dict[str, Any]] = info["tools"]
    parts = [str(info["instructions"]).strip()]
    if len(tools) > 1:  # one tool is the default one, which bare text calls
        lines = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
        parts.append(f'Tools (call one with {{"name": ..., "arguments": {{...}}}} inside the action tags):\n{lines}')
    parts.append(FORMAT)
    return "\n\n".join(part for part in parts if part)
