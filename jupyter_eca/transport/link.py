"""What a link is, and the inbox that all of ours share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from jupyter_eca.errors import FrameError
    from jupyter_eca.protocol.jsonrpc import Message


class Link(Protocol):
    """Iterate for what the peer sends (an error stands in the place of a message that could not be read; the
    iteration ends when the peer leaves), `send` to the peer. Sending on a closed link does nothing."""

    def __aiter__(self) -> AsyncIterator[Message | FrameError]: ...

    async def send(self, message: Message) -> None: ...

    async def close(self) -> None: ...


class Inbox:
    """Messages pushed in by a transport's callbacks, taken out by iteration. Belongs to one event loop."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Message | FrameError | None] = asyncio.Queue()
        self.closed = False

    def push(self, message: Message | FrameError) -> None:
        self._queue.put_nowait(message)

    def end(self) -> None:
        """The peer has left: the iteration ends after what was pushed before."""
        if not self.closed:
            self.closed = True
            self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[Message | FrameError]:
        while (message := await self._queue.get()) is not None:
            yield message
