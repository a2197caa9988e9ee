"""Owns the link over a Jupyter comm, for both ends: the kernel and its server. A comm is a channel for JSON messages
between a kernel and its clients.

It must not know a comm library: the owner of the comm calls `receive`, and passes the function that writes.
`link` is its neighbour: it has the inbox.

Messages that are sent during one iteration of the event loop are sent together, as `{"messages": [...]}`. Pieces of an
answer that follow each other quickly are collected for a short time and sent together too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import Message, Notification, from_json, to_json
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable

# The kernel registers the comm target TARGET and waits until the server opens a comm to it. To ask for the comm, the
# kernel publishes an iopub message of the type HELLO under HELLO_TOPIC. Only the server subscribes to that topic.
TARGET = "eca.engine"
HELLO = "eca_hello"
HELLO_TOPIC = b"eca.hello"


class CommLink(Inbox):
    """A link whose messages go through a Jupyter comm."""

    def __init__(self, write: Callable[[dict[str, Any]], None], shut: Callable[[], None], pace: float = 0.0) -> None:
        """Make a link that sends with `write` and closes the comm with `shut`.

        `pace` is the shortest time between two pieces of an answer, in seconds.
        """
        super().__init__()
        self._write = write
        self._shut = shut
        self._pace = pace
        self._batch: list[dict[str, Any]] = []
        """The messages that the next flush sends."""
        self._has_pieces = False
        """Whether the batch contains a piece of an answer."""
        self._next_flush: asyncio.Handle | None = None
        """The scheduled flush; None when there is none."""
        self._flushes_soon = False
        """Whether the scheduled flush comes in this iteration of the event loop, not later."""
        self._last_piece_at = float("-inf")
        """When a piece was sent last, in seconds of the loop's clock."""

    def receive(self, data: Any) -> None:
        """Push the messages of one comm message. Data of any other shape is ignored."""
        messages: Any = cast("dict[str, Any]", data).get("messages") if isinstance(data, dict) else None
        for item in cast("list[Any]", messages) if isinstance(messages, list) else ():
            try:
                self.push(from_json(item))
            except FrameError as error:
                self.push(error)

    async def send(self, message: Message) -> None:
        """Add a message to the batch, and schedule a flush. Only a piece of an answer may wait for `pace` seconds."""
        if self.closed:
            return
        is_piece = _is_piece(message)
        self._batch.append(to_json(message))
        self._has_pieces = self._has_pieces or is_piece
        if self._next_flush is not None and (is_piece or self._flushes_soon):
            return
        if self._next_flush is not None:
            self._next_flush.cancel()
        loop = asyncio.get_running_loop()
        delay = self._last_piece_at + self._pace - loop.time() if is_piece else 0.0
        self._flushes_soon = delay <= 0
        self._next_flush = loop.call_soon(self._flush) if self._flushes_soon else loop.call_later(delay, self._flush)

    def _flush(self) -> None:
        """Send the batch as one comm message."""
        self._next_flush = None
        if self._batch and not self.closed:
            batch, self._batch = self._batch, []
            if self._has_pieces:
                self._last_piece_at, self._has_pieces = asyncio.get_running_loop().time(), False
            self._write({"messages": batch})

    async def close(self, reason: str = "") -> None:  # noqa: ARG002  # a comm has no place for a reason
        """Send what still waits, and close the comm."""
        if not self.closed:
            if self._next_flush is not None:
                self._next_flush.cancel()
            self._flush()
            self.end()
            self._shut()


def _is_piece(message: Message) -> bool:
    """Return whether a message is a piece of an answer: more of them may follow immediately, and a short delay does no
    harm."""
    match message:
        case Notification("chat/contentReceived", {"role": "assistant", "content": {"type": type}}):
            return type in ("text", "reasonText", "toolCallPrepare")  # no set: the type may be any JSON, such as a list
        case Notification("chat/toolCallProgress"):
            return True
        case _:
            return False
