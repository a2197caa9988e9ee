"""Owns the link over a WebSocket: one message in each text frame.

It must not know a WebSocket library: the owner of the socket calls `receive`, and passes the function that writes.
`link` is its neighbour: it has the inbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import Message, decode, encode
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class WebSocketLink(Inbox):
    """A link whose bytes go through the WebSocket of a web server."""

    def __init__(self, write: Callable[[str], Awaitable[None]], shut: Callable[[str], None]) -> None:
        """Make a link that sends with `write` and closes the socket with `shut`, which gets the reason or "".

        `write` must not return before the operating system has accepted the frame. So a sender waits for a client that
        reads slowly, and the frames do not fill the memory.
        """
        super().__init__()
        self._write = write
        self._shut = shut

    def receive(self, text: str | bytes) -> None:
        """Add the message in a text frame to the inbox. For a frame that is not a message, add the error in its
        place."""
        try:
            self.push(decode(text))
        except FrameError as error:
            self.push(error)

    async def send(self, message: Message) -> None:
        """Send a message as one text frame; nothing if the link is closed."""
        if not self.closed:
            await self._write(encode(message))

    async def close(self, reason: str = "") -> None:
        """End the link, and close the WebSocket with the reason."""
        self.end()
        self._shut(reason)
