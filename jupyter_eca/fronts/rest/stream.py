"""Owns responses of the REST front that are sent piece by piece, with one write for each server-sent event. If the
client leaves, the work for its answer is cancelled.

It must not know what the events contain: `projection.py` writes them.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.responses import Response

from jupyter_eca.errors import EcaError
from jupyter_eca.fronts.rest.projection import StreamItem, TurnFailed, write_frames

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive, Scope, Send

    from jupyter_eca.fronts.rest.front import RestFront, RestTurn

T = TypeVar("T")

# Seconds without an event after which a comment is sent. Proxies end connections that are silent for 30 to 60
# seconds.
HEARTBEAT_SECONDS: Final = 15.0
# The comment. Clients of server-sent events ignore it.
HEARTBEAT_COMMENT: Final = b": still here\n\n"


async def cancel_when_client_leaves(receive: Receive, work: Coroutine[None, None, T]) -> T | None:
    """Return the result of the work. If the client leaves first, cancel the work and return None."""

    async def wait_until_left() -> None:
        """Read what the client sends, until it has left."""
        while (await receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(wait_until_left())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))


class EventStream(Response):
    """A response that sends the items of a turn as server-sent events."""

    # `no-transform` and `x-accel-buffering` are for proxies. Without them, a proxy may collect or compress the events.
    HEADERS: Final = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }

    def __init__(self, front: RestFront, turn: RestTurn, *, ids: bool, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        """Make the response. With `ids`, each event has an id. Clients that were written for the MCP chat contract, the
        HTTP API that `front.py` serves, do not understand ids, so they get none. `heartbeat` is in seconds."""
        self._front = front
        self._turn = turn
        self._ids = ids
        self._heartbeat = heartbeat
        self.status_code = 200
        self.background = None
        self.init_headers({**self.HEADERS, "x-chat-id": turn.chat})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Send the response. Called by Starlette."""
        with self._front.reading(self._turn):
            await cancel_when_client_leaves(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        """Send the items until the turn ends. An error becomes the last event."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with aclosing(self._front.stream_items(self._turn, self._heartbeat)) as items:
                async for item in items:
                    for frame in (HEARTBEAT_COMMENT,) if item is None else write_frames(item, ids=self._ids):
                        await send({"type": "http.response.body", "body": frame, "more_body": True})
        except EcaError as error:
            (frame,) = write_frames(StreamItem(0, TurnFailed(str(error))), ids=False)
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
