"""Messages over a Jupyter comm: both ends of the link between a kernel and its server. Any comm library lends `write`.

Each comm message costs the kernel a status update to every page that shows the notebook, so messages that follow each
other closely travel together, as `{"messages": [...]}`: the first at once, the rest at most `PACE` later.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import FrameError
from jupyter_eca.links.base import Inbox
from jupyter_eca.protocol.jsonrpc import Message, from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable

# The name under which a kernel expects the server's comm, and how it asks for it: an iopub message of this type under
# this topic, to which only the server subscribes.
TARGET = "eca.engine"
HELLO = "eca_hello"
TOPIC = b"eca.hello"
# Seconds. A cell redraws ten times a second, so an answer is never later than one redraw for it.
PACE = 0.04


class CommLink(Inbox):
    def __init__(self, write: Callable[[dict[str, Any]], None], shut: Callable[[], None]) -> None:
        super().__init__()
        self._write = write
        self._shut = shut
        self._waiting: list[dict[str, Any]] = []
        self._timer: asyncio.TimerHandle | None = None

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
        self._waiting.append(to_json(message))
        if self._timer is None:
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        if self._waiting and not self.closed:
            batch, self._waiting = self._waiting, []
            self._write({"messages": batch})
            self._timer = asyncio.get_running_loop().call_later(PACE, self._flush)

    async def close(self) -> None:
        if not self.closed:
            if self._timer is not None:
                self._timer.cancel()
            if self._waiting:
                self._write({"messages": self._waiting})
            self.end()
            self._shut()
