"""Owns the limit of a message over stdio: an encoding that passes on whole lines, and none that is too long.

The SDK reads a server's output as text in the encoding that it is given, and joins the pieces of a line again for each
piece: a line of 100 MB would keep the loop busy for a minute. With this encoding it gets each line in one piece. It
must not know what the lines mean.
"""

from __future__ import annotations

import codecs
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

ENCODING: Final = "jupyter-eca-lines"

MAX_BYTES: Final = 48 * 1024 * 1024
"""The size of the largest message: a file of 32 MiB in base64, as over a WebSocket of ours."""

ON_OVERFLOW: ContextVar[Callable[[], None] | None] = ContextVar("ON_OVERFLOW", default=None)
"""What is called when a line is too long. Set it before the reader of the stream is started."""


class _LineDecoder(codecs.IncrementalDecoder):
    """Holds text back until its line is complete. A line that is too long is dropped."""

    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._pieces: list[bytes] = []
        self._size = 0
        self._overflow = ON_OVERFLOW.get()

    def decode(self, input: ReadableBuffer, final: bool = False) -> str:
        complete, newline, rest = bytes(input).rpartition(b"\n")
        text = ""
        if newline:
            text = self._take(complete + newline)
        self._keep(rest)
        return text + self._take(b"") if final else text

    def _take(self, data: bytes) -> str:
        self._keep(data)
        lines = b"".join(self._pieces) if self._size <= MAX_BYTES else b""
        self._pieces, self._size = [], 0
        return lines.decode("utf-8", self.errors)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= MAX_BYTES:
            self._pieces.append(data)
            return
        self._pieces = []
        if self._overflow is not None:
            self._overflow()


def _find(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ENCODING:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(utf8.encode, utf8.decode, incrementaldecoder=_LineDecoder, name=ENCODING)


codecs.register(_find)
