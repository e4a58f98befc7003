"""`Screen`: what a terminal shows after the bytes that were written to it. Drawn on the host by `pyte`, outside of the
reach of what runs in the sandbox."""

from __future__ import annotations

import codecs
import importlib
import time
import unicodedata
from typing import Any

from agentworld_envs.interface import MissingExtraError

_MOST_BYTES = 2**16
"""Of one look; what came before has scrolled away."""
_PIECE = 256
_FEED_WITHIN_S = 5.0
_MOST_COMBINING = 4


class Screen:
    """A grid of characters."""

    def __init__(self, rows: int, columns: int) -> None:
        """An empty one. Raises MissingExtraError when `pyte` is not installed."""
        try:
            self._pyte: Any = importlib.import_module("pyte")
        except ImportError as error:
            raise MissingExtraError(
                "A terminal's screen is drawn by pyte, which is not installed: pip install 'agentworld-envs[terminal]'."
            ) from error
        self._screen: Any = self._pyte.Screen(columns, rows)
        draw = self._screen.draw
        self._screen.draw = lambda text: draw(_tame(text))
        self.reset()

    def reset(self) -> None:
        """Clear it, for a new terminal."""
        self._screen.reset()
        self._stream: Any = self._pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Write to it. A sequence that the emulator cannot take is skipped, as real terminals do.

        Only the last 64 KiB are drawn, and for some seconds only: a few bytes can ask for much work.
        """
        end = time.monotonic() + _FEED_WITHIN_S
        for line in self._decoder.decode(data[-_MOST_BYTES:]).splitlines(keepends=True):
            for start in range(0, len(line), _PIECE):
                if time.monotonic() > end:
                    return
                try:
                    self._stream.feed(line[start : start + _PIECE])
                except Exception:  # noqa: BLE001 - whatever hostile bytes do to the emulator, the screen has to go on
                    self._stream = self._pyte.Stream(self._screen)

    def text(self) -> str:
        """The lines, without the blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._screen.display)


def _tame(text: str) -> str:
    """Text of which no character carries more than a few combining ones: the emulator reads all that a cell has for
    each that is added. Those at the beginning would go to a cell that may have some already."""
    if text.isascii():
        return text
    kept = []
    count = _MOST_COMBINING
    for character in text:
        count = count + 1 if unicodedata.combining(character) else 0
        if count <= _MOST_COMBINING:
            kept.append(character)
    return "".join(kept)
