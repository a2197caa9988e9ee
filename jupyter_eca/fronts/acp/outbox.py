"""Owns the queue of items that wait to be sent to a client of the Agent Client Protocol (ACP): events of chats, and
updates. They are sent in the order in which they came. If the client reads slowly, pieces of one text are joined.

It must not know how an event is sent: the owner of the queue passes the function that sends an item.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from jupyter_eca.protocol.acp.updates import CallChange, SessionUpdateParams
from jupyter_eca.protocol.event import Event, merge_pieces
from jupyter_eca.transport.send_limit import SendLimit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

_log = logging.getLogger(__name__)

Item = Event | SessionUpdateParams
"""What can wait: an event of a chat, which becomes updates when it is sent, or the params of one update."""


class Outbox:
    """The items that wait to be sent to one client."""

    def __init__(self, send: Callable[[Item], Awaitable[None]]) -> None:
        """Make an empty queue. `send` sends one item to the client."""
        self._send = send
        # A future marks a place in the queue. It is done when all items before it were sent.
        self._waiting: list[Item | asyncio.Future[None]] = []
        self._wake = asyncio.Event()  # set when items wait
        self._sending = asyncio.Lock()  # held while items are sent
        self._limit = SendLimit[Item | asyncio.Future[None]](lambda item: item)  # how much may wait
        self.is_full = asyncio.Event()
        """Set when too much waits. The client has stopped reading, and must be disconnected."""

    def add(self, item: Item) -> None:
        """Queue an item. The output of a tool call so far replaces the output that was queued just before."""
        if self.is_full.is_set():
            return
        if self._waiting and _is_replaced(self._waiting[-1], item):
            self._waiting.pop()
        self._waiting.append(item)
        if self._limit.should_join(self._waiting):
            self._waiting = _join(self._waiting)
            if self._limit.must_disconnect(self._waiting):
                self._waiting.clear()
                self.is_full.set()
        self._wake.set()

    async def run(self) -> None:
        """Send the items whenever there are any. No other task sends them. The client may cancel the task of a request,
        and the items that this task had taken out of the queue would be lost."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            async with self.holding():
                waiting, self._waiting = self._waiting, []
                self._limit.reset()
                for item in _join(waiting):
                    await self._pass_on(item)

    async def flush(self) -> None:
        """Wait until all items that are queued now were sent."""
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(sent)
        self._wake.set()
        await sent

    async def _pass_on(self, item: Item | asyncio.Future[None]) -> None:
        """Send an item. If it is a future, wake the caller of `flush` that waits for it. An error is logged, and the
        next items are sent."""
        if not isinstance(item, asyncio.Future):
            try:
                await self._send(item)
            except Exception:  # noqa: BLE001  # an error in one update must not stop the updates after it
                _log.exception("an update for a client of the Agent Client Protocol could not be sent")
        elif not item.done():
            item.set_result(None)

    @asynccontextmanager
    async def holding(self) -> AsyncGenerator[None]:
        """Send no queued item while this context lasts. The caller may send something in between."""
        async with self._sending:
            yield


def _is_replaced(earlier: Item | asyncio.Future[None], later: Item) -> bool:
    """Return whether the client needs only the later item: both show the output so far of the same running call. Only
    an update about such output has no status."""
    match earlier, later:
        case (
            SessionUpdateParams(session_id=session, update=CallChange(status=None) as first),
            SessionUpdateParams(session_id=other, update=CallChange(status=None) as second),
        ):
            return session == other and first.tool_call_id == second.tool_call_id
        case _:
            return False


def _join(items: list[Item | asyncio.Future[None]]) -> list[Item | asyncio.Future[None]]:
    """Return the items, in which neighbouring events are joined if they are pieces of one text. Their order stays."""
    joined: list[Item | asyncio.Future[None]] = []
    events: list[Event] = []
    for item in items:
        if isinstance(item, Event):
            events.append(item)
        else:
            joined += merge_pieces(events)
            events = []
            joined.append(item)
    return [*joined, *merge_pieces(events)]
