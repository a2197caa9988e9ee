"""Owns the `Link` protocol, and `Inbox`, the queue of received messages that each of our links has.

It must not know how bytes travel: each transport (`stdio`, `websocket`, `comm`, `memory`) is a module of its own.
`peer` is its neighbour: it sends requests over a link and matches the answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from jupyter_eca.errors import FrameError
    from jupyter_eca.protocol.jsonrpc import Message


class Link(Protocol):
    """A connection to a peer that carries messages in both directions.

    Iterate over a link to receive messages. A message that cannot be read appears as a FrameError in its place. The
    iteration ends when the peer leaves, or when `close` is called. Sending on a closed link does nothing.
    """

    def __aiter__(self) -> AsyncIterator[Message | FrameError]:
        """Receive messages until the link ends at either side."""
        ...

    async def send(self, message: Message) -> None:
        """Send a message to the peer."""
        ...

    async def close(self, reason: str = "") -> None:
        """End the connection. A link that is closed already stays closed. `reason` is a sentence for the peer, if the
        transport can carry one; "" if there is nothing to say."""
        ...


class Inbox:
    """A queue of received messages: callbacks of a transport push them, and iteration takes them out.

    An inbox belongs to one event loop.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message | FrameError | None] = asyncio.Queue()
        """The received messages. None is the end."""
        self.closed = False
        """Whether the link has ended, at either side."""

    def push(self, message: Message | FrameError) -> None:
        """Add a received message."""
        self._queue.put_nowait(message)

    def end(self) -> None:
        """End the iteration, because the peer has left or this end was closed. Messages that were pushed before are
        still yielded."""
        if not self.closed:
            self.closed = True
            self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[Message | FrameError]:
        while (message := await self._queue.get()) is not None:
            yield message
