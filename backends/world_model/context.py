"""`Prompt`: an episode as messages that fit the model's context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentworld_envs.backends.world_model.codec import HEADER, defuse, render_action_turn, render_compact
from agentworld_envs.backends.world_model.engines.base import Message
from agentworld_envs.backends.world_model.prompts import DROPPED_ACTIONS, DROPPED_OBSERVATIONS, INSTRUCTION
from agentworld_envs.backends.world_model.session import WorldModelSession
from agentworld_envs.interface import Action, ContextOverflow

ContextPolicy = Literal["fail", "drop_oldest"]
"""What happens to an episode that no longer fits."""

Layout = Literal["agentworld", "compact"]
"""How an episode becomes messages: that of Qwen-AgentWorld, or the tracked state and the action and nothing else."""

CountTokens = Callable[[Sequence[Message]], "int | None"]

DROP_STEP: Final = 4
"""Turns are dropped this many at a time: the prompt's beginning then stays the same for some steps, which keeps an
engine's prefix cache valid."""

_TEMPLATE_TOKENS: Final = 16
"""More tokens than a chat template puts around one message."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages for one prediction."""

    messages: tuple[Message, ...]
    dropped: int = 0
    """How many of the oldest turns are left out."""


def build_prompt(
    session: WorldModelSession,
    action: Action,
    *,
    suffix: str,
    state: str = "",
    layout: Layout = "agentworld",
    budget: int | None,
    policy: ContextPolicy,
    count_tokens: CountTokens,
) -> Prompt:
    """The messages that ask for the observation of `action`.

    A pure function of the episode, so that a forked or replayed episode asks the very same question.

    Args:
        session, action: the episode and what is done next in it.
        suffix: appended to the last message.
        state: what is so before the action; only the last message has it.
        layout: `compact` is one message, without rules, history and suffix.
        budget: tokens that the prompt may have, `None` for no limit of our own.
        policy: `fail` or `drop_oldest`.
        count_tokens: the engine's count; a quarter of the characters is assumed where it has none.

    Raises:
        ContextOverflow: the prompt is over the budget, also after dropping what the policy allows.
    """
    turns = len(session.history)
    if layout == "compact":
        last = Message("user", render_compact(state, session.domain.wire(session.task, action)))
        prompt = Prompt((last,))
        policy = "fail"
    else:
        last = session.action_message(action, _with_instruction(suffix, session.turn_instruction), state)
        prompt = Prompt(_messages(session, last, 0))
    if budget is None or _fits(prompt.messages, budget, count_tokens):
        return prompt
    if policy == "drop_oldest" and turns:
        for dropped in [*range(DROP_STEP, turns, DROP_STEP), turns]:
            prompt = Prompt(_messages(session, last, dropped), dropped)
            if _fits(prompt.messages, budget, count_tokens):
                return prompt
    raise ContextOverflow(
        f"The prompt of turn {turns + 1} is longer than the {budget} tokens that are left for it. Serve the model with "
        "a longer context, lower sampling.max_tokens, or use context_policy='drop_oldest'."
        if policy == "fail"
        else f"Even the shortest prompt of turn {turns + 1} is longer than the {budget} tokens that are left for it. "
        "Serve the model with a longer context or lower sampling.max_tokens."
    )


def _messages(session: WorldModelSession, last: Message, dropped: int) -> tuple[Message, ...]:
    system = session.spec.system
    if session.instruction:
        system = f"{system}\n\n{INSTRUCTION}\n{defuse(session.instruction)}"
    messages = [Message("system", system)]
    if dropped:
        messages += _marker(session, dropped)
    for turn in session.history[dropped:]:
        messages += turn.messages
    return (*messages, last)


def _with_instruction(suffix: str, instruction: str) -> str:
    if not instruction:
        return suffix
    return "\n\n".join(part for part in (f"{INSTRUCTION}\n{defuse(instruction)}", suffix) if part)


def _marker(session: WorldModelSession, dropped: int) -> list[Message]:
    """One turn in place of the first `dropped` ones; it keeps what the agent saw at the start."""
    fence = session.spec.action_fence
    user = render_action_turn(1, DROPPED_ACTIONS, fence, state=session.spec.state)
    if dropped > 1:
        user = user.replace("### Turn 1\n", f"### Turns 1 to {dropped}\n", 1)
    return [Message("user", user), Message("assistant", f"{HEADER}\n{DROPPED_OBSERVATIONS}")]


def _fits(messages: Sequence[Message], budget: int, count_tokens: CountTokens) -> bool:
    # No tokeniser makes more tokens than there are bytes, so most prompts need not be counted.
    if sum(len(message.content.encode()) + _TEMPLATE_TOKENS for message in messages) <= budget:
        return True
    counted = count_tokens(messages)
    if counted is None:
        counted = sum(len(message.content) for message in messages) // 4
    return counted <= budget
