"""`Row`: one example for supervised fine-tuning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentworld_envs.backends.world_model.engines import Message
from agentworld_envs.interface import ConfigError
from agentworld_envs.training.masking import digest

RowUnit = Literal["turn", "trajectory"]
"""What one row holds: a turn that is to be predicted, with its history; or an episode, with a weight for each turn."""
Layout = Literal["messages", "prompt_completion"]
"""Columns: one chat, or a prompt and the message that is to be learned."""

NO_CLASS = "-"
"""Class of an agent's turns, which are not masked."""

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Row:
    """A chat, and what of it is learned."""

    messages: tuple[Message, ...]
    loss: tuple[float, ...]
    """Weight of each message; 0 for all that is not learned."""
    task_id: str
    domain: str
    seed: int
    """Of the episode."""
    turn: int
    """1-based number of the turn that is predicted; of an episode's row, of its last one."""
    mask_class: tuple[str, ...]
    """Class of each message's turn, empty for messages that are no turn's answer."""
    source: str
    """Digest of the recorded turn, or of all turns of an episode."""

    @property
    def characters(self) -> int:
        """Length of all messages."""
        return sum(len(message.content) for message in self.messages)

    @property
    def key(self) -> str:
        """Equal for rows that teach the same."""
        return digest([[message.role, message.content] for message in self.messages], list(self.loss))

    def encodable(self) -> tuple[Row, int]:
        """The row with characters that have no encoding replaced by U+FFFD, and how many they are.

        Tokenisers, Parquet and JSON readers refuse lone surrogates; one of them would make a whole file unreadable.
        """
        texts = [self.task_id, *(message.content for message in self.messages)]
        count = sum(len(_SURROGATES.findall(text)) for text in texts)
        if not count:
            return self, 0
        messages = tuple(Message(m.role, _SURROGATES.sub("\ufffd", m.content)) for m in self.messages)
        return replace(self, messages=messages, task_id=_SURROGATES.sub("\ufffd", self.task_id)), count

    def to_dict(self, layout: Layout = "messages") -> dict[str, Any]:
        """Plain JSON values, the same columns for all rows of one layout.

        Args:
            layout: `messages` has columns `messages` and `loss`, as `SFTTrainer` of TRL and most other trainers read
                chats; `prompt_completion` has `prompt` and `completion`, whose loss `SFTTrainer` takes on the
                completion alone.

        Raises:
            ConfigError: a row in which more than the last message is learned has no such prompt.
        """
        chat = [{"role": message.role, "content": message.content} for message in self.messages]
        about: dict[str, Any] = {
            "task_id": self.task_id,
            "domain": self.domain,
            "seed": self.seed,
            "turn": self.turn,
            "source": self.source,
        }
        if layout == "messages":
            return {"messages": chat, "loss": list(self.loss), "mask_class": list(self.mask_class), **about}
        if any(self.loss[:-1]):
            raise ConfigError(
                "The layout 'prompt_completion' has one answer per row: use rows of single turns (--rows turn), or the "
                "layout 'messages'."
            )
        return {"prompt": chat[:-1], "completion": chat[-1:], "mask_class": self.mask_class[-1], **about}


def single(
    messages: Sequence[Message], *, task_id: str, domain: str, seed: int, turn: int, mask_class: str, source: str
) -> Row:
    """A row of one turn: only the last message is learned."""
    before = len(messages) - 1
    return Row(
        messages=tuple(messages),
        loss=(*[0.0] * before, 1.0),
        task_id=task_id,
        domain=domain,
        seed=seed,
        turn=turn,
        mask_class=(*[""] * before, mask_class),
        source=source,
    )
