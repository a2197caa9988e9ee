"""How far a tool call is, told while it runs: at most ten times a second, to whoever looks on. Nothing is kept."""

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

# Seconds: as much as a reader of text that changes can see.
EVERY: Final = 0.1

# Of the end of a text; a card shows a few lines.
MAX_CHARS: Final = 2_000


class Reporter:
    """Of one call. The first report waits too: a call that takes no time says nothing before it has ended."""

    def __init__(self, tell: Callable[[Notice], None], chat: str, call: str) -> None:
        self._tell = tell
        self._chat = chat
        self._call = call
        self._newest: Report | None = None
        self._next: asyncio.TimerHandle | None = None
        self._ended = False
        self.away = asyncio.Event()
        self._background = False

    def send_away(self) -> bool:
        """Have the call go on in the background, if it can."""
        if self._background and not self._ended:
            self.away.set()
        return self._background and not self._ended

    def report(self, report: Report) -> None:
        """What comes after the end means nothing."""
        if self._ended:
            return
        self._newest, self._background = report, report.background
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(EVERY, self._send)

    def end(self) -> None:
        """The last report is told in any case."""
        self._ended = True
        if self._next is not None:
            self._next.cancel()
            self._send()

    def _send(self) -> None:
        self._next = None
        if (report := self._newest) is None:
            return
        self._newest = None
        params = ChatToolCallProgressParams(
            chat_id=self._chat,
            id=self._call,
            text=as_plain_text(report.text[-2 * MAX_CHARS :])[-MAX_CHARS:],
            progress=_finite(report.done),
            total=_finite(report.total),
            background=report.background or None,
        )
        self._tell(Notice("chat/toolCallProgress", params, self._chat))


def _finite(number: float | None) -> float | None:
    """A server may send what JSON has no word for."""
    return number if number is not None and math.isfinite(number) else None
