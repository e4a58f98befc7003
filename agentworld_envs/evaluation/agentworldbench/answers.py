"""`Answer`: what a simulator's completion says, and of which kind it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from agentworld_envs.backends.world_model.codec import parse_prediction

NO_OUTPUT: Final = "No output"
"""What stands for an answer without any observation, as in the official evaluator. The judge is shown it."""
OK: Final = "ok"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, read."""

    text: str
    """The predicted observation, `NO_OUTPUT` where there is none."""
    kinds: tuple[str, ...]
    """`("ok",)`, or what is wrong: `length` (cut at max_tokens), `empty` (nothing at all), `only_thinking`, `no_tag`,
    `two_tags`, `unclosed_tag`, or `failure:KIND` (no answer)."""
    tag_found: bool = False
    tag_closed: bool = False
    empty: bool = True
    """The observation has no visible character, which can be right."""
    reasoning_characters: int = 0

    @property
    def failed(self) -> bool:
        """Whether there is no answer at all: the engine failed."""
        return self.kinds[0].startswith("failure:")


def read_answer(entry: Mapping[str, Any], prefill: str = "") -> Answer:
    """Read a line of the answers' journal.

    Of several blocks the last one counts, as in the official evaluator: the others are drafts. (Tags *inside* of a
    block stay part of it, which that evaluator cuts up.)

    Args:
        entry: with `text`, `reasoning`, `finish_reason` and `failure`.
        prefill: what the answer was begun with.
    """
    failure = entry.get("failure")
    if failure:
        return Answer(NO_OUTPUT, (f"failure:{failure['kind']}",))
    finish = str(entry["finish_reason"])
    # A cut answer is read like any other; that it was cut is its kind.
    prediction = parse_prediction(entry["text"], entry["reasoning"], prefill, "stop" if finish == "length" else finish)
    kinds = ["length"] if finish == "length" else []
    text = prediction.last_block
    closed = prediction.last_closed
    if prediction.tag_found and (text.strip() or closed):
        if prediction.blocks > 1:
            kinds.append("two_tags")
        if not closed and not prefill:
            kinds.append("unclosed_tag")
    elif text.strip():
        kinds.append("no_tag")
    elif prediction.reasoning.strip():
        kinds.append("only_thinking")
    else:
        kinds.append("empty")
    nothing = not text.strip() and not closed
    return Answer(
        NO_OUTPUT if nothing else text,
        tuple(kinds) or (OK,),
        prediction.tag_found,
        closed,
        not text.strip(),
        len(prediction.reasoning),
    )


def prediction_digest(answer: Answer) -> str:
    """Names a prediction in journals: its text, and what kind of answer it is."""
    content = "\0".join((*answer.kinds, str(answer.tag_closed), answer.text))
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
