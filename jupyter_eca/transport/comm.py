"""Messages over a Jupyter comm: both ends of the link between a kernel and its server. Any comm library lends `write`.

Messages that are sent in one turn of the event loop travel together, as `{"messages": [...]}`, and so do the pieces of
an answer that follow each other closely.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import Message, Notification, from_json, to_json
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable

# The name under which a kernel expects the server's comm, and how it asks for it: an iopub message of this type under
# this topic, to which only the server subscribes.
TARGET = "eca.engine"
HELLO = "eca_hello"
TOPIC = b"eca.hello"


class CommLink(Inbox):
    def __init__(self, write: Callable[[dict[str, Any]], None], shut: Callable[[], None], pace: float = 0.0) -> None:
        """`pace`: seconds between two pieces of an answer at least."""
        super().__init__()
        self._write = write
        self._shut = shut
        self._pace = pace
        self._waiting: list[dict[str, Any]] = []
        self._pieces = False
        self._next: asyncio.Handle | None = None
        self._soon = False
        self._streamed = float("-inf")

    def received(self, data: Any) -> None:
        messages: Any = cast("dict[str, Any]", data).get("messages") if isinstance(data, dict) else None
        for item in cast("list[Any]", messages) if isinstance(messages, list) else ():
            try:
                self.push(from_json(item))
            except FrameError as error:
                self.push(error)

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        piece = _is_piece(message)
        self._waiting.append(to_json(message))
        self._pieces = self._pieces or piece
        if self._next is not None and (piece or self._soon):
            return
        if self._next is not None:
            self._next.cancel()
        loop = asyncio.get_running_loop()
        left = self._streamed + self._pace - loop.time() if piece else 0.0
        self._soon = left <= 0
        self._next = loop.call_soon(self._flush) if self._soon else loop.call_later(left, self._flush)

    def _flush(self) -> None:
        self._next = None
        if self._waiting and not self.closed:
            batch, self._waiting = self._waiting, []
            if self._pieces:
                self._streamed, self._pieces = asyncio.get_running_loop().time(), False
            self._write({"messages": batch})

    async def close(self) -> None:
        if not self.closed:
            if self._next is not None:
                self._next.cancel()
            self._flush()
            self.end()
            self._shut()


def _is_piece(message: Message) -> bool:
    """Whether more of the same may follow at once, and nobody waits for it."""
    match message:
        case Notification("chat/contentReceived", {"role": "assistant", "content": {"type": type}}):
            return type in {"text", "reasonText", "toolCallPrepare"}
        case Notification("chat/toolCallProgress"):
            return True
        case _:
            return False
