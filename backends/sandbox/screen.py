"""`Screen`: what a terminal shows after the bytes that were written to it. Drawn on the host by `pyte`, outside of the
reach of what runs in the sandbox."""

from __future__ import annotations

import codecs
import importlib
from typing import Any

from agentworld_envs.interface import MissingExtraError


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
        self.reset()

    def reset(self) -> None:
        """Clear it, for a new terminal."""
        self._screen.reset()
        self._stream: Any = self._pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> None:
        """Write to it. A sequence that the emulator cannot take is skipped, as real terminals do."""
        for line in self._decoder.decode(data).splitlines(keepends=True):
            try:
                self._stream.feed(line)
            except Exception:  # noqa: BLE001 - whatever hostile bytes do to the emulator, the screen has to go on
                self._stream = self._pyte.Stream(self._screen)

    def text(self) -> str:
        """The lines, without the blanks at their ends."""
        return "\n".join(line.rstrip() for line in self._screen.display)
