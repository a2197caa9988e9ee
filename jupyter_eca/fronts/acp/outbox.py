"""Owns what waits to be sent to a client of the Agent Client Protocol (ACP): events of chats, and updates. It is sent
in the order in which it came. If the client reads slowly, pieces of one text are joined.

It must not know what an event becomes: its owner passes the function that sends an item.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.acp.updates import CallChange, SessionUpdateParams
from jupyter_eca.protocol.event import Event, merge_pieces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

Item = Event | SessionUpdateParams

# If more items than this wait, although pieces of texts were joined, the client has stopped reading. It is
# disconnected, because otherwise all items would stay in memory.
MAX_BEHIND: Final = 20_000


class Outbox:
    """The items that wait to be sent to one client."""

    def __init__(self, send: Callable[[Item], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: list[Item] = []
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self.is_full = asyncio.Event()
        """Set when too many items wait."""

    def add(self, item: Item) -> None:
        """Queue an item. The output of a tool call so far replaces the output that was queued just before."""
        if self._waiting and _is_replaced(self._waiting[-1], item):
            self._waiting.pop()
        self._waiting.append(item)
        if len(self._waiting) > MAX_BEHIND:
            self._waiting = _join(self._waiting)
            if len(self._waiting) > MAX_BEHIND:
                self.is_full.set()
        self._wake.set()

    async def run(self) -> None:
        """Send the items whenever there are any."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    async def flush(self) -> None:
        """Return when all items are sent that are queued now."""
        async with self.holding():
            waiting, self._waiting = self._waiting, []
            for item in _join(waiting):
                await self._send(item)

    @asynccontextmanager
    async def holding(self) -> AsyncGenerator[None]:
        """Send no queued item while this context lasts. The caller may send something in between."""
        async with self._sending:
            yield


def _is_replaced(earlier: Item, later: Item) -> bool:
    """Return whether the client needs only the later item: both show the output so far of the same running call."""
    match earlier, later:
        case (
            SessionUpdateParams(session_id=session, update=CallChange(status=None) as first),
            SessionUpdateParams(session_id=other, update=CallChange(status=None) as second),
        ):
            return session == other and first.tool_call_id == second.tool_call_id
        case _:
            return False


def _join(items: list[Item]) -> list[Item]:
    """Join pieces of the same text in neighbouring events. The order stays."""
    joined: list[Item] = []
    events: list[Event] = []
    for item in items:
        if isinstance(item, Event):
            events.append(item)
        else:
            joined += merge_pieces(events)
            events = []
            joined.append(item)
    return joined + merge_pieces(events)
