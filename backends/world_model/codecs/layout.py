"""The turns of a conversation as text: a user message into its sections, and back.

The layout is that of the benchmark's rows (Qwen-AgentWorld report, section 2.2): `### Turn N`, on the first turn
`**Task Instruction:**` and `**Current State:**` (or `**Current Phone State:**`), then `**Action:**` with a fence, and
on the turn that is to be predicted what to do with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentworld_envs.backends.world_model.codec import HEADER, render_action_turn, without_header

STATE_HEADERS: Final = ("Current State", "Current Phone State")
ACTION: Final = "**Action:**"
INSTRUCTION: Final = "**Task Instruction:**"

_TURN: Final = re.compile(r"\A### Turns? (\d+)(?: to \d+)?\n")
_STATE: Final = re.compile(rf"^\*\*({'|'.join(STATE_HEADERS)}):\*\*\n", re.MULTILINE)
_CLOSING: Final = re.compile(r"^(`{3,})[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class UserTurn:
    """A user message in its sections. Empty strings stand for sections that are not there."""

    number: int
    """1-based; 0 when the message does not say."""
    action: str
    """Without its fence."""
    language: str = "text"
    """Of the fence; empty when there is none."""
    instruction: str = ""
    state: str = ""
    state_header: str = STATE_HEADERS[0]
    suffix: str = ""
    """What follows the action: how to answer. Only the turn that is to be predicted has it."""

    def render(self, *, raw: bool = False) -> str:
        """The message. `raw`: leave chat control tokens as they are, for files instead of prompts."""
        return render_action_turn(
            self.number,
            self.action,
            self.language,
            self.suffix,
            self.state,
            instruction=self.instruction,
            state_header=self.state_header,
            raw=raw,
        )


def read_user_turn(text: str) -> UserTurn:
    """The sections of a user message. Never raises: what has no structure is all action.

    A state and an action may contain every header and fence themselves. The action's fence is therefore looked for
    from the end: the last closing fence of the message, and the nearest opening one of the same length behind an
    action header. (A fence is longer than any run of backticks inside, where this package has written it.)
    """
    turn = _TURN.match(text)
    number = int(turn[1][:9]) if turn else 0
    body = text[turn.end() :] if turn else text
    head, action, language, suffix = _split_action(body)
    instruction = ""
    if head.startswith(f"{INSTRUCTION}\n"):
        head = head[len(INSTRUCTION) + 1 :]
        state = _STATE.search(head)
        instruction = _section(head[: state.start()] if state else head)
        head = head[state.start() :] if state else ""
    header, state_text = STATE_HEADERS[0], ""
    state = _STATE.match(head)
    if state:
        header, state_text = state[1], _section(head[state.end() :])
    elif head.strip():
        state_text = _section(head)
    return UserTurn(number, action, language, instruction, state_text, header, suffix)


def read_observation_turn(text: str) -> str:
    """The observation in an assistant message: without the header, one line break after it, and nothing else."""
    return without_header(text)


def write_observation_turn(observation: str) -> str:
    """The assistant message of an observation, chat control tokens as they are; inverse of `read_observation_turn`."""
    return f"{HEADER}\n{observation}"


def _section(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\n")


def _split_action(body: str) -> tuple[str, str, str, str]:
    """What is before the action, the action, its language, and what is behind it."""
    closings = list(_CLOSING.finditer(body))
    for closing in reversed(closings[-20:]):  # a suffix with fences of its own is short
        opening = re.compile(rf"^\*\*Action:\*\*\n{closing[1]}([A-Za-z0-9_+-]*)\n", re.MULTILINE)
        found = None
        for found in opening.finditer(body, 0, closing.start()):  # noqa: B007 - the last one counts
            pass
        if found is not None:
            action = body[found.end() : closing.start()]
            return body[: found.start()], action.removesuffix("\n"), found[1], body[closing.end() :].lstrip("\n")
    at = body.rfind(f"{ACTION}\n")
    if at < 0 or (at and body[at - 1] != "\n"):
        return "", body, "", ""
    return body[:at], body[at + len(ACTION) + 1 :], "", ""
