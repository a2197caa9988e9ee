"""Owns the log of one MCP server, which clients can show. It contains the log messages of the server, the last lines of
its stderr, and our own notes about it.

It must not contain secrets that we gave to the server: a function that `server.py` passes removes them.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.mcp import ServerLogLine

if TYPE_CHECKING:
    from collections.abc import Callable

# The number of lines that are kept, and the characters of a line. A server may write without end.
_LINES: Final = 500
_WIDTH: Final = 2_000


class ServerLog:
    """The log of one server. `clean` removes secrets from a text."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._lines: deque[ServerLogLine] = deque(maxlen=_LINES)
        self._lock = threading.Lock()  # stderr is read by a thread

    def write(self, level: str, text: str, source: str = "") -> None:
        """Add a line. `level` is one of MCP's log levels or `stderr`. `source` is the logger that the server names."""
        line = ServerLogLine(
            at=time.time_ns() // 1_000_000, level=level, text=self._clean(text)[:_WIDTH], source=source or None
        )
        with self._lock:
            self._lines.append(line)

    @property
    def lines(self) -> tuple[ServerLogLine, ...]:
        """The lines, the oldest first."""
        with self._lock:
            return tuple(self._lines)
