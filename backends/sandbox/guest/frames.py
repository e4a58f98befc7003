"""The wire format between host and guest, used by both: `u32 length | u8 kind | u32 id | u32 header length | header |
bytes`, little endian. `length` counts all that follows it; the header is JSON, the rest is passed as it is."""

from __future__ import annotations

import json
import struct
from enum import IntEnum
from typing import Any, NamedTuple

_PREFIX = struct.Struct("<IBII")
_AFTER_LENGTH = _PREFIX.size - 4
MAX_FRAME = 160 * 2**20
"""Bytes of the largest frame that either side accepts; a longer one means that the other side is broken or hostile."""


MAX_HEADER = 2**16
"""Bytes of the largest header that the host accepts: JSON takes many times its size once it is read."""


class Kind(IntEnum):
    """What a frame asks or answers."""

    PING = 1
    RUN = 2
    EXEC = 3
    WRITE = 4
    READ = 5
    PACK = 6
    UNPACK = 7
    TERMINAL = 8
    KILL = 9
    FREEZE = 10
    THAW = 11
    SAVE = 12
    RESTORE = 13
    PROCESSES = 14
    SIZE = 15
    EXPORT = 16
    IMPORT = 17
    HELLO = 64
    OK = 65
    ERROR = 66


class Frame(NamedTuple):
    """One message."""

    kind: int
    id: int
    header: dict[str, Any]
    blob: bytes = b""


class FrameError(Exception):
    """The other side does not speak the protocol."""


def encode(frame: Frame) -> bytes:
    """The bytes of one frame. Raises FrameError when it is larger than `MAX_FRAME`."""
    header = json.dumps(frame.header, separators=(",", ":")).encode()
    length = _AFTER_LENGTH + len(header) + len(frame.blob)
    if length > MAX_FRAME:
        raise FrameError(f"a frame of {length} bytes is larger than the {MAX_FRAME} allowed")
    return b"".join((_PREFIX.pack(length, frame.kind, frame.id, len(header)), header, frame.blob))


class Decoder:
    """Cuts a stream of bytes into frames."""

    def __init__(self, limit: int = MAX_FRAME, header_limit: int = MAX_FRAME) -> None:
        """`limit` may be changed between frames.

        Args:
            limit: bytes of the largest frame.
            header_limit: bytes of the largest header.
        """
        self.limit = limit
        self._header_limit = header_limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes as they arrive; gives every frame that is now complete. Raises FrameError."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _PREFIX.size:
            length, kind, number, header_length = _PREFIX.unpack_from(self._buffer)
            most = min(length - _AFTER_LENGTH, self._header_limit)
            if not _AFTER_LENGTH <= length <= self.limit or header_length > most:
                raise FrameError(f"a frame claims a length of {length} and a header of {header_length} bytes")
            end = 4 + length
            if len(self._buffer) < end:
                break
            split = _PREFIX.size + header_length
            try:
                header = json.loads(self._buffer[_PREFIX.size : split])
            except (ValueError, RecursionError) as error:
                raise FrameError("a frame's header is not JSON") from error
            if not isinstance(header, dict):
                raise FrameError("a frame's header is not an object")
            frames.append(Frame(kind, number, header, bytes(self._buffer[split:end])))
            del self._buffer[:end]
        return frames
