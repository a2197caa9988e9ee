"""The log of one server: its log messages, the last lines of its stderr, and what we did for it without being asked.
It hides the secrets that we gave to the server.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.mcp import ServerLogLine

if TYPE_CHECKING:
    from collections.abc import Callable

# Lines that are kept of a server, and characters of one: a server may write without end.
_LINES: Final = 500
_WIDTH: Final = 2_000


class ServerLog:
    """The log of one server. `clean` removes the secrets that we gave to it."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean
        self._lines: deque[ServerLogLine] = deque(maxlen=_LINES)
        self._lock = threading.Lock()  # stderr is read by a thread

    def write(self, level: str, text: str, source: str = "") -> None:
        line = ServerLogLine(
            at=time.time_ns() // 1_000_000, level=level, text=self._clean(text)[:_WIDTH], source=source or None
        )
        with self._lock:
            self._lines.append(line)

    @property
    def lines(self) -> tuple[ServerLogLine, ...]:
        """Return the lines, the oldest first."""
        with self._lock:
            return tuple(self._lines)
