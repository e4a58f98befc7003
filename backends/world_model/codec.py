"""The wire layout of Qwen-AgentWorld: turns into messages, completions into observations.

The layout is that of the model's benchmark (Qwen-AgentWorld report, section 2.2, and its evaluation code): the user
acts, the assistant is the environment, and a prediction stands in `<predicted_observation>` tags.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

OPEN: Final = "<predicted_observation>"
CLOSE: Final = "</predicted_observation>"
HEADER: Final = "**Environment Observation:**"
PREFILL: Final = OPEN + "\n"
"""What an assistant's turn begins with when the model shall not think first."""

COMPACT_VERSION: Final = "compact-1"
"""Changes whenever what `render_compact` writes does; part of every cassette key."""

_THINK_OPEN: Final = "<think>"
_THINK_CLOSE: Final = "</think>"
_THINKS: Final = re.compile(r"\s*</?think>", re.IGNORECASE)
_THINK_END: Final = re.compile(re.escape(_THINK_CLOSE), re.IGNORECASE)
_ANSWER_AFTER_THINKING: Final = re.compile(
    rf"(?i:{re.escape(_THINK_CLOSE)})(?=\s*(?:{re.escape(HEADER)}\s*)?{re.escape(OPEN)})"
)
_TAG: Final = re.compile(rf"{re.escape(OPEN)}|{re.escape(CLOSE)}")
_CONTROL_TOKEN: Final = re.compile("<(?=[|\uff5c][^<>\\s|\uff5c]{1,40}[|\uff5c]>)")


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a completion says."""

    text: str
    """The observation; without a tag, all that was written after the reasoning."""
    reasoning: str
    tag_found: bool
    tag_closed: bool
    empty: bool
    """The observation has no visible character. Right for a silent command, as long as the tags are there."""
    blocks: int
    """Blocks in the answer, one after the other, an unclosed last one included; tags inside of a block are part of it.
    More than one may be drafts and an answer, or an observation that prints the tags: `text` reaches over all that are
    whole."""
    last_block: str
    """The observation in the last of these blocks; the same as `text` where there are not several."""
    last_closed: bool
    """Whether the closing tag of that block is there."""
    problem: str | None
    """Why this is no valid prediction, in a few words; `None` when it is one."""


def defuse(text: str) -> str:
    """Break chat control tokens such as `<|im_end|>` with a space, so that text from agent or world cannot end a turn.

    Servers tokenise a whole rendered chat at once: a control token inside a message works like a real one.
    """
    return _CONTROL_TOKEN.sub("< ", text)


def _as_it_is(text: str) -> str:
    return text


def fence(text: str, language: str) -> str:
    """`text` as a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text}\n{ticks}"


def render_action_turn(
    number: int,
    action: str,
    language: str = "text",
    suffix: str = "",
    state: str = "",
    *,
    instruction: str = "",
    state_header: str = "Current State",
    raw: bool = False,
) -> str:
    """A user message.

    Args:
        number: 1-based number of the turn.
        action: the canonical command.
        language: of the fence, as in `SimulationSpec.action_fence`.
        suffix: what to do with the turn; only the turn that is to be predicted has one.
        state: what the agent saw before it acted; only the first turn has it.
        instruction: what the agent is to do; on the first turn of some domains.
        state_header: `Current State`, or `Current Phone State`.
        raw: leave control tokens whole: for files, which hold data, and not for prompts.
    """
    safe = _as_it_is if raw else defuse
    parts = [f"### Turn {number}\n"]
    if instruction:
        parts.append(f"**Task Instruction:**\n{safe(instruction)}\n\n")
    if state:
        parts.append(f"**{state_header}:**\n{safe(state)}\n\n")
    parts.append(f"**Action:**\n{fence(safe(action), language)}")
    if suffix:
        parts.append(f"\n\n{suffix}")
    return "".join(parts)


def render_compact(state: str, action: str) -> str:
    """A whole prompt as one short user message, for small models that were trained on it: no rules, no history.

    Args:
        state: what is so before the action (`Tracker.recall`); empty without tracked state.
        action: the canonical command.
    """
    return f"{defuse(state)}\nAction: {defuse(action)}"


def render_observation(text: str) -> str:
    """An assistant message of a turn that is over: no tags, no thinking."""
    return f"{HEADER}\n{defuse(text)}"


def wrap(observation: str) -> str:
    """A completion that predicts exactly `observation`; the inverse of `parse_prediction`."""
    # One header is taken for an echo of the layout, so an observation that begins with one brings a second.
    echo = f"{HEADER}\n" if observation.startswith(HEADER) else ""
    return f"{OPEN}\n{echo}{observation}\n{CLOSE}"


