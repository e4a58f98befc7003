"""`build_messages`: how a row is asked (the evaluator's present layout: history, then the turn with its suffix)."""

from __future__ import annotations

from typing import NamedTuple

from agentworld_envs.backends.world_model.codec import OPEN, defuse
from agentworld_envs.backends.world_model.codecs import read_user_turn
from agentworld_envs.backends.world_model.engines import Message
from agentworld_envs.backends.world_model.prompts import SUFFIX, SUFFIX_VERSION
from agentworld_envs.evaluation.agentworldbench.rows import Row

PROMPT_VERSION = f"agentworldbench-1+{SUFFIX_VERSION}"
"""Names how rows become messages; part of every cassette key."""


class Question(NamedTuple):
    """What the simulator is asked."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...]
    """What was not as it should be: `suffix_missing`, `prompt_missing`, `control_tokens`."""


def build_messages(row: Row) -> Question:
    """System message, the turns before, and the turn itself with the instruction at its end.

    The rows bring that instruction in `prompt[turn_idx - 1]`, and only there. Where it is missing, this package's own
    stands in, and the question is noted. Chat control tokens inside of messages are broken with a space: a server
    tokenises the whole chat at once, and one of them would end a turn.
    """
    k = row.turn_idx - 1
    last, notes = _last(row)
    texts = [("system", row.system_str)]
    for user, assistant in zip(row.prompt[:k], row.response[:k], strict=True):
        texts += [("user", user), ("assistant", assistant)]
    texts.append(("user", last))
    messages = tuple(Message(role, defuse(text)) for role, text in texts)  # type: ignore[arg-type]
    if any(message.content != text for message, (_, text) in zip(messages, texts, strict=True)):
        notes = (*notes, "control_tokens")
    return Question(messages, notes)


def suffix_of(row: Row) -> str:
    """The instruction at the end of the turn's message, empty when it has none."""
    k = row.turn_idx - 1
    if k >= len(row.prompt):
        return ""
    text = row.prompt[k]
    if row.current_prompt and text.startswith(row.current_prompt):
        return text[len(row.current_prompt) :].lstrip("\n")
    turn = read_user_turn(text)
    # Without a fence nothing says where the action ends; an instruction is the last paragraph then.
    return turn.suffix if turn.language else text.rpartition("\n\n")[2]


def _last(row: Row) -> tuple[str, tuple[str, ...]]:
    if OPEN in suffix_of(row):
        return row.prompt[row.turn_idx - 1], ()
    if row.turn_idx > len(row.prompt):
        return f"{row.current_prompt.rstrip()}\n\n{SUFFIX}", ("prompt_missing", "suffix_missing")
    return f"{row.prompt[row.turn_idx - 1].rstrip()}\n\n{SUFFIX}", ("suffix_missing",)
