"""Owns the form of JSON-RPC in which each message is one line. The Agent Client Protocol (ACP) is sent in this form
over standard streams, by agents and by clients.

It must not do I/O or know any method. `protocol.jsonrpc` has the messages, and the other form, in which each message
has a header.
"""

from __future__ import annotations

from typing import Final

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import MAX_BODY_BYTES, ErrorCode, Message, decode, encode

# The longest line in bytes. A tool result with images is one line, so it must be large.
MAX_LINE_BYTES: Final = MAX_BODY_BYTES


class LineReader:
    """Reads messages from a stream of bytes that arrives in pieces of any size. A line that is too long is dropped, and
    the lines after it are read: the end of a line is always known."""

    def __init__(self, max_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        """The pieces of the line that is not complete yet."""
        self._size = 0
        """The size of these pieces in bytes, also when they were dropped."""

    def feed(self, data: bytes) -> list[Message | FrameError]:
        """Add bytes and return the messages that are now complete. An unreadable line is replaced by its error, which
        is never fatal."""
        messages: list[Message | FrameError] = []
        *line_ends, beginning = data.split(b"\n")  # the ends of lines, and the beginning of the line after them
        for line_end in line_ends:
            self._add(line_end)
            messages += self._take_line()
        self._add(beginning)
        return messages

    def _add(self, piece: bytes) -> None:
        """Add a piece to the line. The pieces of a line that is too long are dropped."""
        self._size += len(piece)
        if self._size > self._max_bytes:
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _take_line(self) -> list[Message | FrameError]:
        """Return the message of the line that has ended; nothing for an empty line."""
        line, size = b"".join(self._pieces), self._size
        self._pieces, self._size = [], 0
        if size > self._max_bytes:
            reason = f"a line of {size} bytes was dropped: the longest that is read has {self._max_bytes} bytes"
            return [FrameError(reason, ErrorCode.INVALID_REQUEST, fatal=False)]
        if not line.strip():
            return []
        try:
            # In this protocol, a request may have the id null, which its answer repeats.
            return [decode(line, null_id=True)]
        except FrameError as error:
            return [error]


def encode_line(message: Message) -> bytes:
    """Return a message as a line. JSON has no raw line break inside, because a text escapes it."""
    return encode(message).encode("utf-8", "backslashreplace") + b"\n"
