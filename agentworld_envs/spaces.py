"""`AnyText`: a text space for language agents."""

from __future__ import annotations

import copy
import string
from typing import Any

from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import shared_memory

SAMPLE_CHARS = string.ascii_letters + string.digits + " .,!?-_/:<>"
"""What random samples are made of. A string and not a set: sets are ordered by PYTHONHASHSEED in Gymnasium 1.2."""


class AnyText(spaces.Text):
    """Any `str` within the length bounds, in O(1).

    `gymnasium.spaces.Text` scans every character of every observation against a charset (3.6 ms for 20,000
    characters), refuses what is not in it, and samples as long as it may. This space only looks at type and length,
    and samples short text. It stays a `Text`, because libraries dispatch on that.

    `AsyncVectorEnv` keeps observations in shared memory by default and then returns *constant* text for every `Text`
    space; with this space it raises instead and says what to do.
    """

    def __init__(
        self,
        max_length: int = 32_768,
        *,
        min_length: int = 0,
        charset: str = SAMPLE_CHARS,
        sample_length: int = 64,
        seed: int | None = None,
    ) -> None:
        """Build the space.

        Args:
            max_length: longest text that is contained, in characters.
            min_length: shortest one.
            charset: characters that `sample` draws from; `contains` ignores it.
            sample_length: longest sample, in characters.
            seed: of the space's own generator.
        """
        super().__init__(max_length, min_length=min_length, charset=charset, seed=seed)
        self.sample_length = min(sample_length, max_length)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string within the length bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text; `mask` and `probability` as in `gymnasium.spaces.Text.sample`."""
        if mask is None and probability is None:
            mask = (int(self.np_random.integers(self.min_length, self.sample_length + 1)), None)
        return str(super().sample(mask=mask, probability=probability))

    def twin(self) -> AnyText:
        """An equal space with a generator of its own. Building one anew indexes the whole charset again."""
        twin = copy.copy(self)
        twin._np_random = None  # type: ignore[assignment]
        return twin

    def __repr__(self) -> str:
        return f"AnyText({self.min_length}, {self.max_length})"


@shared_memory.create_shared_memory.register(AnyText)
def _refuse_shared_memory(space: AnyText, n: int = 1, ctx: Any = None) -> None:
    raise CustomSpaceError(
        "Text of any length has no fixed layout in shared memory: "
        "use AsyncVectorEnv(..., shared_memory=False) or gym.make_vec(..., vector_kwargs={'shared_memory': False})."
    )
