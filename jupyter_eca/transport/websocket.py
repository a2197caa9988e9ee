"""One message a text frame, over any WebSocket library: it pushes what it receives and lends its `write`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import Message, decode, encode
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class WebSocketLink(Inbox):
    def __init__(self, write: Callable[[str], Awaitable[None]], shut: Callable[[], None]) -> None:
        """`write` returns once the frame is with the operating system: that is the back-pressure."""
        super().__init__()
        self._write = write
        self._shut = shut

    def received(self, text: str | bytes) -> None:
        try:
            self.push(decode(text))
        except FrameError as error:
            self.push(error)

    async def send(self, message: Message) -> None:
        if not self.closed:
            await self._write(encode(message))

    async def close(self) -> None:
        self.end()
        self._shut()
