"""Limits the size of a message from a local MCP server, which writes one message per line to stdout. It defines a text
encoding that passes on only whole lines, and no line that is too long.

The SDK (the package `mcp`) reads the output of a server as text, in an encoding that we choose. If a line arrives in
many pieces, the SDK joins all of them again for each piece, so a line of 100 MB would block the loop for a minute. With
this encoding, the SDK gets each line in one piece. The module must not know what the lines mean: `transports.py` uses
the encoding.
"""

from __future__ import annotations

import codecs
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

ENCODING: Final = "jupyter-eca-lines"
"""The name of the encoding."""

MAX_BYTES: Final = 48 * 1024 * 1024
"""The size of the largest message. A file of 32 MiB in base64 fits into it. Our WebSockets have the same limit."""

ON_OVERFLOW: ContextVar[Callable[[], None] | None] = ContextVar("ON_OVERFLOW", default=None)
"""The function that is called when a line is too long. Set it before the SDK begins to read the stream. It is a context
variable because the SDK makes the decoder, and passes no arguments to it."""


class _LineDecoder(codecs.IncrementalDecoder):
    """Decodes UTF-8, but returns a line only when it is complete. A line that is too long is left out.

    The input arrives in blocks, and one block may have several complete lines. They are returned together, and counted
    together with the beginning of the first line, which was kept. A block is small (64 KiB at most), so this makes the
    limit only a little lower.
    """

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        # The pieces of the incomplete line; empty if the line is too long.
        self._pieces: list[bytes] = []
        # The bytes of the incomplete line, also those that were dropped because the line is too long.
        self._size = 0
        self._overflow = ON_OVERFLOW.get()

    def decode(self, input: ReadableBuffer, final: bool = False) -> str:
        """Return the lines that are complete now. The rest of `input` is kept until its line is complete, or until the
        end of the stream (`final`)."""
        complete, newline, beginning = bytes(input).rpartition(b"\n")
        text = ""
        if newline:
            text = self._flush(complete + newline)
        self._add(beginning)
        return text + self._flush(b"") if final else text

    def _flush(self, data: bytes) -> str:
        """Add `data`, which ends a line, to the bytes that are kept. Return all of them as text, and keep nothing."""
        self._add(data)
        lines = b"".join(self._pieces)
        self._pieces, self._size = [], 0
        return lines.decode("utf-8", self.errors)

    def _add(self, data: bytes) -> None:
        """Add bytes to those that are kept. If they are more than a line may have, drop them and report it.

        The size still grows after that. So the rest of the long line is dropped too, until `_flush` at its end.
        """
        self._size += len(data)
        if self._size <= MAX_BYTES:
            self._pieces.append(data)
            return
        self._pieces = []
        if self._overflow is not None:
            self._overflow()


def _find_codec(name: str) -> codecs.CodecInfo | None:
    """Return our encoding if it has this name; None for another name. Python calls this function for each encoding that
    it does not know."""
    if name.replace("_", "-") != ENCODING:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_LineDecoder, name=ENCODING)


codecs.register(_find_codec)
