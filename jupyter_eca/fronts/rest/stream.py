"""Owns answers that are sent piece by piece, one write for each event, and the cancellation of answers whose client has
left."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, TypeVar

from starlette.responses import Response

from jupyter_eca.errors import EcaError
from jupyter_eca.fronts.rest.projection import StreamItem, TurnFailed, frames

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from starlette.types import Receive, Scope, Send

    from jupyter_eca.fronts.rest.front import RestFront, RestTurn

T = TypeVar("T")

# Seconds of silence before a comment is sent: proxies end connections that are silent for 30 to 60 seconds.
HEARTBEAT: Final = 15.0
SILENCE: Final = b": still here\n\n"


async def cancel_when_client_leaves(receive: Receive, work: Coroutine[None, None, T]) -> T | None:
    """Return the result of the work. When the client leaves first, the work is cancelled and the result is None."""

    async def wait_until_left() -> None:
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
    """The response. `ids` is for clients that know server-sent events; the contract's own clients do not."""

    # `no-transform` and the third header are for proxies, which would otherwise collect or compress the events.
    HEADERS: Final = {
        "content-type": "text/event-stream",
        "cache-control": "no-cache, no-transform",
        "x-accel-buffering": "no",
    }

    def __init__(self, front: RestFront, turn: RestTurn, *, ids: bool, heartbeat: float = HEARTBEAT) -> None:
        self._front = front
        self._turn = turn
        self._ids = ids
        self._heartbeat = heartbeat
        self.status_code = 200
        self.background = None
        self.init_headers({**self.HEADERS, "x-chat-id": turn.chat})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        with self._front.reading(self._turn):
            await cancel_when_client_leaves(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async with aclosing(self._front.items(self._turn, self._heartbeat)) as items:
                async for item in items:
                    for frame in (SILENCE,) if item is None else frames(item, ids=self._ids):
                        await send({"type": "http.response.body", "body": frame, "more_body": True})
        except EcaError as error:
            (frame,) = frames(StreamItem(0, TurnFailed(str(error))), ids=False)
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