def parse_prediction(text: str, reasoning: str = "", prefilled: str = "", finish_reason: str = "stop") -> Prediction:
    """Read a completion.

    The observation reaches from the first opening tag after the reasoning to the last closing tag: an environment may
    well print these tags itself. Exactly one line break is taken off at either end, and one echo of the layout's
    header. A model whose turn was begun for it may end that turn, or be stopped, without the closing tag.

    Args:
        text: what the model wrote, without the prefill.
        reasoning: the engine's reasoning channel; when it has none, thinking is looked for at the start of `text`.
        prefilled: what the assistant's turn began with.
        finish_reason: `length` makes any prediction invalid.
    """
    body = text
    if prefilled and not _restarted(text):
        body = prefilled + text
    elif not reasoning or _THINKS.match(text):
        # Some servers split off a part of the thinking only.
        thought, body = _split_thinking(text)
        reasoning = f"{reasoning}\n{thought}".strip() if reasoning and thought else reasoning or thought
    # Behind the beginning of an observation, nothing more is a right answer: a command that prints nothing.
    written = body if len(prefilled) > len(PREFILL) else text
    start = body.find(OPEN)
    end = body.rfind(CLOSE, start + len(OPEN)) if start >= 0 else -1
    found, closed = start >= 0, end >= 0
    if found:
        observation = _inner(body[start + len(OPEN) : end if closed else len(body)], closed)
    else:
        observation = without_header(body.lstrip())
    spans, last_closed = _blocks(body)
    last, last_closed = (_inner(spans[-1], last_closed), last_closed) if len(spans) > 1 else (observation, closed)
    return Prediction(
        text=observation,
        reasoning=reasoning,
        blocks=len(spans),
        last_block=last,
        last_closed=last_closed,
        tag_found=found,
        tag_closed=closed,
        empty=not observation.strip(),
        problem=_problem(written, found, closed or _ended(text, prefilled, finish_reason), finish_reason),
    )


def _blocks(body: str) -> tuple[list[str], bool]:
    """What stands in each of the outermost pairs of tags, and behind one that never closes; whether the last closes."""
    blocks, depth, start = [], 0, 0
    for tag in _TAG.finditer(body):
        if tag[0] == OPEN:
            start = tag.end() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                blocks.append(body[start : tag.start()])
    return (blocks, True) if depth == 0 else ([*blocks, body[start:]], False)


def _inner(block: str, closed: bool) -> str:
    observation = without_header(block.removeprefix("\n"))
    return observation.removesuffix("\n") if closed else observation


def _ended(text: str, prefilled: str, finish_reason: str) -> bool:
    """Whether a turn that was begun with the opening tag is whole without the closing one."""
    return bool(prefilled) and finish_reason == "stop" and not text.lstrip().startswith(_THINK_OPEN)


def _problem(text: str, found: bool, ended: bool, finish_reason: str) -> str | None:
    if finish_reason == "length":
        return "the answer was cut at max_tokens"
    if not text.strip():
        return "the answer is empty"
    if not found:
        return f"the answer has no {OPEN} tag"
    return None if ended else f"the answer has no {CLOSE} tag"


def without_header(observation: str) -> str:
    """An observation without one header in front of it, and the line break after that; the inverse of adding one."""
    if not observation.startswith(HEADER):
        return observation
    return observation[len(HEADER) :].removeprefix("\n")


def _restarted(text: str) -> bool:
    """Whether a model ignored the prefill and opened the tag, or its thinking, itself.

    A continued prediction brings one closing tag more than opening ones, whatever balanced tags the observation has.
    """
    return text.lstrip().startswith((OPEN, _THINK_OPEN)) and text.count(OPEN) == text.count(CLOSE) > 0


def _split_thinking(text: str) -> tuple[str, str]:
    """Reasoning and the rest. Only thinking in front of the answer counts; an observation may have such tags inside."""
    stripped = text.lstrip()
    if stripped.startswith((OPEN, HEADER)):
        return "", text
    opened = stripped[: len(_THINK_OPEN)].lower() == _THINK_OPEN
    begin = len(text) - len(stripped) + (len(_THINK_OPEN) if opened else 0)
    # The thinking may talk about the tags; what is directly followed by the answer is the real end of it.
    match = _ANSWER_AFTER_THINKING.search(text, begin)
    match = match or _THINK_END.search(text, begin)
    end = match.start() if match else -1
    if end < 0:
        return (text[begin:], "") if opened else ("", text)
    # Templates that open the thinking themselves leave only `</think>` in the answer. Without such a template,
    # a `</think>` behind the one opening tag belongs to the observation.
    if not opened and text.find(OPEN, 0, end) >= 0 and text.find(OPEN, end) < 0:
        return "", text
    return text[begin:end].strip(), text[end + len(_THINK_CLOSE) :]
