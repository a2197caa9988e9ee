"""Sends the progress of a running tool call to the clients of its chat, at most ten times a second.

It must not store the progress, or know the tools. `workspace.tool_result.Report` is what a tool reports.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from jupyter_eca.host.subscribers import Notice
from jupyter_eca.protocol.chat import ChatToolCallProgressParams
from jupyter_eca.workspace.kernels.output_text import as_plain_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.workspace.tool_result import Report

# The seconds between two reports. A reader sees no faster changes of a text.
INTERVAL_SECONDS: Final = 0.1

# The characters at the end of a text that are sent. A tool card shows only a few lines.
MAX_CHARS: Final = 2_000


class Reporter:
    """Sends the progress of one call. The first report also waits `INTERVAL_SECONDS`. So a call that is faster than
    this sends only its last report."""

    def __init__(self, send_notice: Callable[[Notice], None], chat: str, call: str) -> None:
        """`send_notice` sends a notice to the clients. `chat` and `call` are ids."""
        self._send_notice = send_notice
        self._chat = chat
        self._call = call
        # The newest report; None if it was sent already.
        self._newest: Report | None = None
        # The timer that sends it.
        self._next: asyncio.TimerHandle | None = None
        self._ended = False
        self.moved_to_background = asyncio.Event()
        """Set when the user moves the call to the background. The tool waits for it."""
        self.steered = asyncio.Event()
        """Set while a message of the user waits for the end of the call."""
        # Whether the tool has reported that it can continue in the background.
        self._can_move = False

    def move_to_background(self) -> bool:
        """Move the call to the background. Return whether this is possible."""
        if self._can_move and not self._ended:
            self.moved_to_background.set()
        return self._can_move and not self._ended

    def report(self, report: Report) -> None:
        """Send a report soon, unless the call has ended."""
        if self._ended:
            return
        self._newest, self._can_move = report, report.background
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(INTERVAL_SECONDS, self._send)

    def end(self) -> None:
        """Send the last report now, if it was not sent yet. Called when the call ends."""
        self._ended = True
        if self._next is not None:
            self._next.cancel()
            self._send()

    def _send(self) -> None:
        """Send the newest report. The end of its text is sent: twice as much is taken before it becomes plain text,
        because codes for colours are removed from it."""
        self._next = None
        if (report := self._newest) is None:
            return
        self._newest = None
        params = ChatToolCallProgressParams(
            chat_id=self._chat,
            id=self._call,
            text=as_plain_text(report.text[-2 * MAX_CHARS :])[-MAX_CHARS:],
            progress=_drop_infinite(report.done),
            total=_drop_infinite(report.total),
            background=report.background or None,
        )
        self._send_notice(Notice("chat/toolCallProgress", params, self._chat))


def _drop_infinite(number: float | None) -> float | None:
    """Return a number, None for infinity and NaN, which an MCP server may send and which JSON does not have."""
    return number if number is not None and math.isfinite(number) else None
